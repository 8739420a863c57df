import MediaCore
import RTPWire
import Testing

@Suite struct NTPTimestampTests {
    @Test func unixTimeBecomesTimeSince1900() throws {
        let time = NTPTimestamp(unixSeconds: 0, nanoseconds: 500_000_000)
        #expect(time.seconds == 2_208_988_800)
        #expect(time.fraction == 0x8000_0000)
        #expect(time == NTPTimestamp(seconds: 2_208_988_800, fraction: 0x8000_0000))
    }

    @Test func theMiddleIsWhatRFC3550Shows() throws {
        // RFC 3550 figure 2: 0xb44db705:20000000 is the sender's time, 0xb705:2000 what comes back as LSR.
        #expect(NTPTimestamp(seconds: 0xB44D_B705, fraction: 0x2000_0000).middle == 0xB705_2000)
    }

    @Test(arguments: [0, 1, -1, 1_000_000_000, -1_500_000_000, 86_400_000_000_000, 123_456_789] as [Int64])
    func durationUndoesAdvancingToTheNanosecond(nanoseconds: Int64) throws {
        for seconds in [0, 1, 0x7FFF_FFFF, 0xFFFF_FFFF] as [UInt32] {
            let time = NTPTimestamp(seconds: seconds, fraction: 0x1234_5678)
            let other = time.advanced(by: MediaDuration(nanoseconds: nanoseconds))
            #expect(abs(time.duration(to: other).nanoseconds - nanoseconds) <= 1)
        }
    }

    @Test func theEraEndsIn2036AndNothingHappens() throws {
        let last = NTPTimestamp(seconds: 0xFFFF_FFFF, fraction: 0)
        #expect(last.advanced(by: .seconds(2)) == NTPTimestamp(seconds: 1, fraction: 0))
        #expect(last.duration(to: NTPTimestamp(seconds: 1, fraction: 0)) == .seconds(2))
    }

    @Test func shortIntervalsAreCutAtBothEnds() throws {
        #expect(NTPTimestamp.shortInterval(.seconds(5)) == 0x0005_0000)
        #expect(NTPTimestamp.shortInterval(.milliseconds(5_250)) == 0x0005_4000)
        #expect(NTPTimestamp.shortInterval(.milliseconds(-1)) == 0)
        #expect(NTPTimestamp.shortInterval(.seconds(65_536)) == .max)
        #expect(NTPTimestamp.shortInterval(MediaDuration(nanoseconds: .max)) == .max)
        #expect(NTPTimestamp.duration(ofShortInterval: 0x0005_4000) == .milliseconds(5_250))
    }
}
