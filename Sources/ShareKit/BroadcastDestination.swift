package import Admission
package import Extensions
package import Host
package import Identifiers
package import Identity
internal import LinuxRuntime
internal import MediaCore
package import PeerConnection

/// Where a broadcast goes after its user has agreed: to that service and to nobody else.
package enum BroadcastDestination: Sendable {
    /// A service peer, by WHIP.
    case service(PairedService)
    /// The upload program of an extension.
    case program(ExtensionLaunch, ExtensionManifest)

    /// As the service or the manifest says; not verified.
    var description: ServiceDescription {
        switch self {
        case .service(let paired): paired.description
        case .program(_, let manifest): manifest.description
        }
    }

    package var id: ServiceID { description.id }
    package var name: String { description.name }

    /// `HOST:PORT`, or the path of the program.
    package var address: String {
        switch self {
        case .service(let paired): paired.link.authority
        case .program(_, let manifest): manifest.destination
        }
    }

    /// Where people can watch, if the service has told it.
    var broadcastURL: String? {
        switch self {
        case .service(let paired): paired.broadcastURL
        case .program: nil
        }
    }

    /// Gives it up, if no broadcast has started. May be called more than once.
    package func close() async {
        if case .service(let paired) = self { await paired.close() }
    }
}

/// Why there is no destination.
package enum BroadcastRefusal: Error, Sendable {
    case pairing(PairingFailure)
    /// The setup program of the extension cannot be used.
    case setup(EndReason)
}

/// Refuses relays, which would get a broadcast in clear. A controller has one receiver, which is told everything, and
/// asks nobody about viewers: it can have no encryption for them.
struct RefusedRelay: Sendable {
    private let isRefused: Bool
    private let name = Monitor<String?>(nil)

    /// - Parameter isRefused: false: relays are taken, too.
    init(isRefused: Bool) { self.isRefused = isRefused }

    /// Called with what a service says of itself, before anybody is asked.
    func refuses(_ service: ServiceDescription) -> Bool {
        guard isRefused, service.isRelay else { return false }
        name.with { $0 = service.name }
        return true
    }

    /// Nil: none was refused.
    var error: ShareKitError? {
        name.with { $0 }.map { name in
            ShareKitError(
                .relayCouldWatch, "\(UntrustedText.quote(name)) is a relay, which would get the broadcast in clear",
                remedy: "Choose another service, or share over the relay by a link, encrypted for the viewers.")
        }
    }
}

extension BroadcastActivity {
    /// Asks the user, each time, and pairs with the service peer of a manifest, or runs the setup of its program.
    /// - Parameter ask: as `ServicePairing.run` has it.
    package static func pair(
        with manifest: ExtensionManifest, application: ApplicationInfo, identity: Identity,
        ask: @escaping @Sendable (PairingQuestion) async -> [String: String]?
    ) async throws(BroadcastRefusal) -> BroadcastDestination {
        if manifest.upload == nil, let link = manifest.service {
            return try await pair(with: link, application: application, identity: identity, ask: ask)
        }
        let values: [String: String]
        do throws(PairingFailure) {
            values = try await manifest.description.setup(ask: ask)
        } catch {
            throw .pairing(error)
        }
        let launch: ExtensionLaunch?
        do throws(EndReason) {
            launch = try await ExtensionLaunch.prepare(manifest, application: application, values: values)
        } catch {
            throw .setup(error)
        }
        guard let launch else { throw .pairing(.declined) }
        return .program(launch, manifest)
    }

    static func pair(
        with link: ServiceLink, application: ApplicationInfo, identity: Identity,
        ask: @escaping @Sendable (PairingQuestion) async -> [String: String]?
    ) async throws(BroadcastRefusal) -> BroadcastDestination {
        do throws(PairingFailure) {
            return .service(
                try await ServicePairing(link: link, application: application, identity: identity).run(ask: ask))
        } catch {
            throw .pairing(error)
        }
    }
}

extension ShareKitError {
    init(_ refusal: BroadcastRefusal) {
        switch refusal {
        case .pairing(let failure): self.init(failure)
        case .setup(let reason): self.init(reason)
        }
    }
}
