import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct PacerTests {
    @Test func aSmallFrameLeavesAtOnceAndALargeOneInSteps() {
        var pacer = Pacer(rate: .kilobits(8_000), now: .at(0))
        // 8 Mbit/s are 1,000 bytes per millisecond, so 40 ms allow 40,000 bytes at once.
        var atOnce = 0
        while pacer.maySend(now: .at(0)) {
            pacer.note(bytes: 1_600, now: .at(0))
            atOnce += 1
        }
        #expect(atOnce == 25)
        let next = pacer.nextSend(now: .at(0))
        #expect(next > .at(4) && next <= .at(6))
        var step = 0
        while pacer.maySend(now: next) {
            pacer.note(bytes: 1_600, now: next)
            step += 1
        }
        #expect((3...4).contains(step))
    }

    @Test func whateverTheRateAThousandPacketsTakeFortyEightMilliseconds() {
        var pacer = Pacer(rate: .kilobits(10_000_000), now: .at(0))
        var now = MediaInstant.at(0)
        var sent = 0
        var wakes = 0
        while sent < 1_000 {
            while sent < 1_000, pacer.maySend(now: now) {
                pacer.note(bytes: 1_200, now: now)
                sent += 1
            }
            if now == .at(0) { #expect(sent == 32) }
            guard sent < 1_000 else { break }
            let next = pacer.nextSend(now: now)
            #expect(next > now)
            now = next
            wakes += 1
        }
        #expect(now > .at(47) && now < .at(49))
        #expect(wakes <= 100)
    }

    @Test func theMeanIsTheRate() {
        var pacer = Pacer(rate: .kilobits(1_000), now: .at(0))
        var sent = 0
        var now = MediaInstant.at(0)
        while now < .at(10_000) {
            while pacer.maySend(now: now) {
                pacer.note(bytes: 1_200, now: now)
                sent += 1_200
            }
            now = max(pacer.nextSend(now: now), now + .microseconds(100))
        }
        #expect((1_240_000...1_262_000).contains(sent))
    }

    @Test func whatIsForgivenDelaysNothing() {
        var pacer = Pacer(rate: .kilobits(200_000), now: .at(0))
        pacer.note(bytes: 78_000, packets: 30, now: .at(0))
        pacer.setRate(.kilobits(2_750), now: .at(0))
        let before = pacer.maySend(now: .at(0))
        pacer.forgive(now: .at(0))
        let after = pacer.maySend(now: .at(0))
        #expect(!before && after)
    }
}
