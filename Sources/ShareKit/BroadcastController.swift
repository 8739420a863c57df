package import Admission
internal import LinuxRuntime
package import Publishing
package import Sessions
package import Signaling
package import Transport

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
    private let broadcast: OutgoingBroadcast
    private let state: Monitor<State>

    /// - Parameters:
    ///   - emit: called from any thread with each event of the broadcast.
    ///   - report: called from any thread with what the service tells.
    package init(
        _ destination: BroadcastDestination, _ media: CapturedMedia, _ configuration: HostSession.Configuration,
        identity: Identity, emit: @escaping @Sendable (BroadcastEvent) -> Void = { _ in },
        report: @escaping @Sendable (ServiceEvent) -> Void = { _ in }
    ) throws(EndReason) {
        let (events, feed) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(256))
        let state = Monitor(State(url: destination.broadcastURL))
        service = BroadcastActivity.Service(
            id: destination.id.text, name: destination.name, address: destination.address)
        self.events = events
        self.state = state
        broadcast = try OutgoingBroadcast(
            destination, media, configuration, identity,
            emit: { event in
                emit(event)
                if case .ended = event { state.with { $0.isBroadcasting = false } }
                if let event = Event(event) { feed.yield(event) }
                if case .ended = event { feed.finish() }
            },
            report: { event in
                report(event)
                if case .broadcastURL(let url) = event { state.with { $0.url = url } }
                if let event = Event(event) { feed.yield(event) }
            })
    }

    /// The broadcast, for its user and other programs of the user.
    package var control: any ControllableBroadcast { broadcast.control }

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
            try await start()
        } catch {
            throw ShareKitError(error)
        }
    }

    /// As `startBroadcast`; called once.
    package func start() async throws(EndReason) {
        do throws(EndReason) {
            try await broadcast.start()
            state.with { $0.isBroadcasting = true }
        } catch {
            await broadcast.stop(error)
            throw error
        }
    }

    /// Ends the broadcast. May be called twice.
    package func stop(_ reason: EndReason) async { await broadcast.stop(reason) }

    /// Sends nothing until `resumeBroadcast`; the service keeps the last frame.
    /// - Returns: false if it is paused already, or has ended.
    @discardableResult
    public func pauseBroadcast() async -> Bool { await control.pause() }

    /// - Returns: false if it is not paused, or has ended.
    @discardableResult
    public func resumeBroadcast() async -> Bool { await control.resume() }

    /// Whether the broadcast is paused.
    public func isPaused() async -> Bool { await control.isPaused() }

    /// Ends the broadcast, or gives the pairing up if it was not started. May be called more than once.
    public func finishBroadcast() async {
        await stop(EndReason(.stopped, "the app ended the broadcast"))
    }
}

extension BroadcastController.Event {
    /// Nil for events that an app has no use for.
    init?(_ event: BroadcastEvent) {
        switch event {
        case .connected: self = .started
        case .interrupted: self = .interrupted
        case .resumed: self = .resumed
        case .warning(let sentence): self = .warning(sentence)
        case .ended(let reason): self = .finished(reason.code == .stopped ? nil : ShareKitError(reason))
        default: return nil
        }
    }

    init?(_ event: ServiceEvent) {
        switch event {
        case .serviceInfo(let info): self = .serviceInfo(BroadcastController.ServiceInfo(info))
        case .broadcastURL(let url): self = .broadcastURL(url)
        case .candidates, .finished: return nil
        }
    }
}

extension BroadcastController.ServiceInfo {
    init(_ info: Signaling.ServiceInfo) {
        self.init(
            viewers: info.viewers, likes: info.likes,
            comment: info.comment.map { Comment(name: $0.name, text: $0.text) })
    }
}
