import ArgumentParser
import CommandSupport
import FoundationEssentials
import MediaCore
import ShareKit
import X11Capture

struct SourcesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sources",
        abstract: "List what can be shared: monitors, windows, cameras, applications that play.",
        discussion: """
            The first word of each line is what 'share host' takes: monitor:N, window:ID and camera:N for --source, \
            app:NAME for --audio, and microphones for --mic; --camera takes the number of a camera, or a part of its name. On Wayland the desktop's own dialog lists monitors and windows instead \
            (share host --source portal).
            """)

    @Option(help: ArgumentHelp("X display; $DISPLAY if omitted.", valueName: ":N"))
    var display: String?

    @Option(
        help: ArgumentHelp(
            "Write a picture of each monitor, window and camera into this folder: PNG, at most 320 pixels wide.",
            valueName: "folder"))
    var pictures: String?

    @Flag(help: "Print one JSON object a line.")
    var json = false

    func run() throws {
        try complaining { () throws(CommandError) in
            if let pictures { try makeFolder(pictures) }
            let (sources, failure) = ShareableSource.all(display: display)
            var (lines, areWritten) = (sources.map { SourceEntry($0) }, true)
            if let pictures {
                for index in lines.indices where !writePicture(of: &lines[index], in: pictures) { areWritten = false }
            }
            let sound = blocking { try? await SoundSource.available() } ?? []
            lines += sound.map(SourceEntry.init)
            if let failure {
                guard !lines.isEmpty else {
                    throw CommandError(sentence: failure.message, remedy: failure.remedy, status: .noDisplay)
                }
                ErrorOutput.writeLine("share: \(failure.message)")
            }
            let output = DataOutput(isJSON: false)
            for line in lines { output.line(json ? line.json.text : line.text) }
            if !areWritten {
                throw CommandError(sentence: "not all pictures could be written", status: .cannotWrite)
            }
        }
    }

    private func makeFolder(_ path: String) throws(CommandError) {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw CommandError(sentence: "the folder \(path) cannot be made", status: .cannotWrite)
        }
    }

    /// - Returns: false if the picture could not be written.
    private func writePicture(of line: inout SourceEntry, in folder: String) -> Bool {
        do throws(ShareableSource.PictureFailure) {
            try line.shareable?.writePicture(in: folder, display: display)
            return true
        } catch {
            switch error {
            case .notRead(let failure):
                ErrorOutput.writeLine("share: no picture of \(line.id): \(failure.message)")
                return true
            case .notWritten(let reason):
                ErrorOutput.writeLine("share: \(reason)")
                return false
            }
        }
    }
}

/// One source of the list.
struct SourceEntry {
    /// What `share host` takes.
    let id: String
    /// Of the whole screen, a monitor, a window or a camera.
    let source: CaptureSource?
    /// Nil for the whole screen and for sound.
    var shareable: ShareableSource?
    let kind: String
    let name: String
    let size: PixelSize?
    /// For people: "primary", "minimised".
    let note: String?

    /// The whole display.
    init(wholeScreen monitors: [DesktopMonitor]) {
        source = .screen
        id = CaptureSource.screen.text
        kind = "screen"
        name = monitors.count > 1 ? "the whole screen, all \(monitors.count) monitors" : "the whole screen"
        size = PixelSize(
            width: monitors.map { $0.rect.x + $0.rect.width }.max() ?? 0,
            height: monitors.map { $0.rect.y + $0.rect.height }.max() ?? 0)
        note = nil
    }

    init(_ shareable: ShareableSource) {
        self.shareable = shareable
        source = shareable.source
        id = shareable.id
        kind = shareable.kind.rawValue
        name = shareable.name
        size = shareable.width.flatMap { width in
            shareable.height.map { PixelSize(width: width, height: $0) }
        }
        note = shareable.isPrimary ? "primary" : shareable.isHidden ? "minimised or hidden" : nil
    }

    init(_ sound: SoundSource) {
        let cleanName = UntrustedText.clean(sound.name, limit: 80, fallback: sound.id)
        switch sound.kind {
        case .application:
            id = "app:\(sound.id)"
            kind = "application"
        case .output:
            id = sound.isDefault ? "system" : sound.id
            kind = "output"
        case .microphone:
            id = sound.id
            kind = "microphone"
        }
        name = cleanName
        source = nil
        size = nil
        note =
            switch sound.kind {
            case .application: sound.isPlaying ? sound.titles.first : "paused"
            case .output, .microphone: sound.isDefault ? "default" : nil
            }
    }

    var json: JSONValue {
        func value(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
        let width: JSONValue = size.map { .integer($0.width) } ?? .null
        let height: JSONValue = size.map { .integer($0.height) } ?? .null
        return .object([
            "id": .string(id), "kind": .string(kind), "name": .string(name),
            "application": value(shareable?.application),
            "width": width, "height": height, "note": value(note), "picture": value(shareable?.picture),
        ])
    }

    var text: String { id.padded(to: 24) + " " + description }

    /// Without its id.
    var description: String {
        var text = kind == "monitor" ? "monitor \(name)" : name
        if let application = shareable?.application, application != name { text += " (\(application))" }
        if let size { text += ", \(size.width) x \(size.height)" }
        if let note { text += ", \(UntrustedText.clean(note, limit: 80, fallback: ""))" }
        return text
    }
}
