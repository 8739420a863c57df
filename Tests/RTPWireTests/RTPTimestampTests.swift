import MediaCore
import RTPWire
import Testing

@Suite struct RTPTimestampTests {
    @Test(arguments: [0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, 0xFFFF_FFFF] as [UInt32])
    func distanceUndoesAdvancing(raw: UInt32) throws {
        let timestamp = RTPTimestamp(raw)
        for ticks in [-0x8000_0000, -1, 0, 1, 3_000, 0x7FFF_FFFF] {
            #expect(timestamp.distance(to: timestamp.advanced(by: ticks)) == ticks)
        }
        #expect(timestamp.advanced(by: 1).isNewer(than: timestamp))
        #expect(!timestamp.advanced(by: -1).isNewer(than: timestamp))
    }

    @Test func ticksOfAYearDoNotOverflow() throws {
        let year = MediaDuration.seconds(31_536_000)
        #expect(RTPTimestamp.ticks(in: year, clockRate: 90_000) == 31_536_000 * 90_000)
        #expect(RTPTimestamp.duration(ofTicks: 31_536_000 * 90_000, clockRate: 90_000) == year)
    }

    @Test func ticksAreRoundedDown() throws {
        #expect(RTPTimestamp.ticks(in: .microseconds(1), clockRate: 90_000) == 0)
        #expect(RTPTimestamp.ticks(in: .microseconds(-1), clockRate: 90_000) == -1)
        #expect(RTPTimestamp.ticks(in: .milliseconds(20), clockRate: 48_000) == 960)
        #expect(RTPTimestamp(0xFFFF_FFFF).advanced(by: .milliseconds(1), clockRate: 90_000) == RTPTimestamp(89))
        #expect(RTPTimestamp.duration(ofTicks: -90, clockRate: 90_000) == .milliseconds(-1))
    }

    @Test func unwrappingFollowsOverTheWrapAndBack() throws {
        var unwrapper = TimestampUnwrapper()
        #expect(unwrapper.unwrap(RTPTimestamp(0xFFFF_FF00)) == 0xFFFF_FF00)
        #expect(unwrapper.unwrap(RTPTimestamp(0x100)) == 0x1_0000_0100)
        #expect(unwrapper.unwrap(RTPTimestamp(0xFFFF_FFFF)) == 0xFFFF_FFFF)
        #expect(unwrapper.highest == 0x1_0000_0100)
    }
}
