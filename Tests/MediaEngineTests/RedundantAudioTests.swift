import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

/// RED (RFC 2198): how earlier packets are carried again, and when a restored packet is still played.
@Suite struct RedundantAudioTests {
    private static let stream = AudioStreamParameters(ssrc: 3, payloadType: 111, redundantPayloadType: 63, mid: "1")

    private func track(_ stream: AudioStreamParameters = stream, slotBytes: Int = 1_200) -> AudioTrack {
        var random = SeededRandom(seed: 5)
        return AudioTrack(stream, slotBytes: slotBytes, epoch: .at(0), random: &random)
    }

    /// Sends a packet of 20 ms that contains its number.
    private func send(
        _ number: Int, at milliseconds: Int, _ distances: RedundancyDistances, bytes: Int = 20,
        from track: inout AudioTrack
    ) throws -> (type: UInt8, blocks: [[UInt8]], offsets: [Int]) {
        var packet = [UInt8](repeating: UInt8(number), count: bytes)
        packet[0] = 0x48
        let isTaken = withBytes(packet) { track.append($0, captured: .at(milliseconds)) }
        expect(isTaken)
        let waiting = try require(track.takeNext())
        return try withUnsafeTemporaryAllocation(byteCount: 1_500, alignment: 8) { buffer in
            let length = try require(track.write(waiting, distances, ids: HeaderExtensionMap(), into: buffer)).length
            let view = try RTPPacketView(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
            guard view.payloadType == 63 else { return (view.payloadType, [Array(view.payload)], [0]) }
            let blocks = try RedundantPayload(view.payload).map { (Array($0.bytes), $0.timestampOffset) }
            return (63, blocks.map(\.0), blocks.map(\.1))
        }
    }

    @Test func packetsCarryOlderOnesAgain() throws {
        var track = track()
        for number in 0..<40 {
            let sent = try send(number, at: number * 20, .spaced, from: &track)
            let expected = [4, 2, 0].filter { $0 <= number && ($0 < 4 || number >= 4) }
            #expect(sent.type == (number < 2 ? 111 : 63))
            #expect(sent.blocks.map { Int($0[1]) } == expected.map { number - $0 })
            #expect(sent.offsets == expected.map { $0 * 960 })
        }
    }

    @Test func withoutNegotiationOrDistancesPacketsHaveNoRED() throws {
        var plain = track(AudioStreamParameters(ssrc: 3, payloadType: 111, mid: "1"))
        var unwilling = track()
        for number in 0..<5 {
            #expect(try send(number, at: number * 20, .spaced, from: &plain).type == 111)
            #expect(try send(number, at: number * 20, .none, from: &unwilling).type == 111)
        }
    }

    @Test func redundancyCrossesNoSilenceAndFitsIntoThePacket() throws {
        var track = track()
        _ = try send(0, at: 0, .lastTwo, from: &track)
        #expect(try send(1, at: 2_000, .lastTwo, from: &track).type == 111)
        #expect(try send(2, at: 2_020, .lastTwo, from: &track).blocks.count == 2)
        #expect(try send(3, at: 2_040, .lastTwo, bytes: 1_000, from: &track).blocks.count == 3)
        #expect(try send(4, at: 2_060, .lastTwo, bytes: 1_000, from: &track).type == 111)
    }

    private func insert(
        _ buffer: inout AudioJitterBuffer, _ sequence: Int64, at milliseconds: Int, with distances: [Int]
    ) {
        func bytes(_ number: Int64) -> [UInt8] { [0x48, UInt8(truncatingIfNeeded: number)] }
        func stamp(_ number: Int64) -> RTPTimestamp { RTPTimestamp(UInt32(truncatingIfNeeded: number &* 960)) }
        withBytes(bytes(sequence)) {
            buffer.insert(sequence, $0, timestamp: stamp(sequence), now: .at(milliseconds))
        }
        for distance in distances {
            let number = sequence - Int64(distance)
            withBytes(bytes(number)) {
                buffer.insertCopy(
                    $0, timestamp: stamp(number), behind: sequence, by: distance * 960, now: .at(milliseconds))
            }
        }
    }

    /// Plays packets of 20 ms, of which these are lost.
    private func play(_ count: Int, lost: Set<Int>, distances: [Int]) -> (lost: Int, delay: Double, restored: Int) {
        var buffer = AudioJitterBuffer()
        var played: [UInt8] = []
        for step in 0..<count {
            if !lost.contains(step) { insert(&buffer, Int64(step), at: step * 20, with: distances) }
            for millisecond in 0..<20 {
                while let output = buffer.pop(now: .at(step * 20 + millisecond)) {
                    if let bytes = output.bytes, !output.isLost { played.append(bytes[1]) }
                }
            }
        }
        #expect(zip(played, played.dropFirst()).allSatisfy { $0 &- $1 > 200 || $0 < $1 })
        return (buffer.lost, buffer.delayMilliseconds, buffer.restored)
    }

    @Test func aCopyInTheNextPacketIsPlayedAtOnce() {
        let result = play(100, lost: [20, 40, 60, 61], distances: [1, 2])
        #expect(result.lost == 0 && result.restored == 4)
    }

    @Test func withoutLossNoPacketIsDelayed() {
        let result = play(200, lost: [], distances: [2, 4])
        #expect(result.lost == 0 && result.delay == 0 && result.restored == 0)
    }

    @Test func frequentLateCopiesIncreaseTheDelay() {
        // Four in a row of each 40 are lost: packet 0 is restored by the packets 2 and 4 after it, 80 ms late.
        let lost = Set((0..<600).filter { $0 > 20 && $0 % 40 < 4 })
        let result = play(600, lost: lost, distances: [2, 4])
        #expect((80...100).contains(result.delay))
        #expect(result.lost <= 4 && result.restored >= lost.count - 4)
        #expect(play(600, lost: lost, distances: []).lost == lost.count)
    }

    @Test func copiesThatFitNothingAreLeftOut() {
        var buffer = AudioJitterBuffer()
        insert(&buffer, 10, at: 0, with: [])
        withBytes([0x48, 1]) {
            for offset in [-960, 0, 1, 959, 960 * 64, .max] {
                buffer.insertCopy($0, timestamp: RTPTimestamp(0), behind: 10, by: offset, now: .at(0))
            }
            buffer.insertCopy($0, timestamp: RTPTimestamp(0), behind: 0, by: 960, now: .at(0))
        }
        #expect(buffer.restored == 0)
        expect(buffer.pop(now: .at(0))?.isLost == false)
        expect(buffer.pop(now: .at(1_000)) == nil)
    }
}
