import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

/// `color-space` on its way from a publisher through a relay to a viewer.
@Suite struct ForwardedColorSpaceTests {
    private static let ids: HeaderExtensionMap = [.transportSequence: 1, .mid: 4, .colorSpace: 8]
    private static let full = ColorSpace(primaries: 1, transfer: 13, matrix: 6, range: .full)
    /// A key frame of 64 x 48 pixels and another frame, in one packet.
    private static let keyframe: [UInt8] = [0x10, 0x10, 0, 0, 0x9D, 0x01, 0x2A, 64, 0, 48, 0]
    private static let interframe: [UInt8] = [0x10, 0x11, 0, 0, 1, 2, 3]

    private let source = ForwardedVideo(.vp8, capacity: 16)
    private let publisher: MediaReceiver

    init() {
        publisher = Self.receiver(source)
    }

    private static func receiver(_ forwarded: ForwardedVideo? = nil) -> MediaReceiver {
        MediaReceiver(
            ReceiverParameters(
                video: VideoStreamParameters(ssrc: 1, payloadType: 96, rtxSSRC: 2, rtxPayloadType: 97, mid: "0"),
                audio: [], extensions: ids, cname: "r", localSSRC: 9, usesTransportFeedback: false),
            seed: 1, ntpEpoch: NTPTimestamp(seconds: 1, fraction: 0), forwarded: ForwardedMedia(video: forwarded),
            now: .at(0))
    }

    private static func sender(_ source: ForwardedVideo, _ ids: HeaderExtensionMap) -> MediaSender {
        MediaSender(
            SenderParameters(
                video: VideoStreamParameters(ssrc: 11, payloadType: 100, rtxSSRC: 12, rtxPayloadType: 101, mid: "0"),
                audio: [], extensions: ids, cname: "c", startBitrate: .kilobits(2_500),
                maximumBitrate: .kilobits(8_000), usesTransportFeedback: false),
            forwarding: ForwardedMedia(video: source), seed: 1, ntpEpoch: NTPTimestamp(seconds: 1, fraction: 0),
            now: .at(0))
    }

    /// A packet with this element, in the form that it needs.
    private func packet(_ number: UInt16, _ payload: [UInt8], _ element: [UInt8]) -> [UInt8] {
        let isLong = element.count > 16
        let data: [UInt8] =
            element.isEmpty
            ? [] : isLong ? [8, UInt8(element.count)] + element : [0x80 | UInt8(element.count - 1)] + element
        let padded = data + [UInt8](repeating: 0, count: (4 - data.count % 4) % 4)
        let form: [UInt8] = isLong ? [0x10, 0] : [0xBE, 0xDE]
        let fixed: [UInt8] = [
            0x90, 0x80 | 96, UInt8(number >> 8), UInt8(number & 0xFF), 0, 0, UInt8(number >> 8), UInt8(number & 0xFF),
            0, 0, 0, 1,
        ]
        return fixed + form + [0, UInt8(padded.count / 4)] + padded + payload
    }

    /// What viewers get of the packets: their elements of `color-space`, and their header's form.
    private func forward(_ packets: [[UInt8]], _ ids: HeaderExtensionMap) throws -> [(value: [UInt8]?, form: UInt16)] {
        let viewer = Self.sender(source, ids)
        var forwarded: [(value: [UInt8]?, form: UInt16)] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_600, alignment: 16)
        defer { buffer.deallocate() }
        for (index, packet) in packets.enumerated() {
            let now = MediaInstant.at(index * 40)
            withBytes(packet) { publisher.handleRTP($0, now: now) }
            viewer.handleForwarded(now: now)
            for time in [now, now + .milliseconds(20)] {
                poll: while true {
                    switch viewer.poll(now: time, into: buffer) {
                    case .rtp(let length):
                        let view = try RTPPacketView(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
                        guard view.ssrc == 11 else { continue }
                        forwarded.append((view.extensions.data(of: 8).map { Array($0) }, view.extensions.profile))
                    case .wait: break poll
                    default: break
                    }
                }
            }
        }
        return forwarded
    }

    private static let hdr = [9, 16, 9, 0x20] + [UInt8](repeating: 0xAB, count: 24)

    @Test func fourBytesOf28ArePassedOnInAOneByteHeader() throws {
        let packets = [
            packet(1, Self.keyframe, Self.hdr), packet(2, Self.interframe, []),
            packet(3, Self.interframe, [1, 13, 1, 0x10]), packet(4, Self.keyframe, [255, 3, 77, 0xFF]),
        ]
        let sent = try forward(packets, Self.ids)
        #expect(sent.map(\.value) == [[9, 16, 9, 0x20], nil, [1, 13, 1, 0x10], [2, 2, 2, 0x30]])
        #expect(sent.allSatisfy { $0.form == 0xBEDE })
    }

    @Test func aViewerThatDidNotAskForItGetsNone() throws {
        let sent = try forward([packet(1, Self.keyframe, Self.hdr)], [.transportSequence: 1, .mid: 4])
        #expect(sent.count == 1 && sent[0].value == nil)
    }

    /// Thousands of viewers' entries: see `PacketHistory.Entry`.
    @Test func anEntryHas72Bytes() { #expect(MemoryLayout<PacketHistory.Entry>.stride == 72) }

    // MARK: A viewer

    /// The colours of the frames that a viewer makes of packets.
    private func colors(_ packets: [[UInt8]]) -> [ColorSpace?] {
        let receiver = Self.receiver()
        var colors: [ColorSpace?] = []
        var buffer = [UInt8](repeating: 0, count: 1_500)
        for (index, packet) in packets.enumerated() {
            withBytes(packet) { receiver.handleRTP($0, now: .at(index * 40)) }
            buffer.withUnsafeMutableBytes { buffer in
                poll: while true {
                    switch receiver.poll(now: .at(index * 40), into: buffer) {
                    case .frame(_, let frame): colors.append(frame.colorSpace)
                    case .wait: break poll
                    default: break
                    }
                }
            }
        }
        return colors
    }

    @Test func coloursAreValidUntilAKeyFrameOrOthers() {
        let other = ColorSpace(primaries: 1, transfer: 1, matrix: 1, range: .limited)
        let seen = colors([
            packet(1, Self.keyframe, [1, 13, 6, 0x20]), packet(2, Self.interframe, []),
            packet(3, Self.interframe, [1, 1, 1, 0x10]), packet(4, Self.interframe, []),
            packet(5, Self.keyframe, []), packet(6, Self.interframe, []),
        ])
        #expect(seen == [Self.full, Self.full, other, other, nil, nil])
    }
}
