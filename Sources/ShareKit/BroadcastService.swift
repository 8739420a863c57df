package import Admission
import HTTP
package import Identifiers
package import Identity
internal import LinuxRuntime
package import MediaCore
package import PeerConnection
package import Service
package import Signaling
internal import Viewer
internal import Wording

/// A service that apps and hosts broadcast to, after they have paired with it.
///
/// Its link is what `share extension install` takes. Call ``start()`` once and ``stop(reason:)`` at the end.
public final class BroadcastService: Sendable {
    /// What the service asks the user of an app before the broadcast.
    public struct Field: Sendable, Hashable {
        /// 1...32 characters of `a-z`, `0-9`, `-` and `_`.
        public var name: String
        /// What the user is asked, at most 64 characters.
        public var label: String

        /// Makes a field. A name or a label that is not allowed is refused when the service is made (`.badSetup`).
        public init(name: String, label: String) {
            self.name = name
            self.label = label
        }
    }

    /// What apps are told of the service, how many of them it takes, and how it is reached.
    public struct Options: Sendable {
        /// At most 16.
        public var fields: [Field] = []
        /// What the user of an app has to agree to, at most 16 KiB.
        public var terms: String?
        /// A PNG file that apps may show, at most 256 x 256 pixels and 16 KiB.
        public var icon: [UInt8]?
        /// Where people can watch; told to each app that is accepted.
        public var broadcastURL: String?
        /// Broadcasts at a time; further apps are told that the service is busy.
        public var maximumBroadcasts = 4
        /// The address to listen on; all addresses of the machine by default.
        public var listenAddress = "0.0.0.0"
        /// The TCP port of the link; 0 selects a free one.
        public var port = 0
        /// The name or address in the link; nil for this machine's address.
        public var linkHost: String?
        /// The link of a relay (`share relay`) over which apps reach this service; nil: they reach it at its own
        /// address. The relay gets no media.
        public var relay: String?
        /// Only apps that have the service's link are asked about. The link then has a secret, which stays the same
        /// over restarts. Without it whoever finds the service may ask: the rest of a link is what TLS shows to
        /// everybody.
        public var requiresLink = false
        /// With which the service pairs with the relay; nil: its own.
        var relayIdentity: Identity?
        /// Of the link, if that is required.
        var linkSecret: [UInt8]?

        /// Makes options for a service without fields and terms, which listens on a free port of all addresses.
        public init() {}
    }

    /// An app whose user wants to broadcast to this service, and has confirmed it.
    public struct Request: Sendable {
        /// The app's name and identifier, as it says; not verified.
        public let application: String
        /// The app's identifier, as it says; not verified. By convention it is in reverse-DNS notation.
        public let applicationID: String
        /// The app's icon, a PNG file that is not decoded here: at most 256 x 256 pixels and 16 KiB; nil if it has
        /// none.
        public let applicationIcon: [UInt8]?
        /// The IP address from which the app asks, without port. Over a relay it is what the relay says.
        public let address: String
        /// What the app's user has entered, by the names of the fields.
        public let setup: [String: String]
    }

    /// What happens to the service and the broadcasts that it takes.
    public enum Event: Sendable, Equatable {
        /// Frames follow.
        case began(ReceivedBroadcast)
        /// No packets of the app arrive; the service waits for 30 s.
        case interrupted(ReceivedBroadcast)
        /// Packets of the app arrive again, after `interrupted`.
        case resumed(ReceivedBroadcast)
        /// A broadcast of a whole screen shows another application now, if its user lets services know.
        case annotated(ReceivedBroadcast, Application)
        /// No frame follows. The sentence says why.
        case ended(ReceivedBroadcast, reason: String)
        /// An app that is not taken, and why.
        case refused(application: String, reason: String)
        /// Something does not work, or has changed; the service continues. The value is a sentence for people.
        case warning(String)
    }

    /// An application that is shown; not verified.
    public typealias Application = SampleHandler.Application

    /// A decoded frame; valid during the call only.
    public typealias Frame = PeerViewer.Frame

    /// The events, in their order. One reader; the oldest are dropped beyond 256.
    public let events: AsyncStream<Event>
    private let feed: AsyncStream<Event>.Continuation
    private let session: ServiceSession
    /// Emptied by `stop`, as the session and the broadcasts refer to each other.
    private let reference: Monitor<ServiceSession?>

    /// Makes a service with the identity of this user. It listens from ``start()`` on.
    /// - Parameters:
    ///   - id: in reverse-DNS notation, such as `com.example.conference`.
    ///   - name: at most 64 characters; apps' users see it.
    ///   - options: what is asked for, how many broadcasts are taken, and where the service listens.
    ///   - accept: answers apps, for example by a dialog; called for several at a time. An app waits 60 s.
    ///   - onFrame: called with each frame, on one thread for each broadcast. Frames that come while it runs are
    ///     dropped but the newest.
    ///   - onAudio: called on a thread of the session with interleaved samples, 48 kHz, two channels.
    /// - Throws: `.badSetup` for an identifier, a name, fields or terms that cannot be published; `.failed` without an
    ///   identity.
    public convenience init(
        id: String, name: String, options: Options = Options(),
        accept: @escaping @Sendable (Request) async -> Bool,
        onFrame: @escaping @Sendable (ReceivedBroadcast, borrowing Frame) -> Void,
        onAudio: (@Sendable (ReceivedBroadcast, UnsafeBufferPointer<Int16>) -> Void)? = nil
    ) throws(ShareKitError) {
        var options = options
        if options.relay != nil { options.relayIdentity = try .ofService(named: id) }
        if options.requiresLink { options.linkSecret = try Self.linkSecret(ofServiceNamed: id) }
        try self.init(
            id: id, name: name, options: options, identity: try .ofUser(), accept: accept, onFrame: onFrame,
            onAudio: onAudio)
    }

    convenience init(
        id: String, name: String, options: Options, identity: Identity,
        accept: @escaping @Sendable (Request) async -> Bool,
        onFrame: @escaping @Sendable (ReceivedBroadcast, borrowing Frame) -> Void,
        onAudio: (@Sendable (ReceivedBroadcast, UnsafeBufferPointer<Int16>) -> Void)?
    ) throws(ShareKitError) {
        let configuration = try ServiceSession.Configuration(id: id, name: name, options)
        let reference = Monitor<ServiceSession?>(nil)
        let broadcasts = Monitor<[SessionID: ReceivedBroadcast]>([:])
        self.init(
            configuration, identity: identity, reference,
            decide: { request in
                guard configuration.service.linkSecret == nil || request.hasLinkSecret else {
                    return .refused("this link has no secret: ask for the service's new link")
                }
                return await accept(Request(request)) ? .accepted : .refused(nil)
            },
            makeSink: { id, publisher, feed in
                let broadcast = ReceivedBroadcast(id, publisher, of: reference)
                broadcasts.with { $0[id] = broadcast }
                return PlaybackSink(broadcast, onFrame, onAudio) { feed.yield(.warning($0)) }
            },
            emit: { event, feed in
                if let event = Event(event, broadcasts) { feed.yield(event) }
            })
    }

    /// - Parameters:
    ///   - decide: answers hosts; called for several at a time.
    ///   - makeSink: makes the sink of a broadcast.
    ///   - emit: called from any thread with each event of the service.
    package convenience init(
        _ configuration: ServiceSession.Configuration, identity: Identity,
        decide: @escaping @Sendable (PairingRequest) async -> PairingDecision,
        makeSink: @escaping @Sendable (SessionID, Publisher) -> any EncodedMediaSink,
        emit: @escaping @Sendable (ServiceSessionEvent) -> Void
    ) {
        self.init(
            configuration, identity: identity, Monitor(nil), decide: decide,
            makeSink: { id, publisher, _ in makeSink(id, publisher) }, emit: { event, _ in emit(event) })
    }

    private init(
        _ configuration: ServiceSession.Configuration, identity: Identity, _ reference: Monitor<ServiceSession?>,
        decide: @escaping @Sendable (PairingRequest) async -> PairingDecision,
        makeSink: @escaping @Sendable (SessionID, Publisher, AsyncStream<Event>.Continuation) -> any EncodedMediaSink,
        emit: @escaping @Sendable (ServiceSessionEvent, AsyncStream<Event>.Continuation) -> Void
    ) {
        let (events, feed) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(256))
        self.events = events
        self.feed = feed
        self.reference = reference
        session = ServiceSession(
            configuration: configuration, identity: identity, decide: decide,
            makeSink: { id, publisher in makeSink(id, publisher, feed) }, emit: { emit($0, feed) })
        reference.with { $0 = session }
    }

    private static func linkSecret(ofServiceNamed id: String) throws(ShareKitError) -> [UInt8]? {
        // What is no identifier is refused later.
        guard let id = ServiceID(id) else { return nil }
        do throws(IdentityError) {
            return try LinkSecretFile.loadOrCreate(of: id)
        } catch {
            throw ShareKitError(.failed, error.description)
        }
    }

    /// Opens the service.
    /// - Returns: its link. It holds no secret unless ``Options/requiresLink`` is set: who finds the service may ask to
    ///   broadcast.
    /// - Throws: `.portUnavailable` if the port cannot be opened.
    public func start() async throws(ShareKitError) -> String {
        do throws(EndReason) {
            return try await open().text
        } catch {
            throw ShareKitError(error)
        }
    }

    /// As `start`.
    package func open() async throws(EndReason) -> ServiceLink { try await session.start() }

    /// Tells all apps that broadcast how many people watch and what they say.
    package func send(_ info: ServiceInfo) { session.send(info) }

    /// Tells all apps that broadcast where people can watch.
    package func send(url: String) { session.send(url: url) }

    /// Ends all broadcasts with a sentence for their users.
    package func finish(reason: String, nextStep: String?) { session.finish(reason: reason, nextStep: nextStep) }

    /// Ends all broadcasts and frees everything. May be called more than once.
    /// - Parameter reason: a sentence for the users of the apps.
    public func stop(reason: String = "the service has stopped") async {
        await session.stop(reason: reason)
        reference.with { $0 = nil }
        feed.finish()
    }
}

extension ServiceSession.Configuration {
    fileprivate init(id: String, name: String, _ options: BroadcastService.Options) throws(ShareKitError) {
        guard let service = ServiceID(id) else {
            throw ShareKitError(.badSetup, "'\(id)' is no identifier of a service, such as com.example.conference")
        }
        let description: ServiceDescription
        do throws(ServiceDescriptionError) {
            var fields: [SetupField] = []
            for field in options.fields { fields.append(try SetupField(name: field.name, label: field.label)) }
            description = try ServiceDescription(
                id: service, name: name, fields: fields, terms: options.terms, icon: options.icon.map(PNGIcon.init))
        } catch {
            throw ShareKitError(.badSetup, error.description)
        }
        var configuration = ServiceConfiguration(description)
        configuration.broadcastURL = options.broadcastURL
        configuration.sessionCapacity = options.maximumBroadcasts
        configuration.linkSecret = options.linkSecret
        var relay: ServiceLink?
        do throws(LinkError) {
            relay = try options.relay.map { text throws(LinkError) in try ServiceLink(parsing: text) }
        } catch {
            throw ShareKitError(.badSetup, "the relay: \(error.description)")
        }
        let place = LocalAddresses.place(of: options.listenAddress)
        let isAnyAddress = options.listenAddress == "0.0.0.0" || options.listenAddress == "::"
        self.init(
            // Nobody has to reach the server of a service that is reached over a relay.
            listenHost: relay != nil && isAnyAddress ? "127.0.0.1" : place.host, listenPort: options.port,
            linkHost: options.linkHost ?? place.link,
            service: configuration)
        self.relay = relay
        relayIdentity = options.relayIdentity
        // Other tools publish in other codecs than VP8.
        videoCodecs = VideoDecoders.installed.codecs
    }
}

extension PlaybackSink {
    /// Decodes one broadcast for the app.
    fileprivate convenience init(
        _ broadcast: ReceivedBroadcast,
        _ onFrame: @escaping @Sendable (ReceivedBroadcast, borrowing BroadcastService.Frame) -> Void,
        _ onAudio: (@Sendable (ReceivedBroadcast, UnsafeBufferPointer<Int16>) -> Void)?,
        warn: @escaping @Sendable (String) -> Void
    ) {
        self.init(
            videoSink: FrameHandler { frame in onFrame(broadcast, frame) },
            makeSpeaker: { onAudio.map { onAudio in AudioHandler { onAudio(broadcast, $0) } } },
            emit: { event in
                if case .notice(let notice) = event { warn(notice.words.sentence) }
            })
    }
}

extension BroadcastService.Request {
    init(_ request: PairingRequest) {
        self.init(
            application: request.application.name, applicationID: request.application.id,
            applicationIcon: request.application.icon?.bytes, address: request.address, setup: request.setup)
    }
}

extension BroadcastService.Event {
    /// Nil for events that an app has no use for.
    fileprivate init?(_ event: ServiceSessionEvent, _ broadcasts: Monitor<[SessionID: ReceivedBroadcast]>) {
        func broadcast(_ id: SessionID) -> ReceivedBroadcast? { broadcasts.with { $0[id] } }
        switch event {
        case .opened(let id, _):
            guard let broadcast = broadcast(id) else { return nil }
            self = .began(broadcast)
        case .interrupted(let id):
            guard let broadcast = broadcast(id) else { return nil }
            self = .interrupted(broadcast)
        case .resumed(let id):
            guard let broadcast = broadcast(id) else { return nil }
            self = .resumed(broadcast)
        case .closed(let id, _, let reason):
            guard let broadcast = broadcasts.with({ $0.removeValue(forKey: id) }) else { return nil }
            self = .ended(broadcast, reason: reason.sentence)
        case .pairingRefused(let request, let reason):
            self = .refused(application: request.application.name, reason: reason)
        case .annotated(let id, let application):
            guard let broadcast = broadcast(id) else { return nil }
            self = .annotated(
                broadcast, .init(id: application.id, name: application.name, icon: application.icon?.bytes))
        case .notice(let notice): self = .warning(notice.words.sentence)
        case .pairing, .paired, .connected, .tunnelOpened, .tunnelClosed, .listed: return nil
        }
    }
}
