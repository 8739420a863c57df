import Matroska
import MediaCore
import WebMContainer

/// The files of a recording, one after the other.
///
/// - Isolation: disk thread.
struct RecordingParts {
    private let destination: RecordingDestination
    private let split: RecordingSplit?
    private let title: @Sendable () -> String?
    /// The first file, which was created before the session.
    private var reserved: RecordingFile?
    private var present: RecordingPart?
    private var count = 0
    /// The bytes of the files that are complete.
    private var finishedBytes = 0

    init(
        destination: RecordingDestination, reserved: RecordingFile?, split: RecordingSplit?,
        title: @escaping @Sendable () -> String?
    ) {
        self.destination = destination
        self.reserved = reserved
        self.split = split
        self.title = title
    }

    var isOpen: Bool { present != nil }
    /// Of all files.
    var byteCount: Int { finishedBytes + (present?.byteCount ?? 0) }

    /// The present file is as large as a file may be.
    var isFull: Bool {
        guard let present, let split else { return false }
        return switch split {
        case .duration(let limit): present.duration >= limit.nanoseconds / 1_000_000
        case .size(let limit): present.byteCount >= limit
        }
    }

    /// Begins a file.
    /// - Parameter time: of the recording, in milliseconds.
    /// - Returns: its path.
    mutating func open(tracks: [MatroskaTrack], at time: Int64) throws(RecordingFileFailure) -> String {
        count += 1
        let file: RecordingFile
        if let reserved {
            file = reserved
            self.reserved = nil
        } else {
            file = try destination.create(count)
        }
        present = try RecordingPart(file, tracks: tracks, title: title(), origin: time)
        return file.path
    }

    mutating func append(_ cluster: Cluster) throws(RecordingFileFailure) { try present?.append(cluster) }

    mutating func sync(now: Int64) throws(RecordingFileFailure) { try present?.sync(now: now) }

    /// Completes the present file.
    /// - Parameter closed: called with the file, also if it could not be completed.
    mutating func close(_ closed: (RecordedFile) -> Void) throws(RecordingFileFailure) {
        guard var open = present else { return }
        present = nil
        defer {
            finishedBytes += open.byteCount
            closed(
                RecordedFile(path: open.path, duration: .milliseconds(Int(open.duration)), bytes: open.byteCount))
        }
        try open.finish()
    }

    /// Closes the first file if it was not begun.
    mutating func dropReserved() {
        reserved?.close()
        reserved = nil
    }
}
