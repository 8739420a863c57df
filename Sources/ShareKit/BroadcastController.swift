internal import Admission
internal import InAppCapture
internal import LinuxRuntime
internal import MediaCore
internal import OpusCodec
internal import Publishing
internal import Sessions
internal import Signaling
internal import Transport
internal import Uploading
internal import VPXCodec

/// One broadcast of an app to the service that it is paired with: the counterpart of ReplayKit's
/// `RPBroadcastController`.
///
/// ``BroadcastActivity`` makes it. Call ``startBroadcast()`` once, within 10 s, and ``finishBroadcast()`` at the end.
public final class BroadcastController: Sendable {
    /// What the service tells of the broadcast.
    public struct ServiceInfo: Sendable, Equatable {
        public struct Comment: Sendable, Equatable {
            public let name: String
            public let text: String

            public init(name: String, text: String) {
                self.name = name
                self.text = text
            }
        }
        /// Nil: unknown.
        public let viewers: Int?
        public let likes: Int?
        /// A new comment; its name is not verified.
        public let comment: Comment?

        public init(viewers: Int? = nil, likes: Int? = nil, comment: Comment? = nil) {
            self.viewers = viewers
            self.likes = likes
            self.comment = comment
        }
    }

    public enum Event: Sendable, Equatable {
        /// The service receives the broadcast.
        case started
        case serviceInfo(ServiceInfo)
        /// Where people can watch.
        case broadcastURL(String)
        /// No packets of the service arrive; the broadcast tries to reconnect for 30 s.
        case interrupted
        case resumed
        case warning(String)
        /// Nothing follows. Nil after `finishBroadcast`; `.serviceEnded` has the service's reason, and its next step as
        /// the remedy.
        case finished(ShareKitError?)
    }

    private struct State {
        var isStarted = false
        var isBroadcasting = false
        var url: String?
    }

    public let service: BroadcastActivity.Service
    /// The events, in their order. One reader; the oldest are dropped beyond 256.
    public let events: AsyncStream<Event>
    private let feed: AsyncStream<Event>.Continuation
    private let broadcast: any OutgoingBroadcast
    private let state: Monitor<State>

    private init(
        _ service: BroadcastActivity.Service, url: String?,
        make: (
            _ emit: @escaping @Sendable (BroadcastEvent) -> Void, _ report: @escaping @Sendable (ServiceEvent) -> Void
        ) throws(ShareKitError) -> any OutgoingBroadcast
    ) throws(ShareKitError) {
        let (events, feed) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(256))
        let state = Monitor(State(url: url))
        self.service = service
        self.events = events
        self.feed = feed
        self.state = state
        broadcast = try make(
            { event in
                switch event {
                case .connected: feed.yield(.started)
                case .interrupted: feed.yield(.interrupted)
                case .resumed(_, _, _): feed.yield(.resumed)
                case .warning(let sentence): feed.yield(.warning(sentence))
                case .ended(let reason):
                    state.with { $0.isBroadcasting = false }
                    feed.yield(.finished(reason.code == .stopped ? nil : ShareKitError(reason)))
                    feed.finish()
                default: break
                }
            },
            { event in
                switch event {
                case .serviceInfo(let info): feed.yield(.serviceInfo(ServiceInfo(info)))
                case .broadcastURL(let url):
                    state.with { $0.url = url }
                    feed.yield(.broadcastURL(url))
                case .candidates, .finished: break
                }
            })
    }

    /// A broadcast to a service peer.
    convenience init(_ paired: PairedService, source: ApplicationSource, identity: Identity) throws(ShareKitError) {
        try self.init(
            .init(id: paired.link.id.text, name: paired.name, address: paired.link.authority),
            url: paired.broadcastURL
        ) { (emit, report) throws(ShareKitError) in
            try ServiceBroadcast(paired, source: source, identity: identity, emit: emit, report: report)
        }
    }

    /// A broadcast to the upload program of an extension.
    convenience init(_ launch: ExtensionLaunch, _ service: BroadcastActivity.Service, source: ApplicationSource)
        throws(ShareKitError)
    {
        try self.init(service, url: nil) { (emit, report) throws(ShareKitError) in
            ExtensionBroadcast(
                launch.configuration, source: source.surface.makeScreen(),
                makeEncoder: { VP8Encoder() }, audio: source.audioInputs, emit: emit,
                report: report)
        }
    }

    /// Whether the broadcast has been started and has not ended.
    public var isBroadcasting: Bool { state.with { $0.isBroadcasting } }

    /// Where people can watch, as the service says; nil if it does not.
    public var broadcastURL: String? { state.with { $0.url } }

    /// Starts the broadcast: from now on the service, and nobody else, receives the app's frames.
    /// - Throws: `.alreadyStarted`; why the service does not take it, for example as the pairing is older than 10 s.
    public func startBroadcast() async throws(ShareKitError) {
        let isFirst = state.with { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        guard isFirst else { throw ShareKitError(.alreadyStarted, "this broadcast has been started before") }
        do throws(EndReason) {
            try await broadcast.start()
            state.with { $0.isBroadcasting = true }
        } catch {
            await broadcast.stop(error)
            throw ShareKitError(error)
        }
    }

    /// Sends nothing until `resumeBroadcast`; the service keeps the last frame.
    /// - Returns: false if it is paused already, or has ended.
    @discardableResult
    public func pauseBroadcast() async -> Bool { await broadcast.pause() }

    /// - Returns: false if it is not paused, or has ended.
    @discardableResult
    public func resumeBroadcast() async -> Bool { await broadcast.resume() }

    /// Whether the broadcast is paused.
    public func isPaused() async -> Bool { await broadcast.isPaused }

    /// Ends the broadcast, or gives the pairing up if it was not started. May be called more than once.
    public func finishBroadcast() async {
        await broadcast.stop(EndReason(.stopped, "the app ended the broadcast"))
    }
}

extension BroadcastController.ServiceInfo {
    init(_ info: Signaling.ServiceInfo) {
        self.init(
            viewers: info.viewers, likes: info.likes,
            comment: info.comment.map { Comment(name: $0.name, text: $0.text) })
    }
}
