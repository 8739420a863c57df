import MediaCore
import RTPWire
import Testing

@Suite struct GoodbyeTests {
    @Test func severalSourcesAndAReasonAreRead() throws {
        try packets([0x82, 203, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 3, 0x65, 0x6E, 0x64]) { found throws in
            guard case .goodbye(let goodbye) = found.first else {
                Issue.record("no goodbye")
                return
            }
            #expect(Array(goodbye) == [1, 2])
            #expect(goodbye.reason.map(Array.init) == Array("end".utf8))
        }
    }

    @Test func aReasonThatIsCutOffIsNoReason() throws {
        try packets([0x81, 203, 0, 2, 0, 0, 0, 1, 4, 0x65, 0x6E, 0x64]) { found throws in
            guard case .goodbye(let goodbye) = found.first else { return }
            #expect(goodbye.reason == nil)
            #expect(Array(goodbye) == [1])
        }
    }
}
