internal import LinuxRuntime
internal import MediaCore

/// Opens the cameras of a feed, reads them and brings lost ones back. Confined to the camera's thread.
final class CameraReader {
    /// A camera that is open, or is being opened.
    private struct Opened {
        var device: CameraDevice
        var position: CameraFeed.Position
        var stream: any CameraStream
        /// When its first picture is overdue.
        var due: MediaInstant
    }

    /// The settings that the picture was made with.
    private struct Form: Equatable {
        var size: PixelSize
        var isMirrored: Bool
    }

    private static let (shortestDelay, longestDelay) = (MediaDuration.milliseconds(250), MediaDuration.seconds(2))
    /// How long a camera may take to start. PipeWire does not say that another program has a camera.
    private static let patience = MediaDuration.seconds(5)
    private static let insetSize = PixelSize(width: 640, height: 480)
    private static let wholeSize = PixelSize(width: 1_280, height: 720)

    private let feed: CameraFeed
    /// The camera whose pictures are shown.
    private var current: Opened?
    /// The one that replaces it with its first picture.
    private var next: Opened?
    /// The identifiers of the cameras that were chosen: another one never takes their place by itself.
    private var known: [CameraFeed.Position: String] = [:]
    private var wanted: CameraFeed.Position?
    private var openDue = MediaInstant(nanoseconds: 0)
    private var delay = CameraReader.shortestDelay
    private var lastNews: String?

    /// The last image, in its own size.
    private var native: (buffer: I420Buffer, captured: MediaInstant)?
    private var form: Form?
    private var spare: I420Buffer?
    private var scratch: I420Buffer?

    init(_ feed: CameraFeed) { self.feed = feed }

    /// Runs until the feed is closed.
    func run() {
        while true {
            feed.wakeup.consume()
            let request = feed.request
            if request.isClosed { break }
            guard request.isWanted else {
                drop()
                feed.clear(nil)
                feed.wakeup.wait(until: nil)
                continue
            }
            let timer = step(request)
            feed.wakeup.wait(
                orAnyOf: [current?.stream.descriptor ?? -1, next?.stream.descriptor ?? -1], until: timer)
        }
        drop()
        feed.clear(nil)
    }

    /// Closes everything, which also turns off a camera's light.
    private func drop() {
        current?.stream.close()
        next?.stream.close()
        (current, next, native, form, spare, scratch, wanted) = (nil, nil, nil, nil, nil, nil, nil)
    }

    /// - Returns: when to look again at the latest.
    private func step(_ request: CameraFeed.CaptureRequest) -> MediaInstant? {
        let position = request.settings.position
        if wanted != position {
            wanted = position
            (openDue, delay, lastNews) = (MonotonicClock.now, Self.shortestDelay, nil)
            if next?.position != position { abandonNext() }
        }
        if current?.position == position {
            abandonNext()
        } else if next == nil, MonotonicClock.now >= openDue {
            open(position, request)
        }
        receiveNext(request)
        receiveCurrent(request)
        render(request)
        if let next { return next.due }
        return current?.position == position ? nil : openDue
    }

    private func abandonNext() {
        next?.stream.close()
        next = nil
    }

    private func receiveNext(_ request: CameraFeed.CaptureRequest) {
        guard let opened = next else { return }
        var hasPicture = false
        opened.stream.receive { hasPicture = convert($0) }
        if hasPicture {
            current?.stream.close()
            (current, next) = (opened, nil)
            known[opened.position] = opened.device.id
            delay = Self.shortestDelay
            form = nil
            if lastNews != nil {
                feed.report(
                    CameraFeed.News(sentence: "the camera \(opened.device.name) is in the picture", isLoss: false))
            }
            lastNews = nil
        } else if let failure = opened.stream.failure {
            abandonNext()
            failed(SourceFailure(.unsupported, "the camera \(opened.device.name) cannot be used: \(failure)"))
        } else if MonotonicClock.now >= opened.due {
            abandonNext()
            failed(
                SourceFailure(
                    .unsupported,
                    opened.stream.hasFormat
                        ? "the camera \(opened.device.name) delivers no picture: another program may be using it"
                        : "the camera \(opened.device.name) has no format that share takes (YUV, RGB or MJPEG)"))
        }
    }

    private func receiveCurrent(_ request: CameraFeed.CaptureRequest) {
        guard let opened = current else { return }
        opened.stream.receive { image in
            if convert(image) { form = nil }
        }
        guard let failure = opened.stream.failure else { return }
        opened.stream.close()
        (current, native, form) = (nil, nil, nil)
        openDue = MonotonicClock.now + delay
        let loss = SourceFailure(.deviceGone, "the camera \(opened.device.name) has gone (\(failure))")
        feed.clear(loss)
        tell(loss)
    }

    // MARK: Opening

    private func open(_ position: CameraFeed.Position, _ request: CameraFeed.CaptureRequest) {
        do throws(SourceFailure) {
            let device = try find(position, request)
            let size = feed.isWhole ? Self.wholeSize : Self.insetSize
            let stream: any CameraStream
            do throws(SourceFailure) {
                switch device.place {
                case .node(let serial):
                    stream = try PipeWireCamera(serial, socket: request.search.socket, about: size)
                case .path(let path): stream = try V4L2Camera(path, about: size)
                }
            } catch {
                throw SourceFailure(
                    error.code, "the camera \(device.name) cannot be used: \(error.message)", remedy: error.remedy)
            }
            next = Opened(
                device: device, position: position, stream: stream, due: MonotonicClock.now + Self.patience)
        } catch {
            failed(error)
        }
    }

    private func find(_ position: CameraFeed.Position, _ request: CameraFeed.CaptureRequest) throws(SourceFailure)
        -> CameraDevice
    {
        try request.choice.device(at: position, known: known, of: request.search.find())
    }

    private func failed(_ failure: SourceFailure) {
        openDue = MonotonicClock.now + delay
        delay = min(MediaDuration(nanoseconds: delay.nanoseconds * 2), Self.longestDelay)
        feed.fail(failure)
        tell(failure)
    }

    /// Says each thing once until a camera delivers.
    private func tell(_ failure: SourceFailure) {
        guard failure.message != lastNews else { return }
        lastNews = failure.message
        let rest =
            current.map { "the picture of \($0.device.name) stays meanwhile" }
            ?? (feed.isWhole ? "the last picture stays until it is back" : "the picture goes on without it")
        feed.report(CameraFeed.News(sentence: "\(failure.message); \(rest)", isLoss: true))
    }

    // MARK: Pictures

    /// - Returns: false if the image is damaged.
    private func convert(_ image: CameraImage) -> Bool {
        let size = image.layout.size.even
        let buffer = native?.buffer.size == size ? native?.buffer : nil
        let target = buffer ?? I420Buffer(size)
        guard feed.converter.convert(image, to: target) else { return false }
        native = (target, MonotonicClock.now)
        return true
    }

    /// Makes the picture if the image or its form is new.
    private func render(_ request: CameraFeed.CaptureRequest) {
        guard let (buffer, captured) = native, let current else { return }
        let size =
            feed.isWhole ? buffer.size : request.frame.flatMap { request.settings.size.size(of: buffer.size, in: $0) }
        guard let size else { return }
        let new = Form(size: size, isMirrored: request.settings.isMirrored)
        guard form != new else { return }
        form = new
        let target = spare?.size == size ? spare : nil
        let picture = target ?? I420Buffer(size)
        if new.isMirrored {
            let unmirrored = scratch?.size == size ? scratch : nil
            let middle = unmirrored ?? I420Buffer(size)
            scratch = middle
            feed.converter.scale(buffer.frame, to: middle)
            feed.converter.mirror(middle.frame, to: picture)
        } else {
            feed.converter.scale(buffer.frame, to: picture)
        }
        spare = picture
        feed.publish(&spare, of: current.device, buffer.size, captured)
    }
}
