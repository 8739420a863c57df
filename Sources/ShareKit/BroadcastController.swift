import Admission
package import Host
import Identifiers
package import Identity
internal import LinuxRuntime
internal import MediaCore
package import PeerConnection
package import Signaling
internal import Wording

/// One broadcast of an app to the service that it is paired with: the counterpart of ReplayKit's
/// `RPBroadcastController`.
///
/// The service gets what it can decode; a relay does so only if the app allows it. ``PeerBroadcast`` encrypts for
/// viewers.
///
/// ``BroadcastActivity`` makes it. Call ``startBroadcast(countdown:)`` once, within 10 s, and ``finishBroadcast()`` at
/// the end.
public final class BroadcastController: Sendable {
    /// What the service tells of the broadcast.
    public struct ServiceInfo: Sendable, Equatable {
        /// What a person who watches has written.
        public struct Comment: Sendable, Equatable {
            /// The name of who wrote it, as the service says; not verified. At most 64 characters of it arrive.
            public let name: String
            /// The comment in plain text. At most 500 characters of it arrive.
            public let text: String

            /// Makes a comment for ``SampleHandler/updateServiceInfo(_:)``.
            public init(name: String, text: String) {
                self.name = name
                self.text = text
            }
        }
        /// Nil: unknown.
        public let viewers: Int?
        /// How many people like the broadcast, as the service counts them. Nil: unknown.
        public let likes: Int?
        /// A new comment; its name is not verified.
        public let comment: Comment?

        /// Makes a report for ``SampleHandler/updateServiceInfo(_:)``. The app keeps the last value of what is nil.
        public init(viewers: Int? = nil, likes: Int? = nil, comment: Comment? = nil) {
            self.viewers = viewers
            self.likes = likes
            self.comment = comment
        }

        /// Takes what is known of the other.
        mutating func update(with other: ServiceInfo) {
            self = ServiceInfo(
                viewers: other.viewers ?? viewers, likes: other.likes ?? likes, comment: other.comment ?? comment)
        }
    }

    /// What happens to the broadcast.
    public enum Event: Sendable, Equatable {
        /// The broadcast begins in so many seconds.
        case countdown(Int)
        /// The service receives the broadcast.
        case started
        /// The service has told something new. Values that it does not name are nil here;
        /// ``BroadcastController/serviceInfo`` keeps the last of each.
        case serviceInfo(ServiceInfo)
        /// Where people can watch.
        case broadcastURL(String)
        /// No packets of the service arrive; the broadcast tries to reconnect for 30 s.
        case interrupted
        /// Packets of the service arrive again, after `interrupted`.
        case resumed
        /// The app's windows are hidden (see ``ApplicationSource/setHidden(_:)``) or the session is locked: nothing is
        /// captured.
        case movedToBackground
        /// The app can be seen again. Ask the user, then call `resumeBroadcast` or `finishBroadcast`.
        case returnedToForeground
        /// Something does not work, or has changed; the broadcast continues. The value is a sentence for people.
        case warning(String)
        /// Nothing follows. Nil after `finishBroadcast`; `.serviceEnded` has the service's reason, and its next step as
        /// the remedy.
        case finished(ShareKitError?)
    }

    private struct State {
        var isStarted = false
        var isBroadcasting = false
        /// `finishBroadcast` was called, or the broadcast has ended.
        var isOver = false
        var url: String?
        var info = ServiceInfo()
        /// Pauses in the background.
        var background: Task<Void, Never>?
    }

    /// The longest countdown, in seconds: a service waits 10 s for a broadcast.
    public static let longestCountdown = 8

    /// The service that receives the broadcast.
    public let service: BroadcastActivity.Service
    /// The events, in their order. One reader; the oldest are dropped beyond 256.
    public let events: AsyncStream<Event>
    private let feed: AsyncStream<Event>.Continuation
    private let background: Background?
    private let broadcast: OutgoingBroadcast
    private let state: Monitor<State>

    /// - Parameters:
    ///   - decide: answers viewers about whom a relay asks.
    ///   - emit: called from any thread with each event of the broadcast.
    ///   - report: called from any thread with what the service tells.
    package convenience init(
        _ destination: BroadcastDestination, _ media: CapturedMedia, _ configuration: HostSession.Configuration,
        identity: Identity, decide: @escaping HostSession.KnockPolicy = { _ in .refused(nil) },
        emit: @escaping @Sendable (BroadcastEvent) -> Void, report: @escaping @Sendable (ServiceEvent) -> Void
    ) throws(EndReason) {
        try self.init(
            destination, media, configuration, identity: identity, background: nil, decide: decide, emit: emit,
            report: report)
    }

    /// - Parameter background: nil: nothing pauses the broadcast by itself.
    init(
        _ destination: BroadcastDestination, _ media: CapturedMedia, _ configuration: HostSession.Configuration,
        identity: Identity, background: Background?, decide: @escaping HostSession.KnockPolicy = { _ in .refused(nil) },
        emit: @escaping @Sendable (BroadcastEvent) -> Void = { _ in },
        report: @escaping @Sendable (ServiceEvent) -> Void = { _ in }
    ) throws(EndReason) {
        let (events, feed) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(256))
        let state = Monitor(State(url: destination.broadcastURL))
        service = BroadcastActivity.Service(
            id: destination.id.text, name: destination.name, address: destination.address,
            icon: destination.description.icon?.bytes, isRelay: destination.description.isRelay)
        self.events = events
        self.state = state
        self.feed = feed
        self.background = background
        broadcast = try OutgoingBroadcast(
            destination, media, configuration, identity, decide: decide,
            emit: { event in
                emit(event)
                if case .ended = event { Self.end(state) }
                if let event = Event(event) { feed.yield(event) }
                if case .ended = event { feed.finish() }
            },
            report: { event in
                report(event)
                state.with { state in
                    switch event {
                    case .broadcastURL(let url): state.url = url
                    case .serviceInfo(let info): state.info.update(with: ServiceInfo(info))
                    case .candidates, .viewer, .viewerWithdrawn, .viewerJoined, .viewerLeft, .alternates,
                        .slowestBitrate, .reconnect,
                        .finished:
                        break
                    }
                }
                if let event = Event(event) { feed.yield(event) }
            })
    }

    private static func end(_ state: Monitor<State>) {
        state.with { state in
            (state.isBroadcasting, state.isOver) = (false, true)
            defer { state.background = nil }
            return state.background
        }?.cancel()
    }

    /// The broadcast, for its user and other programs of the user.
    package var control: any ControllableBroadcast { broadcast.control }

    /// Whether the broadcast has been started and has not ended.
    public var isBroadcasting: Bool { state.with { $0.isBroadcasting } }

    /// Where people can watch, as the service says; nil if it does not.
    public var broadcastURL: String? { state.with { $0.url } }

    /// What the service has told last of each value.
    public var serviceInfo: ServiceInfo { state.with { $0.info } }

    /// Starts the broadcast: from now on the service, and nobody else, receives the app's frames.
    /// - Parameter countdown: seconds before anything is captured, 0...`longestCountdown`, with an event for each.
    ///   `finishBroadcast` ends it.
    /// - Throws: `.alreadyStarted`; why the service does not take it, for example as the pairing is older than 10 s;
    ///   `.declined` if the countdown was ended.
    public func startBroadcast(countdown: Int = 0) async throws(ShareKitError) {
        precondition((0...Self.longestCountdown).contains(countdown), "a countdown of \(countdown) s")
        let isFirst = state.with { $0.isStarted.setOnce() }
        guard isFirst else { throw ShareKitError(.alreadyStarted, "this broadcast has been started before") }
        for left in (0..<countdown).reversed() {
            feed.yield(.countdown(left + 1))
            try? await Task.sleep(for: .seconds(1))
            if state.with({ $0.isOver }) || Task.isCancelled {
                await finishBroadcast()
                throw ShareKitError(.declined, "the countdown was ended")
            }
        }
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
            let hasBegun = state.with { state in
                state.isBroadcasting = !state.isOver
                return state.isBroadcasting
            }
            if hasBegun { pauseInBackground() }
        } catch {
            await broadcast.stop(error)
            throw error
        }
    }

    private func pauseInBackground() {
        guard let background else { return }
        let task = Task { [control, feed] in
            await background.follow(control) { change in
                feed.yield(change == .paused ? .movedToBackground : .returnedToForeground)
            }
        }
        let isOver = state.with { state in
            if !state.isOver { state.background = task }
            return state.isOver
        }
        if isOver { task.cancel() }
    }

    /// Ends the broadcast. May be called twice.
    package func stop(_ reason: EndReason) async {
        state.with { $0.isOver = true }
        await broadcast.stop(reason)
    }

    /// Sends nothing until `resumeBroadcast`; the service keeps the last frame.
    /// - Returns: false if it is paused already, or has ended.
    @discardableResult
    public func pauseBroadcast() async -> Bool { await control.pause() }

    /// Continues a paused broadcast, also one that was paused in the background.
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
        case .notice(let notice): self = .warning(notice.words.sentence)
        case .ended(let reason): self = .finished(reason.code == .stopped ? nil : ShareKitError(reason))
        default: return nil
        }
    }

    init?(_ event: ServiceEvent) {
        switch event {
        case .serviceInfo(let info): self = .serviceInfo(BroadcastController.ServiceInfo(info))
        case .broadcastURL(let url): self = .broadcastURL(url)
        case .candidates, .viewer, .viewerWithdrawn, .viewerJoined, .viewerLeft, .alternates, .slowestBitrate,
            .reconnect, .finished:
            return nil
        }
    }
}

extension BroadcastController.ServiceInfo {
    init(_ info: Signaling.ServiceInfo) {
        self.init(
            viewers: info.viewers, likes: info.likes,
            comment: info.comment.map { Comment(name: $0.from ?? "", text: $0.text) })
    }
}
