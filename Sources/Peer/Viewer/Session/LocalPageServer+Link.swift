import ICETransport
public import Identifiers
import PeerConnection
public import Signaling

extension LocalPageServer {
    /// Serves the page of a link. Servers that its host names may have the addresses that they may have for a
    /// ``ViewerSession``.
    /// - Parameters:
    ///   - viewer: the name that the page proposes.
    ///   - report: called on any thread.
    /// - Throws: `SignalingError`; another error if no port can be opened.
    public static func start(
        for link: Link, viewer: String, report: @escaping @Sendable (Event) -> Void
    ) async throws -> LocalPageServer {
        try await LocalPageServer(
            link, viewer: viewer,
            rule: { namers in
                let own = ICEAgent.localInterfaceAddresses()
                let places = namers.map { CandidatePolicy.place(of: $0, own: own) }
                return ServerAddressRule(namedAt: Set(places)).permits
            }, report: report)
    }
}
