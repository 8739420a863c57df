public import Admission
package import HTTP
import ICETransport
public import Identifiers
public import Identity
import LinuxRuntime
import PeerConnection
public import Signaling

/// A service that this host is paired with, for one broadcast.
public struct PairedService: Sendable {
    public let link: ServiceLink
    public let description: ServiceDescription
    /// The service's STUN and TURN servers, to be used beside the host's own.
    public var iceServers: [ICEServer] { grant.iceServers }
    /// Where people can watch, if the service has told it with its grant.
    public var broadcastURL: String? { grant.broadcastURL }
    /// The name of the service; not verified.
    public var name: String { description.name }
    /// This host wants to be asked about each viewer, if the service is a relay.
    public var decidesOnViewers = false
    /// What this host publishes is encrypted for viewers whom it sends there.
    var isEncrypted = false
    /// For the directory of a relay; nil: the broadcast is not listed. Empty: the application's name.
    public var title: String?
    /// The broadcast that goes on here, after another relay of a cluster; nil: a new one.
    var resumes: BroadcastID?
    /// The client is that of a tunnel, too: it stays open after a publication, which uses the tunnel's servers.
    var isOfTunnel = false
    /// A tunnel has the client, too, which stays open after a publication.
    var hasTunnel = false
    let grant: ServiceGrant
    package let client: ServiceClient
    fileprivate let pairing: ServicePairing
    /// What the host's user has entered.
    fileprivate let setup: [String: String]

    /// Pairs with another relay of a cluster, which asks nobody, as one of them has been asked.
    /// - Parameter broadcast: goes on there.
    func pairing(at link: ServiceLink, resuming broadcast: BroadcastID) async throws(PairingFailure) -> PairedService {
        let setup = setup
        var pairing = ServicePairing(link: link, application: pairing.application, identity: pairing.identity)
        let place = CandidatePolicy.place(of: self.link.host, own: ICEAgent.localInterfaceAddresses())
        pairing.namers = self.pairing.namers.union([place])
        var paired = try await pairing.run { $0.refused == nil ? setup : nil }
        (paired.decidesOnViewers, paired.title, paired.resumes) = (decidesOnViewers, title, broadcast)
        paired.isEncrypted = isEncrypted
        return paired
    }

    /// Pairs with the same relay again, which has started anew.
    func again() async throws(PairingFailure) -> PairedService {
        let setup = setup
        var paired = try await pairing.run { $0.refused == nil ? setup : nil }
        (paired.decidesOnViewers, paired.title, paired.isEncrypted) = (decidesOnViewers, title, isEncrypted)
        return paired
    }

    /// Gives the pairing up, if no broadcast is published. May be called more than once.
    public func close() async {
        await client.leave()
        if !isOfTunnel, !hasTunnel { await client.close() }
    }
}

/// What the host's user is asked before a broadcast to a service.
public struct PairingQuestion: Sendable {
    public let service: ServiceDescription
    /// The values that were entered before and why they are refused; nil the first time.
    public let refused: (values: [String: String], error: SetupError)?

    public init(service: ServiceDescription, refused: (values: [String: String], error: SetupError)?) {
        self.service = service
        self.refused = refused
    }
}

/// Pairs this host with one service: the handshake, with the question to the host's user in the middle.
public struct ServicePairing: Sendable {
    private let link: ServiceLink
    fileprivate let application: ApplicationInfo
    fileprivate let identity: Identity
    /// Where the relays are that have named this one, one after the other; empty: the user has.
    fileprivate var namers: Set<CandidatePolicy.Place> = []

    public init(link: ServiceLink, application: ApplicationInfo, identity: Identity) {
        self.link = link
        self.application = application
        self.identity = identity
    }

    /// - Parameter ask: asks the user, each time, after the service has proven that it is the one of the link. Returns
    ///   a value for each of the service's fields; nil if the user does not want. Called again, with the reason, when a
    ///   value is missing or too long; the same values once more end the pairing with `.setup`. The task is cancelled,
    ///   and the value is ignored, when the service ends the pairing first.
    public func run(
        ask: @escaping @Sendable (PairingQuestion) async -> [String: String]?
    ) async throws(PairingFailure) -> PairedService {
        var settings = SignalingClient.Configuration()
        if !namers.isEmpty { settings.permits = ServerAddressRule(namedAt: namers).permits }
        let client = try ServiceClient(link: link, configuration: settings)
        do throws(PairingFailure) {
            let description = try await client.pair(application: application, identity: identity)
            let setup = Monitor<[String: String]>([:])
            let grant = try await grant(client, description) { question in
                let answer = await ask(question)
                if let answer { setup.with { $0 = answer } }
                return answer
            }
            return PairedService(
                link: link, description: description, grant: grant, client: client, pairing: self,
                setup: setup.with { $0 })
        } catch {
            await client.close()
            throw error
        }
    }

    private func grant(
        _ client: ServiceClient, _ description: ServiceDescription,
        _ ask: @escaping @Sendable (PairingQuestion) async -> [String: String]?
    ) async throws(PairingFailure) -> ServiceGrant {
        let refused = Monitor<SetupError?>(nil)
        let question = Task { await Self.accept(client, description, refused, ask) }
        defer { question.cancel() }
        do throws(PairingFailure) {
            return try await client.waitForGrant()
        } catch {
            // The client knows of no refused value: for it, the user has declined.
            guard error == .declined, let refused = refused.with({ $0 }) else { throw error }
            throw .setup(refused)
        }
    }

    /// Asks until the values fit the service's fields, and sends them; withdraws the pairing if there are none.
    /// - Parameter final: gets why the values do not fit, if the same ones were given twice.
    private static func accept(
        _ client: ServiceClient, _ description: ServiceDescription, _ final: Monitor<SetupError?>,
        _ ask: @escaping @Sendable (PairingQuestion) async -> [String: String]?
    ) async {
        var refused: (values: [String: String], error: SetupError)?
        while let setup = await ask(PairingQuestion(service: description, refused: refused)) {
            do throws(PairingFailure) {
                guard let error = try await client.accept(setup: setup) else { return }
                if refused?.values == setup {
                    final.with { $0 = error }
                    break
                }
                refused = (setup, error)
            } catch {
                // The pairing is over, which `waitForGrant` reports.
                return
            }
        }
        await client.withdraw()
    }
}

extension ServiceDescription {
    /// Asks the user about an extension whose programs reach its service themselves.
    /// - Parameter ask: as for ``ServicePairing/run(ask:)``.
    /// - Returns: a value for each field.
    /// - Throws: `.declined`; `.setup` if the same values were refused twice.
    public func setup(
        ask: @Sendable (PairingQuestion) async -> [String: String]?
    ) async throws(PairingFailure) -> [String: String] {
        var refused: (values: [String: String], error: SetupError)?
        while let values = await ask(PairingQuestion(service: self, refused: refused)) {
            do throws(SetupError) {
                return try setup(values)
            } catch {
                if refused?.values == values { throw .setup(error) }
                refused = (values, error)
            }
        }
        throw .declined
    }
}

extension EndReason {
    /// Why a service does not take a broadcast that was paired with it.
    package init(_ error: SignalingError, service: String) {
        let code: Code =
            switch error.code {
            case .connectionRefused, .unreachable, .timedOut, .unknownHost: .unreachable
            case .certificateMismatch, .certificateUntrusted, .hostNotProven, .notAShareHost: .untrusted
            case .refused, .identifierInUse: .refused
            case .gone: .serviceEnded
            case .tooMany, .queueFull, .busy: .serviceBusy
            case .connectionLost: .connectionLost
            case .oldLink: .unknownService
            case .unanswered, .wrongSecret, .offerRefused, .unsupportedCodec: .failed
            }
        self.init(code, "\(service) does not take the broadcast: \(error.description)", remedy: error.remedy)
    }
}
