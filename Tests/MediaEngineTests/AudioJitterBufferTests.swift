import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct AudioJitterBufferTests {
    private let packet: [UInt8] = [0x48, 1, 2, 3]

    private func insert(_ buffer: inout AudioJitterBuffer, _ sequence: Int64, at milliseconds: Int) {
        packet.withUnsafeBytes {
            buffer.insert(
                sequence, $0, timestamp: RTPTimestamp(UInt32(truncatingIfNeeded: sequence &* 960)),
                now: .at(milliseconds))
        }
    }

    @Test func evenPacketsAreNotHeld() {
        var buffer = AudioJitterBuffer()
        for step in 0..<100 {
            insert(&buffer, Int64(step), at: step * 20)
            let output = buffer.pop(now: .at(step * 20))
            #expect(output != nil && output?.isLost == false && output?.samplesPerChannel == 960)
        }
        #expect(buffer.deadline == nil && buffer.delayMilliseconds == 0)
    }

    @Test func aLostPacketIsRepairedFromTheNextOrConcealed() throws {
        var buffer = AudioJitterBuffer()
        for step in 0..<10 {
            insert(&buffer, Int64(step), at: step * 20)
            _ = buffer.pop(now: .at(step * 20))
        }
        insert(&buffer, 11, at: 220)
        let lost = try require(buffer.pop(now: .at(220)))
        #expect(lost.isLost && lost.useFEC && lost.bytes?.count == 4)
        expect(buffer.pop(now: .at(220))?.isLost == false)
        insert(&buffer, 14, at: 280)
        let concealed = try require(buffer.pop(now: .at(280)))
        #expect(concealed.isLost && !concealed.useFEC && concealed.bytes == nil)
        expect(try require(buffer.pop(now: .at(280))).useFEC)
        expect(buffer.pop(now: .at(280))?.isLost == false)
        #expect(buffer.lost == 3)
    }

    @Test func silenceIsNoLossAndNeedsNoTimer() {
        var buffer = AudioJitterBuffer()
        insert(&buffer, 0, at: 0)
        _ = buffer.pop(now: .at(0))
        #expect(buffer.deadline == nil)
        // The timestamp advanced, the sequence number did not.
        packet.withUnsafeBytes {
            buffer.insert(1, $0, timestamp: RTPTimestamp(48_000 * 60), now: .at(60_000))
        }
        expect(buffer.pop(now: .at(60_000))?.isLost == false)
        #expect(buffer.lost == 0)
    }

    @Test func numbersBelowTheFirstAreAsGoodAsOthers() {
        var buffer = AudioJitterBuffer()
        for step in -1_600 ... -1_590 {
            insert(&buffer, Int64(step + 1_600), at: (step + 1_600) * 20)
            while buffer.pop(now: .at((step + 1_600) * 20)) != nil {}
        }
        var heard = 0
        for sequence in -1_600..<40 {
            let time = 1_000 + (sequence + 1_600) * 20
            insert(&buffer, Int64(sequence), at: time)
            while let output = buffer.pop(now: .at(time + 200)) { heard += output.isLost ? 0 : 1 }
        }
        #expect(heard == 1_640)
    }

    @Test func aLongGapIsNotConcealedToItsEnd() {
        var buffer = AudioJitterBuffer()
        insert(&buffer, 0, at: 0)
        _ = buffer.pop(now: .at(0))
        insert(&buffer, 50, at: 1_000)
        var outputs = 0
        while buffer.pop(now: .at(1_000)) != nil { outputs += 1 }
        #expect(outputs <= 7)
        #expect(buffer.lost == 49)
    }

    @Test func timestampsMayJump() {
        var buffer = AudioJitterBuffer()
        var stamp: UInt32 = 0
        for step in 0..<200_000 {
            stamp &+= 0x7FFF_FFFF
            packet.withUnsafeBytes {
                buffer.insert(Int64(step), $0, timestamp: RTPTimestamp(stamp), now: .at(step))
            }
            while buffer.pop(now: .at(step)) != nil {}
            _ = buffer.deadline
        }
        #expect(buffer.delayMilliseconds <= 200)
    }

    @Test func jitterMakesTheDelayGrowAndQuietLetsItShrink() {
        var buffer = AudioJitterBuffer()
        for step in 0..<300 {
            insert(&buffer, Int64(step), at: step * 20 + (step % 5 == 0 ? 45 : 0))
            while buffer.pop(now: .at(step * 20 + 45)) != nil {}
        }
        #expect((40...60).contains(buffer.delayMilliseconds))
        for step in 300..<1_500 {
            insert(&buffer, Int64(step), at: step * 20)
            while buffer.pop(now: .at(step * 20)) != nil {}
        }
        #expect(buffer.delayMilliseconds == 0)
    }
}
