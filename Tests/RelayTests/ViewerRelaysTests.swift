import Testing

@testable import Relay

@Suite struct ViewerRelaysTests {
    private let ann = [UInt8](repeating: 1, count: 32)
    private let bob = [UInt8](repeating: 2, count: 32)

    @Test func aViewerIsGoneWhenItHasLeftTheLastRelay() {
        var relays = ViewerRelays()
        let isNew = ["", "b"].map { relays.add(ann, at: $0) }
        #expect(isNew == [true, false])
        // Of one that is not known, what a relay says is passed on.
        let gone = [(ann, ""), (ann, "c"), (ann, "b"), (bob, "b")].map { relays.remove($0, at: $1) }
        #expect(gone == [false, false, true, true])
    }

    @Test func theViewersOfARelayThatIsGoneAreGoneUnlessTheyWatchElsewhere() {
        var relays = ViewerRelays()
        for viewer in [ann, bob] { _ = relays.add(viewer, at: "b") }
        _ = relays.add(bob, at: "c")
        let gone = ["b", "b", "c"].map { relays.remove(relay: $0) }
        #expect(gone == [[ann], [], [bob]])
    }

    @Test func aRelayThatInventsViewersTakesNoMoreThanSoMuch() {
        var relays = ViewerRelays()
        for number in 0..<(ViewerRelays.limit + 10) {
            _ = relays.add((0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }, at: "b")
        }
        _ = relays.add(ann, at: "")
        let count = relays.remove(relay: "b").count
        #expect(count == ViewerRelays.limit)
        let isGone = relays.remove(ann, at: "c")
        #expect(isGone)
    }
}
