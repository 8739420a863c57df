import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

/// Packets as large as Ethernet's, larger ones, and ones that cannot be read, from a publisher through a relay, or to a
/// viewer.
@Suite struct LargePacketTests {
    private static let ids: HeaderExtensionMap = [
        .transportSequence: 1, .playoutDelay: 2, .absSendTime: 3, .mid: 4, .colorSpace: 5,
    ]
    /// The bytes of a packet that a relay's slots have room for (`PacketBatch`).
    private static let slot = 1_664

    private let source = ForwardedVideo(.h264, capacity: 64)

    private static func receiver(_ forwarded: ForwardedVideo? = nil) -> MediaReceiver {
        MediaReceiver(
            ReceiverParameters(
                video: VideoStreamParameters(
                    ssrc: 1, codec: .h264, payloadType: 96, rtxSSRC: 2, rtxPayloadType: 97, mid: "0"),
                audio: [], extensions: [:], cname: "r", localSSRC: 9, usesTransportFeedback: false),
            seed: 1, ntpEpoch: NTPTimestamp(seconds: 1, fraction: 0), forwarded: ForwardedMedia(video: forwarded),
            now: .at(0))
    }

    private static func viewer(_ source: ForwardedVideo, mid: String) -> MediaSender {
        MediaSender(
            SenderParameters(
                video: VideoStreamParameters(ssrc: 11, payloadType: 100, rtxSSRC: 12, rtxPayloadType: 101, mid: mid),
                audio: [], extensions: ids, cname: "c", startBitrate: .kilobits(8_000),
                maximumBitrate: .kilobits(8_000), usesTransportFeedback: false),
            forwarding: ForwardedMedia(video: source), seed: 1, ntpEpoch: NTPTimestamp(seconds: 1, fraction: 0),
            now: .at(0))
    }

    /// A whole frame in a packet: a key frame begins with its parameter set.
    private func packet(_ number: UInt16, isKeyframe: Bool = false, length: Int = 100, type: UInt8? = nil) -> [UInt8] {
        let header: [UInt8] = [
            0x80, 0x80 | 96, UInt8(number >> 8), UInt8(number & 0xFF), 0, 0, UInt8(number >> 8), UInt8(number & 0xFF),
            0, 0, 0, 1,
        ]
        let start = type ?? (isKeyframe ? 0x67 : 0x41)
        return header + [start] + (1..<length).map { UInt8(truncatingIfNeeded: $0) }
    }

    /// What the receiver does of what has come.
    private func poll(_ receiver: MediaReceiver, at time: Int) -> (frames: [Int], requests: Int) {
        var buffer = [UInt8](repeating: 0, count: 1_500)
        var (frames, requests) = ([Int](), 0)
        buffer.withUnsafeMutableBytes { buffer in
            poll: while true {
                switch receiver.poll(now: .at(time), into: buffer) {
                case .frame(let bytes, _): frames.append(bytes.count)
                case .event(.keyframeRequested): requests += 1
                case .wait: break poll
                default: break
                }
            }
        }
        return (frames, requests)
    }

    /// The payloads and lengths of the packets that a viewer gets.
    private func sent(_ viewer: MediaSender, at time: Int) throws -> [(payload: Int, length: Int)] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.slot, alignment: 16)
        defer { buffer.deallocate() }
        viewer.handleForwarded(now: .at(time))
        var result: [(payload: Int, length: Int)] = []
        for step in 0..<20 {
            poll: while true {
                switch viewer.poll(now: .at(time + step * 10), into: buffer) {
                case .rtp(let length):
                    let view = try RTPPacketView(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
                    if view.ssrc == 11 { result.append((view.payload.count, length)) }
                case .wait: break poll
                default: break
                }
            }
        }
        return result
    }

    /// A datagram of 1,500 bytes with IPv4 has 1,450 bytes of payload at most, whatever protects it; with a MID as long
    /// as they come, the viewers' packets fit into their slots, with RTX.
    @Test(arguments: ["0", String(repeating: "m", count: 64)])
    func whatEthernetBringsIsPassedOnWhole(mid: String) throws {
        let receiver = Self.receiver(source)
        let viewer = Self.viewer(source, mid: mid)
        let lengths = [1_400, 1_401, 1_450, ForwardedVideo.largestPayload]
        withBytes(packet(1, isKeyframe: true)) { receiver.handleRTP($0, now: .at(0)) }
        for (index, length) in lengths.enumerated() {
            withBytes(packet(UInt16(index + 2), length: length)) { receiver.handleRTP($0, now: .at(0)) }
        }
        let packets = try sent(viewer, at: 0)
        #expect(packets.map(\.payload) == [100] + lengths)
        #expect(packets.allSatisfy { $0.length - $0.payload < 128 && $0.length + 2 <= Self.slot })
        let got = poll(receiver, at: 0)
        #expect(got.frames == ([100] + lengths).map { $0 + 4 }, "with their start codes")
        #expect(receiver.tooLongPackets == 0)
    }

    @Test func aLongerOneIsCountedAndAKeyFrameIsAskedFor() throws {
        let receiver = Self.receiver(source)
        let viewer = Self.viewer(source, mid: "0")
        withBytes(packet(1, isKeyframe: true)) { receiver.handleRTP($0, now: .at(0)) }
        _ = poll(receiver, at: 0)
        #expect(try sent(viewer, at: 0).count == 1)
        for length in [ForwardedVideo.largestPayload + 1, 1_505, 9_000] {
            withBytes(packet(2, length: length)) { receiver.handleRTP($0, now: .at(400)) }
        }
        withBytes(packet(3)) { receiver.handleRTP($0, now: .at(410)) }
        #expect(receiver.tooLongPackets == 3 && receiver.statistics.drops.tooLong == 3)
        let waiting = poll(receiver, at: 420)
        #expect(waiting.frames.isEmpty && waiting.requests == 1)
        #expect(try sent(viewer, at: 420).isEmpty)
        withBytes(packet(4, isKeyframe: true)) { receiver.handleRTP($0, now: .at(700)) }
        #expect(poll(receiver, at: 700).frames.count == 1)
        #expect(try sent(viewer, at: 700).count == 1)
    }

    /// Type 30 is reserved. A viewer of the relay may know it; it is not a gap for anybody.
    @Test func aPacketThatARelayCannotReadIsPassedOn() throws {
        let receiver = Self.receiver(source)
        let viewer = Self.viewer(source, mid: "0")
        for bytes in [packet(1, isKeyframe: true), packet(2, length: 50, type: 30), packet(3), packet(5)] {
            withBytes(bytes) { receiver.handleRTP($0, now: .at(0)) }
        }
        #expect(try sent(viewer, at: 0).map(\.payload) == [100, 50, 100])
        #expect(receiver.statistics.drops.malformed.reduce(0, +) == 1)
        // What is missing behind it is asked for as ever.
        #expect(receiver.statistics.video.lost == 1)
        withBytes(packet(4)) { receiver.handleRTP($0, now: .at(20)) }
        #expect(try sent(viewer, at: 20).map(\.payload) == [100, 100])
        #expect(poll(receiver, at: 20).requests == 0)
    }

    /// A viewer that cannot read a packet has lost its frame, and goes on with a key frame.
    @Test func aPacketThatAViewerCannotReadCostsAKeyFrame() throws {
        let receiver = Self.receiver()
        for bytes in [packet(1, isKeyframe: true), packet(2)] {
            withBytes(bytes) { receiver.handleRTP($0, now: .at(0)) }
        }
        #expect(poll(receiver, at: 0).frames.count == 2)
        for bytes in [packet(3, type: 30), packet(4)] { withBytes(bytes) { receiver.handleRTP($0, now: .at(400)) } }
        let waiting = poll(receiver, at: 400)
        #expect(waiting.frames.isEmpty && waiting.requests == 1)
        withBytes(packet(5, isKeyframe: true)) { receiver.handleRTP($0, now: .at(500)) }
        #expect(poll(receiver, at: 500).frames.count == 1)
    }
}
