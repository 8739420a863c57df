import MediaCore
import MediaEngine
import RTPWire
import Testing

/// A peer that changes the SSRC of a stream without a word.
@Suite struct ChangedSourceTests {
    private let start = MediaInstant(nanoseconds: 1_000_000_000)
    private let receiver: MediaReceiver

    init() {
        receiver = MediaReceiver(
            ReceiverParameters(
                video: VideoStreamParameters(ssrc: 1, payloadType: 96, rtxSSRC: 2, rtxPayloadType: 97, mid: "0"),
                audio: [AudioStreamParameters(ssrc: 3, payloadType: 111, mid: "1")], extensions: [:], cname: "r",
                localSSRC: 9, usesTransportFeedback: false), seed: 1,
            ntpEpoch: NTPTimestamp(seconds: 1, fraction: 0), now: start)
    }

    /// Handles one packet, and counts what comes out until `now`.
    private func receive(
        _ payload: [UInt8], type: UInt8, ssrc: UInt32, number: UInt16, timestamp: UInt32, after milliseconds: Int
    ) throws -> (frames: Int, packets: Int) {
        let now = start + .milliseconds(milliseconds)
        var result = (frames: 0, packets: 0)
        try withUnsafeTemporaryAllocation(byteCount: 1_500, alignment: 8) { buffer in
            let layout = try WrittenPacketLayout.write(
                RTPHeader(
                    marker: true, payloadType: type, sequenceNumber: SequenceNumber(number),
                    timestamp: RTPTimestamp(timestamp), ssrc: ssrc),
                extensions: HeaderExtensionValues(), ids: [:], into: buffer)
            payload.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: buffer[layout.headerLength...]).copyMemory(from: $0)
            }
            receiver.handleRTP(
                UnsafeRawBufferPointer(rebasing: buffer[..<(layout.headerLength + payload.count)]), now: now)
            for time in [now, now + .milliseconds(200)] {
                poll: while true {
                    switch receiver.poll(now: time, into: buffer) {
                    case .frame: result.frames += 1
                    case .audio(let bytes, _): result.packets += bytes == nil ? 0 : 1
                    case .wait: break poll
                    default: break
                    }
                }
            }
        }
        return result
    }

    /// A key frame of 64 x 48 pixels in one packet.
    private let keyframe: [UInt8] = [0x10, 0x10, 0, 0, 0x9D, 0x01, 0x2A, 64, 0, 48, 0]

    /// RFC 9143 section 9.2: the payload type decides, if there is no MID.
    @Test func aSourceThatWasNotAnnouncedIsTaken() throws {
        #expect(try receive(keyframe, type: 96, ssrc: 71, number: 5, timestamp: 1_000, after: 0).frames == 1)
        #expect(try receive([1, 2], type: 111, ssrc: 73, number: 5, timestamp: 960, after: 0).packets == 1)
        // A retransmission of a packet of the adopted source.
        let payload: [UInt8] = [0, 6] + keyframe
        #expect(try receive(payload, type: 97, ssrc: 72, number: 1, timestamp: 4_000, after: 20).frames == 1)
        // Another one does not take its place while it sends.
        #expect(try receive(keyframe, type: 96, ssrc: 81, number: 9, timestamp: 7_000, after: 40).frames == 0)
        #expect(try receive(keyframe, type: 96, ssrc: 71, number: 7, timestamp: 7_000, after: 60).frames == 1)
    }

    @Test func theAnnouncedSourceIsTakenBeforeOthers() throws {
        #expect(try receive(keyframe, type: 96, ssrc: 71, number: 5, timestamp: 1_000, after: 0).frames == 1)
        #expect(try receive(keyframe, type: 96, ssrc: 1, number: 50, timestamp: 9_000, after: 20).frames == 1)
        #expect(try receive(keyframe, type: 96, ssrc: 71, number: 6, timestamp: 4_000, after: 40).frames == 0)
        #expect(try receive(keyframe, type: 96, ssrc: 1, number: 51, timestamp: 12_000, after: 60).frames == 1)
        // Sources that were announced for each other's sections.
        #expect(try receive([1, 2], type: 111, ssrc: 2, number: 5, timestamp: 960, after: 60).packets == 1)
    }

    @Test func videoGoesOnWithTheNewSourceOnceTheOldOneIsSilent() throws {
        func frames(_ ssrc: UInt32, _ number: UInt16, _ timestamp: UInt32, after milliseconds: Int) throws -> Int {
            try receive(
                keyframe, type: 96, ssrc: ssrc, number: number, timestamp: timestamp, after: milliseconds
            ).frames
        }
        #expect(try frames(1, 100, 1_000, after: 0) == 1)
        // While the first one sends, another one is nobody's.
        #expect(try frames(7, 9, 5, after: 900) == 0)
        #expect(receiver.statistics.drops.unknownSource == 1)
        #expect(try frames(7, 10, 8, after: 1_200) == 1)
        #expect(try frames(1, 101, 4_000, after: 1_300) == 0)
        #expect(try frames(7, 11, 3_008, after: 1_400) == 1)
        #expect(receiver.statistics.requests.keyframes == 0)
    }

    /// 0 is an SSRC, too, and no sign of a stream without packets. Found by fuzzing: the numbers of missing packets got
    /// mixed.
    @Test func theSourceZeroIsOneLikeAnother() throws {
        func frames(_ ssrc: UInt32, _ number: UInt16, after milliseconds: Int) throws -> Int {
            try receive(
                keyframe, type: 96, ssrc: ssrc, number: number, timestamp: UInt32(milliseconds) * 90,
                after: milliseconds
            ).frames
        }
        #expect(try frames(1, 100, after: 0) == 1)
        #expect(try frames(0, 500, after: 1_500) == 1)
        #expect(try frames(7, 20, after: 1_800) == 0)
        #expect(try frames(0, 501, after: 2_100) == 1)
        #expect(try frames(7, 21, after: 3_500) == 1)
    }

    @Test func audioGoesOnWithTheNewSource() throws {
        func packets(_ ssrc: UInt32, _ number: UInt16, _ timestamp: UInt32, after milliseconds: Int) throws -> Int {
            try receive(
                [0xFC, 1, 2], type: 111, ssrc: ssrc, number: number, timestamp: timestamp, after: milliseconds
            ).packets
        }
        #expect(try packets(3, 60_000, 1_000_000, after: 0) == 1)
        #expect(try packets(8, 5, 77, after: 500) == 0)
        #expect(try packets(8, 6, 1_037, after: 1_500) == 1)
    }
}
