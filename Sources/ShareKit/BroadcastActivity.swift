internal import Admission
internal import Extensions
internal import Host
internal import Identifiers
internal import Identity
internal import LinuxRuntime
internal import PeerConnection

/// Chooses a service and pairs with it: the counterpart of ReplayKit's `RPBroadcastActivityViewController`.
///
/// Services are installed with `share extension install LINK`. The app's user is asked about each broadcast.
public enum BroadcastActivity {
    /// A service that is installed for this user.
    public struct Service: Sendable, Hashable {
        /// In reverse-DNS notation.
        public let id: String
        /// Not verified; what is verified is the certificate.
        public let name: String
        /// Where the broadcast goes: the service's `HOST:PORT`, or the path of the upload program.
        public let address: String
        /// A PNG file, at most 256 x 256 pixels and 16 KiB; nil if the service has none. Not verified, and not decoded
        /// yet.
        public let icon: [UInt8]?
        /// It is a relay, which sends what it gets on to viewers; the app needs ``PeerBroadcast/Relay`` to encrypt it
        /// for them. As the service says; not verified.
        public let isRelay: Bool
    }

    /// What the alert shows. It names the one service, and the setup asks for what the service needs.
    public struct Alert: Sendable {
        /// The name of the app that wants to broadcast: the source's, as the service will see it.
        public let application: String
        /// The service that would receive the broadcast.
        public let service: Service
        /// What the service asks of the user: a label for each name.
        public let fields: [(name: String, label: String)]
        /// What the user has to agree to.
        public let terms: String?
        /// Why the alert is shown again: a value is missing or too long. Nil the first time.
        public let problem: String?
    }

    /// Asks the user; returns a value for each field, or nil if the user does not want to broadcast. Called again when
    /// a value is missing or too long (``Alert/problem``); the same values once more are an error (`.badSetup`).
    public typealias Confirmation = @Sendable (Alert) async -> [String: String]?

    /// The services that are installed; those whose manifests cannot be used are left out.
    /// - Throws: `.failed` if the folder cannot be read.
    public static func services() throws(ShareKitError) -> [Service] {
        do throws(ExtensionError) {
            return try ExtensionStore().list().extensions.map { Service($0) }
        } catch {
            throw ShareKitError(.failed, error.description)
        }
    }

    /// Shows the installed services to the user, who chooses one, and pairs with it; the alert follows all the same.
    /// - Parameters:
    ///   - source: what is broadcast.
    ///   - choose: shows the services, of which there is at least one, and returns one of them; nil if the user does
    ///     not want to broadcast.
    ///   - applicationID: as for `load(preferredExtension:source:applicationID:relayMayWatch:confirm:)`, with what is
    ///     returned and thrown.
    ///   - relayMayWatch: a relay is taken, too; it gets the broadcast in clear.
    ///   - confirm: shows the alert and the setup.
    /// - Throws: also `.unknownService` if no service is installed, `.declined` if none was chosen.
    public static func load(
        source: ApplicationSource, applicationID: String, relayMayWatch: Bool = false,
        choose: @escaping @Sendable ([Service]) async -> Service?, confirm: @escaping Confirmation
    ) async throws(ShareKitError) -> BroadcastController {
        let manifest = try await manifest(in: ExtensionStore(), choose)
        return try await load(
            manifest, source: source, applicationID: applicationID, identity: try .ofUser(),
            relayMayWatch: relayMayWatch, confirm: confirm)
    }

    /// The extension that the user chooses.
    static func manifest(
        in store: ExtensionStore, _ choose: @Sendable ([Service]) async -> Service?
    ) async throws(ShareKitError) -> ExtensionManifest {
        let extensions: [ExtensionManifest]
        do throws(ExtensionError) {
            extensions = try store.list().extensions
        } catch {
            throw ShareKitError(.failed, error.description)
        }
        guard !extensions.isEmpty else {
            throw ShareKitError(
                .unknownService, "no service is installed", remedy: "Install one: share extension install LINK.")
        }
        guard let chosen = await choose(extensions.map { Service($0) }) else {
            throw ShareKitError(.declined, "you chose no service")
        }
        guard let found = extensions.first(where: { $0.id.text == chosen.id }) else {
            throw ShareKitError(.unknownService, "\(chosen.id) is not installed")
        }
        return found
    }

    /// Pairs with the preferred service: the alert names it, each time.
    /// - Parameters:
    ///   - id: the service's identifier; nil: the user's own preference (`share pair ID`).
    ///   - source: what is broadcast.
    ///   - applicationID: the app's identifier, in reverse-DNS notation; the service sees it with the source's name.
    ///   - relayMayWatch: a relay is taken, too. It gets the broadcast in clear, so whoever runs it can watch, and it
    ///     decides who else may. ``PeerBroadcast/init(_:over:options:accept:)`` encrypts for viewers instead.
    ///   - confirm: shows the alert and the setup.
    /// - Returns: the controller of the broadcast. `startBroadcast` has to follow within 10 s.
    /// - Throws: `.unknownService`, `.declined`, `.refused`, `.unanswered`, `.busy`, `.untrusted`, `.unreachable`;
    ///   `.relayCouldWatch` for a relay, of which the user is not asked.
    public static func load(
        preferredExtension id: String?, source: ApplicationSource, applicationID: String, relayMayWatch: Bool = false,
        confirm: @escaping Confirmation
    ) async throws(ShareKitError) -> BroadcastController {
        try await load(
            try manifest(of: id), source: source, applicationID: applicationID, identity: try .ofUser(),
            relayMayWatch: relayMayWatch, confirm: confirm)
    }

    static func load(
        _ manifest: ExtensionManifest, source: ApplicationSource, applicationID: String, identity: Identity,
        relayMayWatch: Bool = false, lock: SessionLock = .shared, windows: OwnWindows = .shared,
        confirm: @escaping Confirmation
    ) async throws(ShareKitError) -> BroadcastController {
        let application = ApplicationInfo(id: applicationID, name: source.name, icon: source.icon)
        let destination: BroadcastDestination
        let relay = RefusedRelay(isRefused: !relayMayWatch)
        do throws(BroadcastRefusal) {
            destination = try await pair(with: manifest, application: application, identity: identity) { question in
                if relay.refuses(question.service) { return nil }
                return await confirm(Alert(question, address: manifest.destination, application))
            }
        } catch {
            throw relay.error ?? ShareKitError(error)
        }
        do throws(EndReason) {
            return try BroadcastController(
                destination, CapturedMedia(source), .init(publishing: source), identity: identity,
                background: Background(isHidden: source.hidden, windows: windows, lock: lock))
        } catch {
            await destination.close()
            throw ShareKitError(error)
        }
    }

    private static func manifest(of id: String?) throws(ShareKitError) -> ExtensionManifest {
        let service: ServiceID?
        do throws(ExtensionError) {
            service = if let id { ServiceID(id) } else { try PreferredService().get() }
            if let service { return try ExtensionStore().read(service) }
        } catch {
            throw ShareKitError(.unknownService, error.description)
        }
        throw id.map { ShareKitError(.unknownService, "'\($0)' is no identifier of a service") }
            ?? ShareKitError(.unknownService, "no service is preferred", remedy: "Choose one: share pair ID.")
    }
}

extension BroadcastActivity.Service {
    init(_ manifest: ExtensionManifest) {
        self.init(
            id: manifest.id.text, name: manifest.name, address: manifest.destination,
            icon: manifest.description.icon?.bytes, isRelay: manifest.description.isRelay)
    }
}

extension BroadcastActivity.Alert {
    init(_ question: PairingQuestion, address: String, _ application: ApplicationInfo) {
        let description = question.service
        self.init(
            application: application.name,
            service: .init(
                id: description.id.text, name: description.name, address: address,
                icon: description.icon?.bytes, isRelay: description.isRelay),
            fields: description.fields.map { ($0.name, $0.label) }, terms: description.terms,
            problem: question.refused?.error.description)
    }
}
