import Identity
import Signaling
import Testing

@testable import Host

@Suite struct HostSessionStateTests {
    private func makeServer() throws -> SignalingServer {
        SignalingServer(
            identity: try .ephemeral(), configuration: .init(host: "127.0.0.1", port: 0))
    }

    @Test func whatWasOpenedIsClosedOnce() throws {
        var state = HostSessionState()
        let server = try makeServer()
        let isOpen = state.open(server)
        #expect(isOpen)
        guard let opened = state.stop(), case .direct = opened.reachability else {
            Issue.record("the host is reached itself")
            return
        }
        #expect(opened.server === server)
        let again = state.stop()
        #expect(again == nil)
    }

    /// Whoever opened it meanwhile closes it.
    @Test func nothingIsOpenedAfterTheEnd() throws {
        var state = HostSessionState()
        _ = state.stop()
        let isOpen = try state.open(makeServer())
        let renewal = state.renewal { ICEServerRenewal { _ in } }
        #expect(!isOpen && state.server == nil && renewal == nil)
    }

    @Test func aSessionHasOneRenewalOfServers() {
        var state = HostSessionState()
        let first = state.renewal { ICEServerRenewal { _ in } }
        let second = state.renewal { ICEServerRenewal { _ in } }
        #expect(first != nil && second === first)
    }

    /// Only a service tells how many watch at a service.
    @Test func aHostThatIsReachedItselfTakesNoNumberFromOthers() {
        var state = HostSessionState()
        let viewers = state.take(ServiceInfo(viewers: 3))
        #expect(viewers == nil && state.publication == nil)
    }
}
