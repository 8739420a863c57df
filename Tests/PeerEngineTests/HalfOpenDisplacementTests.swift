import MediaCore
import PeerEngine
import Testing

@Suite struct HalfOpenDisplacementTests {
    private func session(_ id: Int, _ address: String, _ seconds: Int) -> HalfOpenDisplacement.Session<Int, String> {
        .init(id: id, address: address, waited: .seconds(seconds))
    }

    @Test func theOldestOfTheAddressWithMostMakesRoom() {
        let sessions = [session(1, "a", 19), session(2, "b", 5), session(3, "b", 9), session(4, "b", 1)]
        #expect(HalfOpenDisplacement.loser(among: sessions, newcomer: "c") == 3)
    }

    @Test func aSessionThatHasJustBegunKeepsItsPlace() {
        let sessions = [session(1, "a", 2), session(2, "a", 1)]
        #expect(HalfOpenDisplacement.loser(among: sessions, newcomer: "c") == nil)
        #expect(HalfOpenDisplacement.loser(among: sessions + [session(3, "a", 3)], newcomer: "c") == 3)
    }

    /// Otherwise offers of a few addresses would displace each other, and viewers of others with them.
    @Test func anAddressDisplacesNoneThatHasAsFewAsItself() {
        let sessions = [session(1, "a", 9), session(2, "b", 9)]
        #expect(HalfOpenDisplacement.loser(among: sessions, newcomer: "a") == nil)
        #expect(HalfOpenDisplacement.loser(among: sessions, newcomer: "c") != nil)
    }

    @Test func thereIsNobodyToDisplaceWhereAllAreConnected() {
        let none: [HalfOpenDisplacement.Session<Int, String>] = []
        #expect(HalfOpenDisplacement.loser(among: none, newcomer: "a") == nil)
    }
}
