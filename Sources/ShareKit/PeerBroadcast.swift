import Admission
internal import HTTP
package import Host
package import Identifiers
package import Identity
internal import LinuxRuntime
internal import MediaCore
package import PeerConnection
import Synchronization
internal import Wording

/// Publishes an app's own frames to other peers, by a link: browsers, `share join`, or other instances of the app
/// (``PeerViewer``). Each viewer is asked about.
///
/// The app sends to each viewer itself, or over a relay (``Relay``), which gets what is encrypted for the viewers.
///
/// Call ``start()`` once and ``finish()`` at the end.
public final class PeerBroadcast: Sendable {
    /// The limits of a broadcast, and where it listens.
    public struct Options: Sendable {
        /// The address to listen on; all addresses of the machine by default.
        public var listenAddress = "0.0.0.0"
        /// The TCP port of the link; 0 selects a free one.
        public var port = 0
        /// The name or address in the link; nil for this machine's address.
        public var linkHost: String?
        /// Frames are captured when the app draws, on average at most as often as this, to 2 %. A value below
        /// 1 counts as 1.
        public var maximumFramesPerSecond = 60
        /// In kbit/s.
        public var maximumBitrate = 20_000
        /// Viewers at a time; a further one is told that the host is full.
        public var maximumViewers = 32
        /// Who may write comments. Over a relay nobody can.
        public var comments = ParticipationRule.nobody
        /// Who may point at the picture. Over a relay nobody can.
        public var pointers = ParticipationRule.nobody
        /// Who may act in the app. Over a relay nobody can.
        public var control = ControlRule.nobody

        /// Makes options for a broadcast on a free port, with this machine's address in the link.
        public init() {}
    }

    /// A person who wants to watch.
    public struct ViewerRequest: Sendable {
        /// The name that the viewer gave; not verified.
        public let name: String
        /// "share", "Firefox", ...; not verified.
        public let program: String
        /// The IP address from which the viewer asks, without port. Over a relay it is what the relay says.
        public let address: String
        /// Four words that the viewer's screen shows, too.
        public let words: String
    }

    /// Which viewers take part in one way.
    public enum ParticipationRule: Sendable {
        case nobody
        case everybody
        /// A viewer who asks, if this returns true. Nil: nobody has answered, and it may ask again. Called for several
        /// at a time; cancelled when the viewer has left.
        case asking(@Sendable (ViewerRequest) async -> Bool?)
    }

    /// Which viewers may act in the app, one at a time.
    public struct ControlRule: Sendable {
        let rule: ParticipationRule
        let onInput: (@Sendable (ViewerInput) -> Void)?

        public static let nobody = ControlRule(rule: .nobody, onInput: nil)

        /// - Parameters:
        ///   - rule: with `everybody`, whoever asks first acts until it gives that back.
        ///   - onInput: gets the inputs in their order, on a thread of the session, and decides what they do. It must
        ///     not block.
        public static func allowed(
            _ rule: ParticipationRule, onInput: @escaping @Sendable (ViewerInput) -> Void
        ) -> ControlRule {
            ControlRule(rule: rule, onInput: onInput)
        }
    }

    /// What happens to the broadcast.
    public enum Event: Sendable, Equatable {
        /// A viewer receives the frames.
        case viewerConnected(name: String)
        /// A viewer has left, was removed, or was not heard for 30 s. `remaining` is the number of the others.
        case viewerLeft(name: String, remaining: Int)
        /// So many watch now, those at the relay among them. Only over a relay, which names nobody who comes or leaves
        /// there; ``PeerBroadcast/viewers()`` does.
        case viewersChanged(count: Int)
        /// The relay sends to the viewers from now on, or the app itself does again. `isEncrypted`: the relay cannot
        /// watch.
        case routeChanged(isOverRelay: Bool, isEncrypted: Bool)
        /// A viewer has written a comment: one line, without control characters. Nil: the app has
        /// (``PeerBroadcast/say(_:)``).
        case comment(from: String?, text: String)
        /// Viewers point at the picture; at most 30 such events come in a second.
        case pointers([ViewerPointer])
        /// This viewer acts in the app from now on.
        case controlBegan(name: String)
        /// It does not any more: it has left, has given that back, or the app has taken it back.
        case controlEnded(name: String)
        /// Nothing is captured; the viewers keep the last frame.
        case paused
        /// Frames are captured again, after `paused`.
        case resumed
        /// Something does not work; the broadcast continues.
        case warning(String)
        /// Nothing follows. Nil after `finish`.
        case ended(ShareKitError?)
    }

    /// The events, in their order. One reader; the oldest are dropped beyond 256.
    public let events: AsyncStream<Event>
    /// Nobody but the viewers can open what is sent. False over a relay that may watch (``Relay/mayWatch``).
    public let isEncrypted: Bool
    private let session: HostSession
    private let relay: PairedService?
    private let isStarted = Mutex(false)

    /// Makes a broadcast with the identity of this user. It listens from ``start()`` on.
    /// - Parameters:
    ///   - source: what is shared.
    ///   - options: the limits, and where the broadcast listens.
    ///   - accept: answers viewers, for example by a dialog; called for several at a time. A viewer waits 60 s.
    /// - Throws: `.failed` without an encoder or an identity.
    public convenience init(
        _ source: ApplicationSource, options: Options = Options(),
        accept: @escaping @Sendable (ViewerRequest) async -> Bool
    ) throws(ShareKitError) {
        try self.init(source, options: options, identity: try .ofUser(), accept: accept)
    }

    convenience init(
        _ source: ApplicationSource, options: Options, identity: Identity,
        accept: @escaping @Sendable (ViewerRequest) async -> Bool
    ) throws(ShareKitError) {
        try self.init(source, .init(options, name: source.name), identity: identity, accept: accept)
    }

    convenience init(
        _ source: ApplicationSource, _ configuration: HostSession.Configuration, identity: Identity,
        accept: @escaping @Sendable (ViewerRequest) async -> Bool
    ) throws(ShareKitError) {
        do throws(EndReason) {
            try self.init(
                CapturedMedia(source), configuration, identity: identity,
                decide: { await accept(ViewerRequest($0)) ? .accepted : .refused(nil) })
        } catch {
            throw ShareKitError(error)
        }
    }

    /// - Parameters:
    ///   - decide: answers viewers; called for several at a time.
    ///   - emit: called from any thread with each event of the broadcast.
    package init(
        _ media: CapturedMedia, _ configuration: HostSession.Configuration, identity: Identity,
        decide: @escaping HostSession.KnockPolicy, emit: @escaping @Sendable (BroadcastEvent) -> Void = { _ in }
    ) throws(EndReason) {
        let (events, feed) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(256))
        self.events = events
        relay = configuration.tunnel
        var configuration = configuration
        if configuration.viewers.messages != nil, configuration.viewers.messages?.showPointers == nil {
            configuration.viewers.messages?.showPointers = { events in
                feed.yield(.pointers(events.pointers.compactMap { ViewerPointer($0) }))
            }
        }
        isEncrypted = relay == nil || configuration.handover.isEndToEnd
        session = try HostSession(
            configuration, identity, media, decide: decide,
            emit: { event in
                emit(event)
                if let event = Event(event) { feed.yield(event) }
                if case .ended = event { feed.finish() }
            })
    }

    /// The broadcast, for its user and other programs of the user.
    package var control: any ControllableBroadcast { session }

    /// As `start`.
    package func open() async throws(EndReason) -> Link { try await session.start() }

    /// Starts the broadcast.
    /// - Returns: the link for viewers. It is secret: who has it may ask to watch.
    /// - Throws: `.alreadyStarted` at a second call, also after the end; `.portUnavailable`; `.failed`; over a relay
    ///   also why it does not take the broadcast. The broadcast has ended then.
    public func start() async throws(ShareKitError) -> String {
        let isFirst = isStarted.withLock { $0.setOnce() }
        guard isFirst else { throw ShareKitError(.alreadyStarted, "this broadcast was started before") }
        do throws(EndReason) {
            return try await open().text
        } catch {
            await end(error)
            throw ShareKitError(error)
        }
    }

    /// Ends the broadcast for all viewers, and gives the pairing with a relay up. May be called more than once.
    public func finish() async { await end(EndReason(.stopped, "the app ended the broadcast")) }

    private func end(_ reason: EndReason) async {
        await session.stop(reason)
        await relay?.close()
    }
}

extension PeerBroadcast.ViewerRequest {
    init(_ knock: Knock) {
        self.init(name: knock.name, program: knock.kind, address: knock.address, words: knock.words.description)
    }
}

extension MessagePolicy {
    init(_ options: PeerBroadcast.Options) {
        let rules = [
            ViewerRight.comment: options.comments, .point: options.pointers, .control: options.control.rule,
        ]
        var rights = ViewerRights.none
        for (right, rule) in rules {
            switch rule {
            case .nobody: rights[right] = .no
            case .asking: rights[right] = .ask
            case .everybody: rights[right] = .yes
            }
        }
        self.init(rights: rights) { request in
            guard case .asking(let decide)? = rules[request.right] else { return nil }
            return await decide(PeerBroadcast.ViewerRequest(request.viewer))
        }
        if let onInput = options.control.onInput {
            control = ControlTarget(apply: { onInput(ViewerInput($0)) }, releaseAll: { onInput(.releaseAll) })
        }
    }
}

extension PeerBroadcast.ViewerRequest {
    init(_ viewer: ViewerDescription) {
        self.init(name: viewer.name, program: viewer.kind, address: viewer.address, words: viewer.words)
    }
}

extension PeerBroadcast.Event {
    /// Nil for events that an app has no use for.
    init?(_ event: BroadcastEvent) {
        switch event {
        case .connected(let viewer, _): self = .viewerConnected(name: viewer.name)
        case .viewerLeft(let viewer, _, let viewers): self = .viewerLeft(name: viewer.name, remaining: viewers)
        case .holdChanged(let change) where change.hold == .pause: self = change.hasBegun ? .paused : .resumed
        case .viewerCount(let count): self = .viewersChanged(count: count)
        case .controlChanged(let change):
            self =
                change.end == nil ? .controlBegan(name: change.viewer.name) : .controlEnded(name: change.viewer.name)
        case .comment(let comment, _): self = .comment(from: comment.from, text: comment.text)
        case .routeChanged(let isOverRelay, _, let isSealed):
            self = .routeChanged(isOverRelay: isOverRelay, isEncrypted: isSealed || !isOverRelay)
        case .linkChanged(let link, let isFirst):
            self = .warning(
                isFirst ? "the first link works again" : "newcomers need another link for now: \(link.text)")
        case .notice(let notice): self = .warning(notice.words.sentence)
        case .ended(let reason): self = .ended(reason.code == .stopped ? nil : ShareKitError(reason))
        default: return nil
        }
    }
}

extension Identity {
    /// The identity of this user, which is made at the first use.
    static func ofUser() throws(ShareKitError) -> Identity {
        do throws(IdentityError) {
            return try Identity.loadOrCreate()
        } catch {
            throw ShareKitError(.failed, error.description)
        }
    }

    /// The identity with which a service pairs with a relay; nil if that is no identifier of a service.
    static func ofService(named text: String) throws(ShareKitError) -> Identity? {
        guard let id = ServiceID(text) else { return nil }
        do throws(IdentityError) {
            return try Identity.ofService(id)
        } catch {
            throw ShareKitError(.failed, error.description)
        }
    }
}

extension HostSession.Configuration {
    init(_ options: PeerBroadcast.Options, name: String) {
        let place = LocalAddresses.place(of: options.listenAddress)
        self.init(
            listenHost: place.host, listenPort: options.port, linkHost: options.linkHost ?? place.link,
            fixedToken: nil, framesPerSecond: options.maximumFramesPerSecond,
            maximumBitrate: .kilobits(options.maximumBitrate), contentHint: nil,
            maximumViewers: options.maximumViewers, name: name)
        viewers.messages = MessagePolicy(options)
    }
}
