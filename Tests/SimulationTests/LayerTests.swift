import MediaCore
import MediaEngine
import RTPWire
import TestSupport
import Testing

/// The stream of a viewer that is sent only some of the frames.
@Suite struct LayeredStreamTests {
    private func sender() -> MediaSender {
        MediaSender(
            SenderParameters(
                video: VideoStreamParameters(ssrc: 1, payloadType: 96, rtxSSRC: 2, rtxPayloadType: 97, mid: "0"),
                audio: [], extensions: HeaderExtensionMap(), cname: "test", startBitrate: .kilobits(20_000),
                maximumBitrate: .kilobits(20_000), usesTransportFeedback: false, historyCapacity: 256),
            seed: 4, ntpEpoch: NTPTimestamp(rawValue: 0), now: MediaInstant(nanoseconds: 1_000_000_000))
    }

    @Test func droppedFramesLeaveNoSequenceGapAndAreNotCounted() throws {
        let sender = sender()
        var packets: [(sequence: UInt16, stamp: RTPTimestamp, descriptor: VP8PayloadDescriptor)] = []
        var now = MediaInstant(nanoseconds: 1_000_000_000)
        let captured = now
        var buffer = [UInt8](repeating: 0, count: 1_500)
        let frame = [UInt8](repeating: 7, count: 100)
        // The layers of the frames made. This viewer does not get every third one, if that is of layer 1.
        let layers: [UInt8] = [0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 0]
        for (index, layer) in layers.enumerated() where index % 3 != 2 || layer == 0 {
            frame.withUnsafeBytes {
                // All frames have the same capture time.
                sender.handleFrame(
                    $0, FrameInfo(of: $0, isKeyframe: index == 0, layer: layer, captured: captured), now: now)
            }
            for _ in 0..<50 {
                now = now + .milliseconds(1)
                let output = buffer.withUnsafeMutableBytes { sender.poll(now: now, into: $0) }
                guard case .rtp(let length) = output else { continue }
                try buffer.withUnsafeBytes {
                    let view = try RTPPacketView(UnsafeRawBufferPointer(rebasing: $0[..<length]))
                    guard view.payloadType == 96 else { return }
                    let (descriptor, _) = try VP8PayloadDescriptor.parse(view.payload)
                    packets.append((view.sequenceNumber.rawValue, view.timestamp, descriptor))
                }
            }
        }
        let sent = layers.enumerated().filter { $0.offset % 3 != 2 || $0.element == 0 }.map(\.element)
        #expect(packets.map { $0.descriptor.temporalLayer } == sent)
        for (before, after) in zip(packets, packets.dropFirst()) {
            #expect(after.sequence == before.sequence &+ 1)
            #expect(after.descriptor.pictureID == before.descriptor.pictureID.map { ($0 + 1) & 0x7FFF })
            let step: UInt8 = after.descriptor.temporalLayer == 0 ? 1 : 0
            #expect(after.descriptor.baseLayerIndex == before.descriptor.baseLayerIndex.map { $0 &+ step })
            #expect(after.stamp.isNewer(than: before.stamp))
        }
        for packet in packets {
            let isUpper = packet.descriptor.temporalLayer == 1
            #expect(packet.descriptor.isLayerSync == isUpper)
            #expect(packet.descriptor.isNonReference == isUpper)
        }
    }
}
