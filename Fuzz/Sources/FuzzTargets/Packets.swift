import MediaCore
import RTPWire
import VideoBitstream

let extensionIDs: HeaderExtensionMap = [
    .transportSequence: 3, .playoutDelay: 4, .absSendTime: 2, .mid: 1, .frameReferences: 5, .colorSpace: 8,
]

/// An RTP packet with its header extensions, as media, RTX and RED.
func fuzzRTP(_ bytes: UnsafeRawBufferPointer) {
    _ = PacketKind(of: bytes)
    guard let packet = try? RTPPacketView(bytes) else { return }
    require(packet.headerLength + packet.payload.count + packet.paddingLength == bytes.count, "parts of an RTP packet")
    for element in packet.extensions { touch(element.data) }
    let values = packet.values(of: extensionIDs)
    touch(values.mid)
    _ = values.isMid("0")
    touch(packet.payload)
    fuzzPayload(packet.payload)
    if let original = try? RTX.unwrap(packet, ssrc: 1, payloadType: 96) { touch(original.payload) }
    // A retransmission unwraps to the same packet.
    withUnsafeTemporaryAllocation(byteCount: bytes.count + 64, alignment: 8) { buffer in
        guard
            let length = try? RTX.wrap(
                packet, of: bytes, ssrc: 2, payloadType: 97, sequenceNumber: SequenceNumber(7), mid: (1, "0"),
                into: buffer)
        else { return }
        let copy = UnsafeRawBufferPointer(rebasing: buffer[0..<length])
        guard let wrapped = try? RTPPacketView(copy),
            let again = try? RTX.unwrap(wrapped, ssrc: packet.ssrc, payloadType: packet.payloadType)
        else { fatalError("a repetition that cannot be read") }
        require(again.sequenceNumber == packet.sequenceNumber, "the number of a repetition")
        require(again.payload.elementsEqual(packet.payload), "the payload of a repetition")
    }
}

/// The data after the header: descriptors and frame headers of each codec, or redundant audio.
func fuzzPayload(_ bytes: UnsafeRawBufferPointer) {
    if let (descriptor, data) = try? VP8PayloadDescriptor.parse(bytes) {
        touch(data)
        _ = descriptor.isFrameStart
        if let header = try? VP8FrameHeader(data) { _ = header.fits(frameLength: data.count) }
    }
    if let header = try? VP8FrameHeader(bytes) { _ = header.fits(frameLength: bytes.count) }
    if let (_, data) = try? VP9PayloadDescriptor.parse(bytes) { touch(data) }
    for codec in VideoCodec.allCases {
        if let configuration = DecoderConfiguration(codec, keyframe: bytes) {
            require(configuration.size.width > 0 && configuration.size.height > 0, "a size of \(codec.rawValue)")
        }
    }
    NALUnits.lengthPrefixed(bytes).withUnsafeBytes { touch($0) }
    for codec in [VideoCodec.h264, .h265] { _ = NALUnits.codedSize(ofSequenceParameterSet: bytes, codec) }
    _ = AV1Units.sequenceSizes(in: bytes)
    for range in VP9Superframe(bytes)?.frames ?? [] {
        let frame = UnsafeRawBufferPointer(rebasing: bytes[range])
        if let size = VP9FrameHeader(frame)?.size { require(size.width > 0 && size.height > 0, "a size of VP9") }
    }
    if let blocks = try? RedundantPayload(bytes) {
        var length = 0
        for block in blocks {
            touch(block.bytes)
            length += block.bytes.count
        }
        require(length <= bytes.count, "redundant blocks of \(length) bytes in \(bytes.count)")
    }
}

func fuzzRTCP(_ bytes: UnsafeRawBufferPointer) {
    var packets = RTCPIterator(bytes)
    var count = 0
    while true {
        count += 1
        require(count <= bytes.count / 4 + 2, "more RTCP packets than there is room for")
        do throws(RTPMalformed) {
            guard let packet = try packets.next() else { return }
            look(at: packet, in: bytes)
        } catch {
            if error.reason == .version || error.reason == .truncated || error.reason == .rtcpLength { return }
        }
    }
}

private func look(at packet: RTCPPacket, in bytes: UnsafeRawBufferPointer) {
    switch packet {
    case .senderReport(let report): require(Array(report.blocks).count == report.blocks.count, "report blocks")
    case .receiverReport(let report):
        for block in report.blocks { _ = block.roundTripTime(now: NTPTimestamp(rawValue: 0x1234_5678_9ABC_DEF0)) }
    case .sourceDescription(let description): for chunk in description { touch(chunk.cname) }
    case .goodbye(let goodbye):
        require(Array(goodbye).count == goodbye.count, "sources of a goodbye")
        touch(goodbye.reason)
    case .nack(let nack): require(Array(nack).count == nack.count, "numbers of a NACK")
    case .pictureLoss, .referenceSelection, .other: break
    case .fullIntraRequest(let request): _ = Array(request)
    case .transportFeedback(let feedback): look(at: feedback)
    case .remb(let estimate):
        require((0...(1 << 62)).contains(estimate.bitrate.bitsPerSecond), "an estimate")
        _ = Array(estimate)
    case .extendedReport(let report): _ = report.dlrr(for: report.ssrc)
    }
}

private func look(at feedback: TransportFeedback) {
    let statuses = Array(feedback)
    require(statuses.count == feedback.statusCount, "\(statuses.count) of \(feedback.statusCount) statuses")
    require(statuses.count { $0.arrival != nil } == feedback.receivedCount, "received statuses")
    for count in [0, 1, 7, 14, statuses.count / 2, statuses.count - 1, statuses.count] where count >= 0 {
        var iterator = feedback.makeIterator()
        iterator.skip(count)
        require(iterator.next() == (count < statuses.count ? statuses[count] : nil), "a status after \(count) skipped")
    }
}
