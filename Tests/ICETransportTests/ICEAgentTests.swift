import ICETransport
import MediaCore
import Synchronization
import Testing

@Suite struct ICEAgentTests {
    @Test func twoAgentsOnLoopbackExchangeDatagrams() async throws {
        let loop = NetworkLoop(name: "net-0")
        let pair = try await AgentPair.connected(on: loop)
        let arrived = Expectation("the datagrams")
        pair.onDatagram = { side, datagram in
            if side == .controlled, datagram == [0x80, 1, 2, 3] {
                pair.send([0x80, 9], from: .controlled)
            } else if side == .controlling, datagram == [0x80, 9] {
                arrived.fulfill()
            }
        }
        loop.perform { pair.send([0x80, 1, 2, 3], from: .controlling) }
        try await arrived.wait(on: loop)
        let path = try await loop.run { pair.agent(.controlling).selectedPair }
        #expect(path?.isRelayed == false)
        #expect(path?.remote.isEmpty == false)
        try await pair.close()
        loop.stop()
    }
}
