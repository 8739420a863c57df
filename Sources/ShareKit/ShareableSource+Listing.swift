package import CameraCapture
internal import FoundationEssentials
internal import ImageFile
package import MediaCore
internal import PixelConversion
package import X11Capture

extension ShareableSource {
    package init(_ monitor: DesktopMonitor) {
        self.init(
            .monitor, .monitor(.number(monitor.number)), name: monitor.name,
            size: PixelSize(width: monitor.rect.width, height: monitor.rect.height), isPrimary: monitor.isPrimary)
    }

    package init(_ window: DesktopWindow) {
        self.init(
            .window, .window(.id(window.id)), name: window.title, application: window.application, size: window.size,
            isHidden: window.isHidden)
    }

    package init(_ camera: CameraDevice) {
        self.init(.camera, .camera(.number(camera.number)), name: camera.name)
    }

    /// The cameras; none if they cannot be listed.
    package static var cameras: [ShareableSource] { ((try? CameraDevice.all()) ?? []).map { ShareableSource($0) } }

    /// Monitors, windows from the topmost down, and cameras.
    /// - Parameter display: such as ":0"; nil uses `$DISPLAY`.
    /// - Returns: `failure`: why there are no monitors and windows.
    package static func all(display: String?) -> (sources: [ShareableSource], failure: SourceFailure?) {
        do throws(SourceFailure) {
            let found = try DesktopSources(display: display)
            let desktop = found.monitors.map { ShareableSource($0) } + found.windows.map { ShareableSource($0) }
            return (desktop + cameras, nil)
        } catch {
            return (cameras, error)
        }
    }

    package enum PictureFailure: Error {
        case notRead(SourceFailure)
        /// The reason, a sentence.
        case notWritten(String)
    }

    /// Writes a picture of what it shows now into a folder that exists.
    package mutating func writePicture(in folder: String, display: String?) throws(PictureFailure) {
        let converter = YUVConverter()
        let picture: I420Buffer
        do throws(SourceFailure) {
            picture = try read(display, converter)
        } catch {
            throw .notRead(error)
        }
        let path = "\(folder)/\(id.replacing(":", with: "-")).png"
        do throws(ImageFileFailure) {
            try ImageFile.write(Self.thumbnail(picture, converter).frame, to: path, converter: converter)
        } catch {
            throw .notWritten(error.message)
        }
        self.picture = path
    }

    private func read(_ display: String?, _ converter: YUVConverter) throws(SourceFailure) -> I420Buffer {
        let screen: any ScreenSource
        if case .camera(let camera) = source {
            screen = try CameraScreen(
                CameraFeed(.init(front: camera), isWhole: true, converter: converter, report: { _ in }))
        } else {
            screen = try X11Screen(
                display: display, source: source, options: CaptureOptions(cursor: .no), converter: converter)
        }
        defer { screen.close() }
        let canvas = I420Buffer(screen.size)
        var changed = BlockMap(screen.size)
        screen.damageEverything()
        _ = try screen.read(into: canvas, changed: &changed)
        return canvas
    }

    /// The picture with at most 320 pixels a side.
    private static func thumbnail(_ picture: I420Buffer, _ converter: YUVConverter) -> I420Buffer {
        let full = picture.size
        let longest = max(full.width, full.height)
        guard longest > 320 else { return picture }
        let scaled = I420Buffer(
            PixelSize(
                width: max(full.width * 320 / longest & ~1, 2), height: max(full.height * 320 / longest & ~1, 2)))
        converter.scale(picture.frame, to: scaled)
        return scaled
    }
}

extension SystemBroadcastPicker {
    /// The sources that can be broadcast now: monitors, windows from the topmost down, and cameras, as `share sources`
    /// lists them. On Wayland these are the windows of X11 programs; the desktop's own dialog asks for the others when
    /// the broadcast starts.
    /// - Parameter pictures: a folder for a picture of each; it is created if it does not exist.
    /// - Throws: `.sourceGone` if there is nothing to list and no X11 display, `.failed` if the folder cannot be made.
    public func sources(pictures: String? = nil) async throws(ShareKitError) -> [ShareableSource] {
        let display = environment["DISPLAY"]
        let result = await onThread("sources") {
            Result { () throws(ShareKitError) in try Self.list(display, pictures) }
        }
        guard let result else { throw ShareKitError(.failed, "no thread is left to list the sources") }
        return try result.get()
    }

    private static func list(_ display: String?, _ folder: String?) throws(ShareKitError) -> [ShareableSource] {
        if let folder,
            (try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)) == nil
        {
            throw ShareKitError(.failed, "the folder \(folder) cannot be made")
        }
        // An empty name is that of no display; nil would be that of this process's environment.
        var (sources, failure) = ShareableSource.all(display: display ?? "")
        if let failure, sources.isEmpty {
            throw ShareKitError(.sourceGone, failure.message, remedy: failure.remedy)
        }
        if let folder {
            for index in sources.indices { try? sources[index].writePicture(in: folder, display: display) }
        }
        return sources
    }
}
