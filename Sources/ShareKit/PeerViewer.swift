package import Admission
package import ICEServers
internal import LinuxRuntime
package import MediaCore
internal import PixelConversion
package import Receiving
package import Sessions
package import Transport

/// Joins a broadcast by its link and hands its decoded frames and audio to the app.
///
/// Call ``run()`` once; it returns when the session is over. ``leave()`` ends the session from anywhere.
public final class PeerViewer: Sendable {
    /// A decoded frame, I420 (BT.601, limited range). Its planes are valid during the call only.
    public struct Frame: ~Copyable {
        let frame: I420Frame
        public var width: Int { frame.size.width }
        public var height: Int { frame.size.height }
        /// Luma: `height` rows of `strideY` bytes.
        public var y: UnsafePointer<UInt8> { frame.y }
        /// Chroma: `height / 2` rows of `strideC` bytes.
        public var u: UnsafePointer<UInt8> { frame.u }
        public var v: UnsafePointer<UInt8> { frame.v }
        public var strideY: Int { frame.strideY }
        public var strideC: Int { frame.strideC }

        /// Converts the frame to BGRA.
        /// - Parameters:
        ///   - pixels: `height` rows of `stride` bytes.
        ///   - stride: at least `width * 4`.
        public func copyBGRA(to pixels: UnsafeMutableRawPointer, stride: Int) {
            precondition(stride >= width * 4, "a stride of \(stride) bytes is shorter than a row")
            YUVConverter().convert(frame, rect: PixelRect(frame.size), toBGRA: pixels, stride: stride)
        }
    }

    public enum Event: Sendable, Equatable {
        /// The host is being asked; its screen shows the same words.
        case waiting(words: String)
        case connected
        /// No packets arrive; the session tries to reconnect for 30 s.
        case interrupted
        case resumed
        case warning(String)
    }

    /// The events, in their order; they end with the session. One reader; the oldest are dropped beyond 256.
    public let events: AsyncStream<Event>
    private let feed: AsyncStream<Event>.Continuation
    private let session: ViewerSession

    /// - Parameters:
    ///   - link: of the broadcast.
    ///   - name: as the host sees it.
    ///   - onFrame: called on a thread of the session with each frame. Frames that come while it runs are dropped but
    ///     the newest.
    ///   - onAudio: called on a thread of the session with interleaved samples, 48 kHz, two channels.
    /// - Throws: `.badLink`; `.failed` without an identity.
    public convenience init(
        link: String, name: String, onFrame: @escaping @Sendable (borrowing Frame) -> Void,
        onAudio: (@Sendable (UnsafeBufferPointer<Int16>) -> Void)? = nil
    ) throws(ShareKitError) {
        try self.init(link: link, name: name, identity: try .ofUser(), onFrame: onFrame, onAudio: onAudio)
    }

    convenience init(
        link: String, name: String, identity: Identity, onFrame: @escaping @Sendable (borrowing Frame) -> Void,
        onAudio: (@Sendable (UnsafeBufferPointer<Int16>) -> Void)?
    ) throws(ShareKitError) {
        let parsed: Link
        do throws(LinkError) {
            parsed = try Link(parsing: link)
        } catch {
            throw ShareKitError(.badLink, error.description)
        }
        self.init(parsed, identity: identity, name: name) { feed in
            PlaybackSink(
                videoSink: FrameHandler(onFrame), makeSpeaker: { onAudio.map { AudioHandler($0) } },
                emit: { event in
                    if case .warning(let sentence) = event { feed.yield(.warning(sentence)) }
                })
        }
    }

    /// - Parameters:
    ///   - name: as the host sees it.
    ///   - servers: STUN and TURN servers to use beside those that the host names.
    ///   - usesOnlyRelays: hides this machine's addresses from the host in the media path.
    ///   - records: whether the host and its viewers are told that the session is recorded.
    ///   - resources: of one of many sessions in this process; nil: the session has threads of its own.
    ///   - makeSink: makes the sink of the session; gets where events go.
    ///   - emit: called from any thread with each event of the session.
    package init(
        _ link: Link, identity: Identity, name: String, servers: [ICEServer] = [], usesOnlyRelays: Bool = false,
        records: Bool = false, resources: ViewerSession.SharedResources? = nil,
        emit: @escaping @Sendable (ViewerEvent) -> Void = { _ in },
        makeSink: (AsyncStream<Event>.Continuation) -> any EncodedMediaSink
    ) {
        let (events, feed) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(256))
        self.events = events
        self.feed = feed
        session = ViewerSession(
            link: link, identity: identity, name: name, servers: servers, usesOnlyRelays: usesOnlyRelays,
            records: records, sink: makeSink(feed), resources: resources,
            emit: { event in
                emit(event)
                if let event = Event(event) { feed.yield(event) }
            })
    }

    /// Runs the session, from the question to the host to the end.
    /// - Throws: why it ended, unless the host or this side ended it.
    public func run() async throws(ShareKitError) {
        let reason = await watch()
        switch reason.code {
        case .stopped, .hostEnded, .viewerLeft: return
        default: throw ShareKitError(reason)
        }
    }

    /// As `run`.
    /// - Returns: why the session ended.
    package func watch() async -> EndReason {
        defer { feed.finish() }
        return await session.run()
    }

    /// Asks for the temporal layers up to this one only. Call it before `run`. With 0, about half of the frames come
    /// where the host or relay has layers; else all.
    public func limitTemporalLayers(to layer: Int) { session.limitLayers(to: layer) }

    /// Ends the session for this reason.
    package func leave(_ reason: EndReason) { session.leave(reason) }

    /// Nil after the end.
    package func statistics() async -> ViewerStatistics? { await session.statistics() }

    /// Ends the session.
    public func leave() { session.leave() }
}

extension PeerViewer.Event {
    /// Nil for events that an app has no use for.
    init?(_ event: ViewerEvent) {
        switch event {
        case .knocking(let words): self = .waiting(words: words)
        case .connected: self = .connected
        case .interrupted: self = .interrupted
        case .resumed: self = .resumed
        case .warning(let sentence): self = .warning(sentence)
        default: return nil
        }
    }
}

/// Passes decoded frames to the app.
final class FrameHandler: VideoSink {
    private let onFrame: @Sendable (borrowing PeerViewer.Frame) -> Void

    init(_ onFrame: @escaping @Sendable (borrowing PeerViewer.Frame) -> Void) { self.onFrame = onFrame }

    func show(_ frame: I420Frame, at time: MediaInstant?) { onFrame(PeerViewer.Frame(frame: frame)) }
}

/// Passes decoded audio to the app.
final class AudioHandler: AudioSink {
    private let onAudio: @Sendable (UnsafeBufferPointer<Int16>) -> Void

    init(_ onAudio: @escaping @Sendable (UnsafeBufferPointer<Int16>) -> Void) { self.onAudio = onAudio }

    func play(_ samples: UnsafeBufferPointer<Int16>) { onAudio(samples) }
    var latency: MediaDuration { .zero }
    func close() {}
}
