import MediaCore
import MediaEngine
import RTPWire

/// Runs a receiver on a script of packets and time, and a sender that forwards its media. Polling ends, wait deadlines
/// are in the future, and returned bytes are in the receiver's memory.
func fuzzReceiver(_ bytes: UnsafeRawBufferPointer) {
    var script = Script(bytes)
    let kind = script.byte()
    let codec = VideoCodec.allCases[Int(kind >> 4) % VideoCodec.allCases.count]
    // Every other script has an audio track that is not forwarded.
    let forwarded = ForwardedMedia(
        video: ForwardedVideo(codec, capacity: 64), audio: kind & 1 == 0 ? [ForwardedAudio()] : [])
    let sender = forwarder(forwarded, hasRTX: kind & 2 == 0)
    let receiver = MediaReceiver(
        ReceiverParameters(
            video: VideoStreamParameters(
                ssrc: kind & 1 == 0 ? 0x1111 : 0, codec: codec, payloadType: 96, rtxSSRC: kind & 1 == 0 ? 0x2222 : 0,
                rtxPayloadType: 97, mid: "0"),
            audio: [
                AudioStreamParameters(
                    ssrc: kind & 1 == 0 ? 0x3333 : 0, payloadType: 111, redundantPayloadType: kind & 2 == 0 ? 63 : nil,
                    mid: "1")
            ],
            extensions: [
                .transportSequence: 3, .playoutDelay: 4, .absSendTime: 2, .mid: 1,
                .frameReferences: kind & 4 == 0 ? 5 : nil,
            ],
            cname: "v", localSSRC: 9, usesTransportFeedback: kind & 8 == 0, packetCapacity: 256), seed: 1,
        ntpEpoch: NTPTimestamp(unixSeconds: 1_700_000_000, nanoseconds: 0), forwarded: forwarded, now: scriptStart)
    var now = scriptStart
    var packets = PacketMaker(codec)
    withUnsafeTemporaryAllocation(byteCount: 1_500, alignment: 8) { buffer in
        while !script.isOver {
            step(receiver, sender, &script, &packets, now, buffer)
            drain(receiver, now, buffer)
            sender.handleForwarded(now: now)
            drain(sender, now)
            now = now + script.pause()
        }
    }
    _ = receiver.statistics
    _ = receiver.roundTripTime
}

private func forwarder(_ source: ForwardedMedia, hasRTX: Bool) -> MediaSender {
    MediaSender(
        SenderParameters(
            video: VideoStreamParameters(
                ssrc: 0x1111, payloadType: 96, rtxSSRC: hasRTX ? 0x2222 : nil, rtxPayloadType: hasRTX ? 97 : nil,
                mid: "0"),
            audio: source.audio.map { _ in
                AudioStreamParameters(
                    ssrc: 0x3333, payloadType: 111, redundantPayloadType: hasRTX ? 63 : nil, mid: "1")
            },
            extensions: [.transportSequence: 3, .absSendTime: 2, .mid: 1], cname: "r",
            startBitrate: .kilobits(2_500), maximumBitrate: .kilobits(20_000), usesTransportFeedback: true,
            historyCapacity: 256),
        forwarding: source, seed: 1, ntpEpoch: NTPTimestamp(unixSeconds: 1_700_000_000, nanoseconds: 0),
        now: scriptStart)
}

/// Polls until the sender waits. What it sends is a packet that it can read again.
private func drain(_ sender: MediaSender, _ now: MediaInstant) {
    withUnsafeTemporaryAllocation(byteCount: 1_600, alignment: 8) { room in
        for _ in 0..<10_000 {
            switch sender.poll(now: now, into: room) {
            case .rtp(let length):
                let packet = UnsafeRawBufferPointer(rebasing: room[..<length])
                guard (try? RTPPacketView(packet)) != nil else { fatalError("a forwarded packet is malformed") }
                sender.keepProtected(packet)
            case .protected, .rtcp, .event: continue
            case .wait(let until, _):
                precondition(until > now, "a deadline in the past")
                return
            }
        }
        fatalError("polling does not end")
    }
}

private func step(
    _ receiver: MediaReceiver, _ sender: MediaSender, _ script: inout Script, _ packets: inout PacketMaker,
    _ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer
) {
    let choice = script.byte()
    switch choice & 15 {
    case 0...8:
        if let bytes = try? packets.video(&script, choice, buffer) { receiver.handleRTP(bytes, now: now) }
    case 9, 10:
        if let bytes = try? packets.audio(&script, choice, buffer) { receiver.handleRTP(bytes, now: now) }
    case 11: receiver.handleRTP(script.bytes(Int(script.word() & 0x7FF)), now: now)
    case 12, 13:
        let bytes = script.bytes(Int(script.word() & 0x7FF))
        receiver.handleRTCP(bytes, now: now)
        sender.handleRTCP(bytes, now: now)
    case 14:
        var writer = ByteWriter(buffer)
        let time = NTPTimestamp(rawValue: UInt64(script.word()) << 48 | UInt64(script.word()) << 16)
        let info = SenderInfo(
            ssrc: choice & 16 == 0 ? 0x1111 : 0x3333, ntp: time,
            rtpTimestamp: RTPTimestamp(UInt32(script.word()) << 12), packetCount: 1, octetCount: 1)
        _ = try? info.write(into: &writer)
        try? ExtendedReport.write(
            ssrc: 0x1111, answer: .init(ssrc: 9, lastTime: UInt32(script.word()) << 16, delay: UInt32(script.word())),
            into: &writer)
        receiver.handleRTCP(writer.written, now: now)
    default: receiver.requestKeyframe(now: now)
    }
}

private func drain(_ receiver: MediaReceiver, _ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) {
    for _ in 0..<mostPolls {
        switch receiver.poll(now: now, into: buffer) {
        case .rtcp(let length):
            require((8...1_200).contains(length), "an RTCP packet of \(length) bytes")
            fuzzRTCP(UnsafeRawBufferPointer(rebasing: buffer[0..<length]))
        case .frame(let bytes, _): bytes.forEachSegment { touch($0) }
        case .audio(let bytes, _): touch(bytes)
        case .event: break
        case .wait(let until, let reason):
            return require(until > now, "the receiver waits (\(reason)) for what was \(now - until) ago")
        }
    }
    fatalError("the receiver never waits")
}

/// Makes consecutive packets, unless the script wants others.
private struct PacketMaker {
    private let codec: VideoCodec
    private var sequence: UInt16 = 65_500
    private var timestamp: UInt32 = 0xFFFF_0000
    private var pictureID: UInt16 = 0x7FF0
    private var sound: UInt16 = 65_530
    private var rtx: UInt16 = 1

    init(_ codec: VideoCodec) { self.codec = codec }

    mutating func video(
        _ script: inout Script, _ choice: UInt8, _ buffer: UnsafeMutableRawBufferPointer
    ) throws -> UnsafeRawBufferPointer {
        let shape = script.byte()
        if shape & 0x80 != 0 { sequence &+= UInt16(script.byte()) &- 8 }
        if shape & 0x40 != 0 {
            timestamp &+= UInt32(script.byte()) &* 900
            pictureID = (pictureID &+ 1) & 0x7FFF
        }
        let isStart = shape & 1 != 0
        let kept = LongTermReferencesElement(
            stored: shape & 8 != 0 ? .golden : nil,
            source: shape & 16 != 0 ? .init(slot: .golden, pictureID: pictureID &- UInt16(shape & 3)) : nil)
        let header = RTPHeader(
            marker: shape & 2 != 0, payloadType: 96, sequenceNumber: SequenceNumber(sequence),
            timestamp: RTPTimestamp(timestamp), ssrc: 0x1111)
        let layout = try WrittenPacketLayout.write(
            header,
            extensions: HeaderExtensionValues(
                transportSequence: SequenceNumber(sequence), mid: "0", frameReferences: shape & 24 == 0 ? nil : kept),
            ids: extensionIDs, into: buffer)
        sequence &+= 1
        var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: buffer[layout.headerLength..<1_200]))
        if shape & 32 == 0, codec == .vp8 {
            try VP8PayloadDescriptor(
                isPartitionStart: isStart, pictureID: pictureID, baseLayerIndex: 1, temporalLayer: choice >> 7
            ).write(into: &writer)
            if isStart { try writer.write(uint24: shape & 4 != 0 ? 0x10_00_00 : 0x11_00_00) }
            if isStart, shape & 4 != 0 {
                for byte in [0x9D, 0x01, 0x2A, 0x40, 0x01, 0xF0, 0x00] as [UInt8] { try writer.write(uint8: byte) }
            }
        }
        try writer.write(script.bytes(Int(script.byte() & 31)))
        let packet = UnsafeRawBufferPointer(rebasing: buffer[0..<(layout.headerLength + writer.position)])
        guard choice & 64 != 0 else { return packet }
        return try repeated(packet, buffer)
    }

    /// Wraps a packet for the retransmission stream.
    private mutating func repeated(
        _ packet: UnsafeRawBufferPointer, _ buffer: UnsafeMutableRawBufferPointer
    ) throws -> UnsafeRawBufferPointer {
        let copy = Array(packet)
        rtx &+= 1
        let length = try copy.withUnsafeBytes {
            try RTX.wrap(
                RTPPacketView($0), of: $0, ssrc: 0x2222, payloadType: 97, sequenceNumber: SequenceNumber(rtx),
                into: buffer)
        }
        return UnsafeRawBufferPointer(rebasing: buffer[0..<length])
    }

    mutating func audio(
        _ script: inout Script, _ choice: UInt8, _ buffer: UnsafeMutableRawBufferPointer
    ) throws -> UnsafeRawBufferPointer {
        if choice & 0x80 != 0 { sound &+= UInt16(script.byte()) &- 8 }
        let time = UInt32(sound) &* 960 &+ (choice & 0x40 != 0 ? UInt32(script.word()) << 16 : 0)
        let header = RTPHeader(
            marker: false, payloadType: choice & 0x20 != 0 ? 63 : 111, sequenceNumber: SequenceNumber(sound),
            timestamp: RTPTimestamp(time), ssrc: 0x3333)
        let layout = try WrittenPacketLayout.write(
            header, extensions: HeaderExtensionValues(mid: "1"), ids: extensionIDs, into: buffer)
        sound &+= 1
        var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: buffer[layout.headerLength..<1_200]))
        try writer.write(script.bytes(Int(script.byte() & 63)))
        return UnsafeRawBufferPointer(rebasing: buffer[0..<(layout.headerLength + writer.position)])
    }
}
