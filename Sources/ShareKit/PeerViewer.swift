package import HTTP
package import Identifiers
package import Identity
package import MediaCore
package import PeerConnection
internal import PixelConversion
package import Signaling
package import Viewer
internal import Wording

/// Joins a broadcast by its link and hands its decoded frames and audio to the app.
///
/// Call ``run()`` once; it returns when the session is over. ``leave()`` ends the session from anywhere.
public final class PeerViewer: Sendable {
    /// A decoded frame, I420 (BT.601, limited range). Its planes are valid during the call only.
    public struct Frame: ~Copyable {
        let frame: I420Frame
        /// In pixels. The host may change the size from one frame to the next.
        public var width: Int { frame.size.width }
        /// In pixels.
        public var height: Int { frame.size.height }
        /// Luma: `height` rows of `strideY` bytes.
        public var y: UnsafePointer<UInt8> { frame.y }
        /// Chroma: `height / 2` rows of `strideC` bytes.
        public var u: UnsafePointer<UInt8> { frame.u }
        /// Chroma, in the form of `u`.
        public var v: UnsafePointer<UInt8> { frame.v }
        /// Bytes from one row of `y` to the next, at least `width`.
        public var strideY: Int { frame.strideY }
        /// Bytes from one row of `u`, or of `v`, to the next, at least `width / 2`.
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

    /// Which server sends what this viewer gets.
    public struct Route: Sendable, Equatable {
        /// `HOST:PORT` of the relay to which the host has sent this viewer; nil: the peer of the link sends itself.
        public let relay: String?
        /// No relay can watch: the host sends itself, or has encrypted what the relay passes on for its viewers. False
        /// for the link of a relay to which the broadcast goes in clear. The peer of the link says so.
        public let isEncrypted: Bool
    }

    /// What this viewer may do beside watching.
    public struct Rights: Sendable, Equatable {
        /// ``PeerViewer/say(_:)``
        public let comment: ParticipationRight
        /// ``PeerViewer/point(_:)``
        public let point: ParticipationRight
        /// ``PeerViewer/control(_:)``
        public let control: ParticipationRight
    }

    /// What happens to the session.
    public enum Event: Sendable, Equatable {
        /// The host is being asked; its screen shows the same words.
        case waiting(words: String)
        /// The host has let this viewer in, and the connection for media is open; frames follow.
        case connected
        /// The host has sent this viewer to a relay, or takes it back; the frames go on.
        case routeChanged(Route)
        /// No packets arrive; the session tries to reconnect for 30 s.
        case interrupted
        /// Packets of the host arrive again, after `interrupted`.
        case resumed
        /// A viewer has written a comment: one line, without control characters. Nil: the host has.
        case comment(from: String?, text: String)
        /// What this viewer may do, or may ask for (``PeerViewer/ask(for:)``). Told when the session begins, when it
        /// changes, and after a question.
        case rights(Rights)
        /// Viewers point at the picture, this one among them; at most 30 such events come in a second. A pointer is
        /// usually shown for 2 s, and a line for 5 s.
        case pointers([ViewerPointer])
        /// This viewer controls the host's screen, or app; nil: nobody does.
        case controller(name: String?)
        /// Something does not work, or has changed; the session continues. The value is a sentence for people.
        case warning(String)
    }

    /// The events, in their order; they end with the session. One reader; the oldest are dropped beyond 256.
    public let events: AsyncStream<Event>
    private let feed: AsyncStream<Event>.Continuation
    private let session: ViewerSession
    let recorder: (any SessionRecorder)?

    /// Makes a viewer with the identity of this user. It connects when ``run()`` is called.
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
        self.init(
            try Self.parse(link), name: name, identity: identity, recorder: nil, onFrame: onFrame, onAudio: onAudio)
    }

    static func parse(_ link: String) throws(ShareKitError) -> Link {
        do throws(LinkError) {
            return try Link(parsing: link)
        } catch {
            throw ShareKitError(.badLink, error.description)
        }
    }

    /// - Parameter recorder: records the session beside its playback; nil: nothing does.
    convenience init(
        _ link: Link, name: String, identity: Identity, recorder: (any SessionRecorder)?,
        onFrame: @escaping @Sendable (borrowing Frame) -> Void,
        onAudio: (@Sendable (UnsafeBufferPointer<Int16>) -> Void)?
    ) {
        self.init(
            link, identity: identity, name: name, recorder: recorder,
            emit: { event in
                if case .named(let title) = event { recorder?.setTitle(title) }
            },
            makeSink: { feed in
                let player = PlaybackSink(
                    videoSink: FrameHandler(onFrame), makeSpeaker: { onAudio.map { AudioHandler($0) } },
                    emit: { event in
                        if case .notice(let notice) = event { feed.yield(.warning(notice.words.sentence)) }
                    })
                guard let recorder else { return player }
                return EncodedMediaFork(player, [recorder.sink]) { feed.yield(.warning($0.message)) }
            })
    }

    /// A sink that hands decoded frames over, and plays no audio.
    package static func player(_ onFrame: @escaping @Sendable (borrowing Frame) -> Void) -> any EncodedMediaSink {
        PlaybackSink(videoSink: FrameHandler(onFrame), makeSpeaker: { nil }, emit: { _ in })
    }

    /// - Parameters:
    ///   - name: as the host sees it.
    ///   - servers: STUN and TURN servers to use beside those that the host names.
    ///   - usesOnlyRelays: hides this machine's addresses from the host in the media path.
    ///   - records: whether the host and its viewers are told that the session is recorded.
    ///   - recorder: what is in the sink, if it records.
    ///   - resources: of one of many sessions in this process; nil: the session has threads of its own.
    ///   - makeSink: makes the sink of the session; gets where events go.
    ///   - emit: called from any thread with each event of the session.
    package init(
        _ link: Link, identity: Identity, name: String, servers: [ICEServer] = [], usesOnlyRelays: Bool = false,
        records: Bool = false, recorder: (any SessionRecorder)? = nil,
        resources: ViewerSession.SharedResources? = nil,
        emit: @escaping @Sendable (ViewerSessionEvent) -> Void = { _ in },
        makeSink: (AsyncStream<Event>.Continuation) -> any EncodedMediaSink
    ) {
        let (events, feed) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(256))
        self.events = events
        self.feed = feed
        self.recorder = recorder
        session = ViewerSession(
            link: link, identity: identity, name: name, servers: servers, usesOnlyRelays: usesOnlyRelays,
            records: records || recorder != nil, sink: makeSink(feed), resources: resources,
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

    /// Which server sends; nil before the host has let this viewer in, and after the end.
    public var route: Route? { session.route.map { Route(relay: $0.relay, isEncrypted: $0.isEncrypted) } }

    /// Writes a comment, which the host and all viewers get.
    /// - Parameter text: one line; what is over 500 characters is left out.
    /// - Throws: `.refused` if this viewer may not; `.busy` for too many; another error if the host takes none.
    public func say(_ text: String) async throws(ShareKitError) { try await tell(.comment(text)) }

    /// Asks the host whether this viewer may take part so. `rights` follows.
    /// - Throws: `.refused` if it may not ask, or was refused within the last minute; `.busy`.
    public func ask(for participation: Participation) async throws(ShareKitError) {
        try await tell(.ask(participation.right))
    }

    /// Gives a right back. `rights` follows.
    /// - Throws: another error if the host is not reached.
    public func giveBack(_ participation: Participation) async throws(ShareKitError) {
        try await tell(.release(participation.right))
    }

    /// Tells the host and all viewers what this viewer's pointer does. What is over 60 a second is left out.
    /// - Returns: false if the host does not allow it, or it cannot be told at the moment.
    @discardableResult
    public func point(_ action: PointerAction) -> Bool { session.send(action.gesture) }

    /// Passes an input on to the host. A place that a click is meant for is told by a move before it, and a release has
    /// the keysym of its press.
    /// - Returns: false if the host does not allow it, or it cannot be told at the moment.
    @discardableResult
    public func control(_ input: ViewerInput) -> Bool { input.input.map { session.send($0) } ?? false }

    private func tell(_ message: ViewerMessage) async throws(ShareKitError) {
        do throws(SignalingError) {
            try await send(message)
        } catch {
            let code: ShareKitError.Code =
                switch error.code {
                case .refused: .refused
                case .tooMany: .busy
                default: .failed
                }
            throw ShareKitError(code, error.description)
        }
    }

    /// Says something to the host.
    package func send(_ message: ViewerMessage) async throws(SignalingError) { try await session.send(message) }

    /// - Returns: false if the host does not allow it, or it cannot be told at the moment.
    package func send(_ gesture: PointerGesture) -> Bool { session.send(gesture) }
    package func send(_ input: ControlInput) -> Bool { session.send(input) }

    /// Ends the session for this reason.
    package func leave(_ reason: EndReason) { session.leave(reason) }

    /// Nil after the end.
    package func statistics() async -> ViewerStatistics? { await session.statistics() }

    /// Ends the session.
    public func leave() { session.leave() }
}

/// Records a session beside its playback.
package protocol SessionRecorder: Sendable {
    var sink: any EncodedMediaSink { get }
    func setTitle(_ title: String)
}

extension PeerViewer.Event {
    /// Nil for events that an app has no use for.
    init?(_ event: ViewerSessionEvent) {
        switch event {
        case .knocking(let words): self = .waiting(words: words)
        case .connected: self = .connected
        case .interrupted: self = .interrupted
        case .resumed: self = .resumed
        case .hostEvent(.comment(let comment)): self = .comment(from: comment.from, text: comment.text)
        case .hostEvent(.rights(let granted)):
            self = .rights(
                PeerViewer.Rights(
                    comment: ParticipationRight(granted.rights.comment),
                    point: ParticipationRight(granted.rights.point),
                    control: ParticipationRight(granted.rights.control)))
        case .hostEvent(.pointers(let events)): self = .pointers(events.pointers.compactMap { ViewerPointer($0) })
        case .hostEvent(.controller(let controller)): self = .controller(name: controller.by)
        case .notice(.viewing(.redirected(let relay, let isEncrypted))):
            self = .routeChanged(PeerViewer.Route(relay: relay, isEncrypted: isEncrypted || relay == nil))
        case .notice(let notice): self = .warning(notice.words.sentence)
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
