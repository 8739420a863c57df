import ArgumentParser
import CameraCapture
import CommandSupport
import Control
import MediaCore
import PixelConversion

/// The camera in the corner of what a host shares.
struct CameraOptions: ParsableArguments {
    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "Also show a camera in a corner: its number, or a part of its name (share sources); may be given twice.",
            discussion: """
                The first is the front camera, the second the back one; share camera changes what is shown while the \
                broadcast runs. A camera that is missing or used by another program appears when it is there.
                """, valueName: "camera"),
        transform: Self.camera)
    var camera: [CaptureSource.Camera] = []

    @Option(
        help: ArgumentHelp(
            "Where the camera is: top-left, top-right, bottom-left, bottom-right, or X,Y in pixels (default: bottom-right).",
            valueName: "place"),
        transform: { try Self.place($0) })
    var cameraAt: OverlayPlace?

    @Option(
        help: ArgumentHelp(
            "How wide the camera is: percent of the picture, or pixels (default: 20%).", valueName: "size"),
        transform: { try Self.size($0) })
    var cameraSize: OverlaySize?

    @Flag(help: "Show the camera as a mirror does. Without it viewers can read what is held into the camera.")
    var cameraMirror = false

    mutating func validate() throws {
        guard camera.count <= 2 else { throw ValidationError("--camera is given twice at most: front and back.") }
        guard !camera.isEmpty || cameraAt == nil && cameraSize == nil else {
            throw ValidationError("--camera-at and --camera-size are for --camera.")
        }
    }

    private static func camera(_ text: String) throws -> CaptureSource.Camera {
        do throws(CaptureSource.ParseFailure) {
            return try CaptureSource.Camera(parsing: text)
        } catch {
            throw ValidationError(error.description)
        }
    }

    static func place(_ text: String) throws -> OverlayPlace {
        guard let place = OverlayPlace(parsing: text) else {
            throw ValidationError("'\(text)' is no place: top-left, top-right, bottom-left, bottom-right or X,Y.")
        }
        return place
    }

    static func size(_ text: String) throws -> OverlaySize {
        guard let size = OverlaySize(parsing: text) else {
            throw ValidationError("'\(text)' is no size: 5% to 100%, or 32 to 8192 pixels.")
        }
        return size
    }

    /// The cameras of a host; nil if none is shown.
    /// - Parameter source: what is shared.
    func makeFeed(_ source: CaptureSource) throws(CommandError) -> CameraFeed? {
        var settings = CameraFeed.Settings()
        settings.isMirrored = cameraMirror
        if let cameraAt { settings.place = cameraAt }
        if let cameraSize { settings.size = cameraSize }
        let choice: CameraFeed.Choice
        var isWhole = false
        if case .camera(let whole) = source {
            guard camera.count <= 1 else {
                throw CommandError(
                    sentence: "the camera is the whole picture: --camera names its back camera, and is given once",
                    status: .usage)
            }
            choice = CameraFeed.Choice(front: whole, back: camera.first)
            isWhole = true
        } else if let front = camera.first {
            choice = CameraFeed.Choice(front: front, back: camera.count > 1 ? camera[1] : nil)
        } else {
            return nil
        }
        do throws(SourceFailure) {
            return try CameraFeed(choice, settings: settings, isWhole: isWhole, converter: YUVConverter()) {
                ErrorOutput.writeLine("share: \($0.sentence)")
            }
        } catch {
            throw CommandError(sentence: error.message, remedy: error.remedy, status: .noDisplay)
        }
    }
}

extension CameraControl {
    init(_ feed: CameraFeed) {
        self.init(
            status: {
                let status = feed.status
                let settings = status.settings
                return CameraStatus(
                    enabled: settings.isEnabled, position: settings.position.rawValue,
                    place: feed.isWhole ? nil : settings.place.text, size: feed.isWhole ? nil : settings.size.text,
                    mirrored: settings.isMirrored, name: status.name,
                    problem: feed.obstacle?.message)
            },
            apply: { request throws(ControlError) in
                var place: OverlayPlace?
                var size: OverlaySize?
                var position: CameraFeed.Position?
                if let text = request.place {
                    place = OverlayPlace(parsing: text)
                    if place == nil { throw Self.malformed("place", text) }
                }
                if let text = request.size {
                    size = OverlaySize(parsing: text)
                    if size == nil { throw Self.malformed("size", text) }
                }
                if let text = request.position {
                    position = CameraFeed.Position(rawValue: text)
                    if position == nil { throw Self.malformed("position", text) }
                }
                if feed.isWhole, place != nil || size != nil || request.enabled == false {
                    throw ControlError(
                        .failed, "the camera is the whole picture: it has no place; share pause stops it")
                }
                return feed.change { settings in
                    if let enabled = request.enabled { settings.isEnabled = enabled }
                    if let place { settings.place = place }
                    if let size { settings.size = size }
                    if let position { settings.position = position }
                    if let mirrored = request.mirrored { settings.isMirrored = mirrored }
                }
            })
    }

    private static func malformed(_ what: String, _ text: String) -> ControlError {
        ControlError(
            .malformed, "\(UntrustedText.quote(UntrustedText.clean(text, fallback: ""))) is no \(what) of a camera")
    }
}
