import Admission
import ArgumentParser
import CameraCapture
import CommandSupport
import Foundation
import ImageFile
import LinuxRuntime
import MediaCore
import PixelConversion
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
            var lines: [SourceLine] = []
            var failure: SourceFailure?
            do throws(SourceFailure) {
                lines = try screens()
            } catch {
                failure = error
            }
            lines += SourceLine.cameras
            let areWritten = writePictures(&lines)
            let sound = blocking { try? await SoundSource.available() } ?? []
            lines += sound.map(SourceLine.init)
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

    private func screens() throws(SourceFailure) -> [SourceLine] {
        let found = try DesktopSources(display: display)
        return found.monitors.map(SourceLine.init) + found.windows.map(SourceLine.init)
    }

    /// - Returns: false if a picture could not be written.
    private func writePictures(_ lines: inout [SourceLine]) -> Bool {
        guard let pictures else { return true }
        var areWritten = true
        for index in lines.indices {
            guard let source = lines[index].source else { continue }
            let path = "\(pictures)/\(source.text.replacing(":", with: "-")).png"
            do throws(SourceFailure) {
                if try writePicture(of: source, to: path) {
                    lines[index].picture = path
                } else {
                    areWritten = false
                }
            } catch {
                ErrorOutput.writeLine("share: no picture of \(source.text): \(error.message)")
            }
        }
        return areWritten
    }

    private func open(_ source: CaptureSource, _ converter: YUVConverter) throws(SourceFailure) -> any ScreenSource {
        guard case .camera(let camera) = source else {
            return try X11Screen(
                display: display, source: source, options: CaptureOptions(cursor: .no), converter: converter)
        }
        return try CameraScreen(
            CameraFeed(.init(front: camera), isWhole: true, converter: converter, report: { _ in }))
    }

    /// - Returns: false if the file cannot be written.
    private func writePicture(of source: CaptureSource, to path: String) throws(SourceFailure) -> Bool {
        let converter = YUVConverter()
        let screen = try open(source, converter)
        defer { screen.close() }
        let canvas = I420Buffer(screen.size)
        var changed = BlockMap(screen.size)
        screen.damageEverything()
        _ = try screen.read(into: canvas, changed: &changed)
        do throws(ImageFileFailure) {
            try ImageFile.write(thumbnail(canvas, converter).frame, to: path, converter: converter)
            return true
        } catch {
            ErrorOutput.writeLine("share: \(error.message)")
            return false
        }
    }
}

/// The picture with at most 320 pixels a side.
private func thumbnail(_ picture: I420Buffer, _ converter: YUVConverter) -> I420Buffer {
    let full = picture.size
    let longest = max(full.width, full.height)
    guard longest > 320 else { return picture }
    let scaled = I420Buffer(
        PixelSize(
            width: max(full.width * 320 / longest & ~1, 2), height: max(full.height * 320 / longest & ~1, 2)))
    converter.scale(picture.frame, to: scaled)
    return scaled
}

/// One source of the list.
struct SourceLine {
    /// The cameras; none if they cannot be listed.
    static var cameras: [SourceLine] { ((try? CameraDevice.all()) ?? []).map { SourceLine($0) } }

    /// What `share host` takes.
    let id: String
    /// Of a monitor, a window or a camera.
    var source: CaptureSource?
    let kind: String
    let name: String
    let application: String?
    let size: PixelSize?
    /// For people: "primary", "minimised".
    let note: String?
    var picture: String?

    /// The whole display.
    init(wholeScreen monitors: [DesktopMonitor]) {
        source = .screen
        id = CaptureSource.screen.text
        kind = "screen"
        name = monitors.count > 1 ? "the whole screen, all \(monitors.count) monitors" : "the whole screen"
        application = nil
        size = PixelSize(
            width: monitors.map { $0.rect.x + $0.rect.width }.max() ?? 0,
            height: monitors.map { $0.rect.y + $0.rect.height }.max() ?? 0)
        note = nil
    }

    init(_ monitor: DesktopMonitor) {
        let source = CaptureSource.monitor(.number(monitor.number))
        self.source = source
        id = source.text
        kind = "monitor"
        name = UntrustedText.clean(monitor.name, limit: 80, fallback: "monitor")
        application = nil
        size = PixelSize(width: monitor.rect.width, height: monitor.rect.height)
        note = monitor.isPrimary ? "primary" : nil
    }

    init(_ window: DesktopWindow) {
        let source = CaptureSource.window(.id(window.id))
        self.source = source
        id = source.text
        kind = "window"
        name = UntrustedText.clean(window.title, limit: 80, fallback: "without a title")
        application = UntrustedText.clean(window.application, limit: 40, fallback: "unknown")
        size = window.size
        note = window.isHidden ? "minimised or hidden" : nil
    }

    init(_ camera: CameraDevice) {
        let source = CaptureSource.camera(.number(camera.number))
        self.source = source
        id = source.text
        kind = "camera"
        name = UntrustedText.clean(camera.name, limit: 80, fallback: "camera")
        application = nil
        size = nil
        note = nil
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
        application = nil
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
            "id": .string(id), "kind": .string(kind), "name": .string(name), "application": value(application),
            "width": width, "height": height, "note": value(note), "picture": value(picture),
        ])
    }

    var text: String { id.padding(toLength: max(24, id.count), withPad: " ", startingAt: 0) + " " + description }

    /// Without its id.
    var description: String {
        var text = kind == "monitor" ? "monitor \(name)" : name
        if let application, application != name { text += " (\(application))" }
        if let size { text += ", \(size.width) x \(size.height)" }
        if let note { text += ", \(UntrustedText.clean(note, limit: 80, fallback: ""))" }
        return text
    }
}
