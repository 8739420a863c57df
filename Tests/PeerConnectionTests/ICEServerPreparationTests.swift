import ICETransport
import Signaling
import Testing

@testable import PeerConnection

/// The TURN servers of a peer, when their credentials change.
@Suite(.timeLimit(.minutes(1)))
struct ICEServerPreparationTests {
    /// Nothing listens there; a tunnel connects when it is used.
    private func server(_ port: Int, _ name: String) -> ICEServer {
        ICEServer(urls: ["turn:127.0.0.1:\(port)?transport=tcp"], username: name, credential: "secret")
    }

    /// Sessions may still use the tunnel.
    @Test func aTunnelOutlivesItsCredentials() async {
        let preparation = ICEServerPreparation([server(9, "first")])
        let first = await preparation.addresses()
        preparation.use([server(9, "second")])
        let second = await preparation.addresses()
        #expect(first.turn.first?.username == "first" && second.turn.first?.username == "second")
        #expect(!first.turn.isEmpty && first.turn.map(\.port) == second.turn.map(\.port))
        await preparation.close()
    }

    /// A relay that names others each time does not get a thread and a port for each.
    @Test func tunnelsAreLimited() async {
        let preparation = ICEServerPreparation()
        var used: Set<UInt16> = []
        for round in 0..<4 {
            preparation.use((0..<16).map { server(100 + round * 16 + $0, "x") })
            let addresses = await preparation.addresses()
            used.formUnion(addresses.turn.map(\.port))
            #expect(addresses.problems.count == (round < 2 ? 0 : 16), "\(addresses.problems)")
        }
        #expect(!used.isEmpty)
        await preparation.close()
    }
}
