internal import Admission
internal import HTTP
internal import Host
internal import Identifiers
internal import Identity
internal import LinuxRuntime
internal import MediaCore
internal import PeerConnection
internal import Signaling

/// A broadcast over a relay.
extension PeerBroadcast {
    /// A relay (`share relay`) over which viewers reach the app, and which sends to them. What it gets is encrypted for
    /// the viewers, so it cannot watch, unless the app allows that.
    public struct Relay: Sendable {
        /// The link that `share relay` prints.
        public var link: String
        /// The app's identifier, in reverse-DNS notation; the relay sees it with the source's name.
        public var applicationID: String
        /// The relay gets the frames and the audio in clear, so whoever runs it can watch. Viewers may then also come
        /// by the relay's own link, with players that know nothing of encryption; the app is asked about them, too.
        public var mayWatch = false
        /// The app sends to so many viewers itself, 0...30, and the relay sends to all if there are more. A value
        /// beyond that counts as the nearest one. Nil: the relay sends to all from the first on, and viewers do not
        /// learn the app's address.
        public var directViewers: Int?
        /// The title in the relay's directory, where whoever reads it gets the link; empty: the app's name. Nil: the
        /// broadcast is not listed.
        public var title: String?

        /// Names a relay that cannot watch, and sends to all viewers.
        public init(link: String, applicationID: String) {
            self.link = link
            self.applicationID = applicationID
        }
    }

    /// Pairs with a relay, and makes a broadcast over it with the identity of this user. The app's user has named the
    /// relay, or was asked by the app.
    /// - Parameters:
    ///   - source: what is shared. Nothing is captured before ``start()``, which has to follow within 10 s.
    ///   - relay: which one, and what it may do.
    ///   - options: the limits. Nobody has to reach the app, so it listens on loopback unless an address is named.
    ///   - accept: answers viewers, also those that come over the relay, for example by a dialog; called for several at
    ///     a time. A viewer waits 60 s.
    /// - Throws: `.badLink`; `.unknownService` if no relay is there; `.refused`, `.unanswered`, `.busy`, `.untrusted`,
    ///   `.unreachable` if it does not take the app; `.failed` without an encoder or an identity.
    public convenience init(
        _ source: ApplicationSource, over relay: Relay, options: Options = Options(),
        accept: @escaping @Sendable (ViewerRequest) async -> Bool
    ) async throws(ShareKitError) {
        try await self.init(source, over: relay, options: options, identity: try .ofUser(), accept: accept)
    }

    convenience init(
        _ source: ApplicationSource, over relay: Relay, options: Options, identity: Identity,
        accept: @escaping @Sendable (ViewerRequest) async -> Bool
    ) async throws(ShareKitError) {
        let paired = try await relay.pair(source, identity)
        do throws(ShareKitError) {
            try self.init(
                source, .init(options, name: source.name, over: paired, relay), identity: identity, accept: accept)
        } catch {
            await paired.close()
            throw error
        }
    }
}

extension PeerBroadcast.Relay {
    fileprivate func pair(
        _ source: ApplicationSource, _ identity: Identity
    ) async throws(ShareKitError) -> PairedService {
        let place: ServiceLink
        do throws(LinkError) {
            place = try ServiceLink(parsing: link)
        } catch {
            throw ShareKitError(.badLink, "the relay: \(error.description)")
        }
        let application = ApplicationInfo(id: applicationID, name: source.name, icon: source.icon)
        // The name of a service that is no relay.
        let other = Monitor<String?>(nil)
        do throws(PairingFailure) {
            var paired = try await ServicePairing(link: place, application: application, identity: identity).run {
                question in
                guard !question.service.isRelay else { return question.refused == nil ? [:] : nil }
                other.with { $0 = question.service.name }
                return nil
            }
            paired.title = title
            return paired
        } catch {
            guard let name = other.with({ $0 }) else { throw ShareKitError(error) }
            throw ShareKitError(
                .unknownService, "\(UntrustedText.quote(name)) is a service, and no relay",
                remedy: "Take the link that share relay prints.")
        }
    }
}

extension HostSession.Configuration {
    fileprivate init(
        _ options: PeerBroadcast.Options, name: String, over paired: PairedService, _ relay: PeerBroadcast.Relay
    ) {
        self.init(options, name: name)
        tunnel = paired
        ice.grantedServers = paired.grantedServers
        handover.directViewers = relay.directViewers.map { min(max($0, 0), 30) }
        handover.isRelayOnly = relay.directViewers == nil
        handover.isSealed = !relay.mayWatch
        // Nobody has to reach this app's own server.
        let isAnyAddress = options.listenAddress == "0.0.0.0" || options.listenAddress == "::"
        if isAnyAddress { (listenHost, listenPort) = ("127.0.0.1", 0) }
    }
}
