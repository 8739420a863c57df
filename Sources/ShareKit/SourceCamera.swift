internal import CameraCapture
internal import InAppCapture
internal import LinuxRuntime
internal import MediaCore
internal import PixelConversion

/// The camera that everything captured of one source shows.
final class SourceCamera: Sendable {
    let feed: CameraFeed
    private let listener: Monitor<@Sendable (CameraFeed.News) -> Void>

    init() throws(SourceFailure) {
        let listener = Monitor<@Sendable (CameraFeed.News) -> Void>({ _ in })
        self.listener = listener
        var settings = CameraFeed.Settings()
        settings.isEnabled = false
        feed = try CameraFeed(CameraFeed.Choice(), settings: settings, converter: YUVConverter()) { news in
            listener.with { $0 }(news)
        }
    }

    deinit { feed.close() }

    /// - Parameter listen: called on the camera's thread; replaces the one before.
    func listen(_ listen: @escaping @Sendable (CameraFeed.News) -> Void) { listener.with { $0 = listen } }
}

extension ApplicationSource {
    /// A view of the frames for one output, with the camera in it. The protocol's type: a file that does not import
    /// CameraCapture would call the empty `resume` of the protocol's extension.
    func makeScreen() -> any ScreenSource & Sendable {
        CameraOverlay(surface.makeScreen(), camera.feed, ownsFeed: false)
    }
}
