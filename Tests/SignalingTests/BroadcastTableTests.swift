import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

@Suite struct BroadcastTableTests {
    private func broadcast(_ id: BroadcastID = .random()) -> BroadcastResource {
        BroadcastResource(
            ServedBroadcastConfiguration(id: id), delegate: FakeDelegate { _ throws(OfferRefusal) in "" },
            pollTimeout: .seconds(1), counters: SignalingCounters(), in: nil)
    }

    private func code(_ body: () throws(SignalingServerError) -> Void) -> SignalingServerError.Code? {
        do throws(SignalingServerError) {
            try body()
            return nil
        } catch {
            return error.code
        }
    }

    @Test func aFullTableRefusesUntilOneIsRemoved() throws {
        let table = BroadcastTable(capacity: 3)
        let broadcasts = (0..<3).map { _ in broadcast() }
        for each in broadcasts { try table.add(each) }
        let late = broadcast()
        #expect(code { () throws(SignalingServerError) in try table.add(late) } == .tooManyBroadcasts)
        #expect(table.count == 3 && table[late.configuration.id] == nil)
        table.remove(broadcasts[0])
        try table.add(late)
        #expect(table.count == 3 && table[late.configuration.id] === late)
    }

    @Test func anIdentifierIsUsedOnceAtATime() throws {
        let table = BroadcastTable(capacity: 3)
        let first = broadcast()
        let second = broadcast(first.configuration.id)
        try table.add(first)
        #expect(code { () throws(SignalingServerError) in try table.add(second) } == .broadcastExists)
        #expect(table[first.configuration.id] === first)
        table.remove(first)
        try table.add(second)
        // The first one's handle may be late.
        table.remove(first)
        #expect(table[first.configuration.id] === second)
    }

    @Test func aClosedTableTakesNone() throws {
        let table = BroadcastTable(capacity: 3)
        let first = broadcast()
        try table.add(first)
        #expect(table.close().count == 1)
        #expect(code { () throws(SignalingServerError) in try table.add(broadcast()) } == .stopped)
        #expect(table[first.configuration.id] === first)
        table.removeAll()
        #expect(table.count == 0)
    }
}
