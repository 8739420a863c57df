import Admission
import CommandSupport
import FoundationEssentials
import Glibc
import LinuxRuntime
import MediaCore
import Recording
import ShareKit
import Synchronization

/// Enters what this process records into the catalogue of the user. A catalogue that cannot be used never disturbs a
/// recording: one sentence says so.
final class RecordingLog: Sendable {
    private struct State {
        var catalogue: RecordingCatalogue?
        var hasFailed = false
    }

    private let state = Mutex(State())

    /// - Parameter title: the broadcast's name, when a file is begun.
    func note(_ event: RecordingEvent, title: String) {
        switch event {
        case .started(let path):
            write { catalogue throws(CatalogueFailure) in
                try catalogue.begin(Self.absolute(path), title: title, at: Date())
            }
        case .finished(let file): noteComplete(file)
        case .failed, .dropped: break
        }
    }

    /// Enters a clip, or another file that was complete at once.
    func add(_ file: RecordedFile, title: String) {
        write { catalogue throws(CatalogueFailure) in
            try catalogue.begin(Self.absolute(file.path), title: title, at: Date())
        }
        noteComplete(file)
    }

    /// Enters what a repair has found, if the recording is in the catalogue.
    func noteRepair(_ file: RecordedFile) { noteComplete(file) }

    private func noteComplete(_ file: RecordedFile) {
        write { catalogue throws(CatalogueFailure) in
            try catalogue.complete(
                Self.absolute(file.path), seconds: file.duration.inSeconds, bytes: file.bytes)
        }
    }

    private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).path }

    private func write(_ body: (RecordingCatalogue) throws(CatalogueFailure) -> Void) {
        state.withLock { state in
            guard !state.hasFailed else { return }
            do throws(CatalogueFailure) {
                let catalogue = if let open = state.catalogue { open } else { try RecordingCatalogue.ofUser() }
                state.catalogue = catalogue
                try body(catalogue)
            } catch {
                state.hasFailed = true
                ErrorOutput.writeLine("share: share recordings will not list this: \(error)")
            }
        }
    }
}

/// Whether a recording of the catalogue can be used.
enum RecordingState: String {
    case complete
    /// A process writes it now.
    case recording
    /// It was cut off; it can be played and repaired.
    case cutOff = "cut-off"
    /// There is no such file any more.
    case gone

    init(_ entry: CatalogueEntry) {
        let file = Glibc.open(entry.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard file >= 0 else {
            self = .gone
            return
        }
        defer { close(file) }
        if entry.seconds != nil {
            self = .complete
        } else if flock(file, LOCK_SH | LOCK_NB) != 0 {
            self = .recording
        } else {
            self = (try? StoredRecording(reading: entry.path))?.isComplete == true ? .complete : .cutOff
        }
    }
}

/// Tells of recordings that were cut off, once, when a command of recordings starts.
enum CutOffRecordings {
    static func report() {
        guard let entries = try? RecordingCatalogue.ofUser().entries() else { return }
        for entry in entries.prefix(100) where entry.seconds == nil && RecordingState(entry) == .cutOff {
            let name = UntrustedText.path(entry.path, fallback: "a recording")
            ErrorOutput.writeLine(
                "share: \(name) was cut off; complete it with: share recordings repair \(entry.number)")
        }
    }
}

/// Recordings as users name them: by the number in the catalogue, or by the path.
enum RecordingArgument {
    /// - Throws: if there is no recording of that number.
    static func path(_ argument: String) throws(RecordingFailure) -> String {
        guard let number = Int(argument), number > 0, !FileManager.default.fileExists(atPath: argument) else {
            return argument
        }
        let entry: CatalogueEntry?
        do throws(CatalogueFailure) {
            entry = try RecordingCatalogue.ofUser().entry(number)
        } catch {
            throw RecordingFailure("\(error)")
        }
        guard let entry else {
            throw RecordingFailure("there is no recording \(number)", remedy: "See: share recordings list")
        }
        return entry.path
    }
}
