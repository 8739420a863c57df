import MediaCore
import MediaEngine
import RTPWire

/// Runs a sender on a script of frames, audio, RTCP and time. Polling ends, wait deadlines are in the future, and the
/// estimate stays within its limits; libFuzzer limits the memory.
func fuzzSender(_ bytes: UnsafeRawBufferPointer) {
    var script = Script(bytes)
    let kind = script.byte()
    let video = VideoStreamParameters(
        ssrc: 0x1111, payloadType: 96, rtxSSRC: kind & 1 == 0 ? 0x2222 : nil, rtxPayloadType: kind & 1 == 0 ? 97 : nil,
        mid: "0")
    let sender = MediaSender(
        SenderParameters(
            video: kind & 16 == 0 ? video : nil,
            audio: [
                AudioStreamParameters(
                    ssrc: 0x3333, payloadType: 111, redundantPayloadType: kind & 2 == 0 ? 63 : nil, mid: "1")
            ],
            extensions: [
                .transportSequence: 3, .playoutDelay: 4, .absSendTime: 2, .mid: 1,
                .frameReferences: kind & 4 == 0 ? 5 : nil,
            ],
            cname: "h", startBitrate: .kilobits(2_500), maximumBitrate: .kilobits(20_000),
            usesTransportFeedback: kind & 8 == 0, usesREMB: true, historyCapacity: 256), seed: UInt64(kind),
        ntpEpoch: NTPTimestamp(unixSeconds: 1_700_000_000, nanoseconds: 0), now: scriptStart)
    var now = scriptStart
    var run = SenderRun(sender: sender)
    withUnsafeTemporaryAllocation(byteCount: 1_500, alignment: 8) { buffer in
        while !script.isOver {
            run.step(&script, now, buffer)
            run.drain(now, buffer)
            now = now + script.pause()
        }
        sender.end(now: now)
        run.drain(now, buffer)
    }
    let estimate = sender.estimate
    require(estimate >= .kilobits(100) && estimate <= .kilobits(20_000), "an estimate of \(estimate)")
    _ = sender.statistics
}

private struct SenderRun {
    let sender: MediaSender
    var frames: UInt32 = 0
    var wait = scriptStart
    var stored: UInt32?

    mutating func step(_ script: inout Script, _ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) {
        let choice = script.byte()
        switch choice & 15 {
        case 0...3: frame(&script, choice, now)
        case 4, 5:
            let packet = script.bytes(Int(script.byte()))
            if !packet.isEmpty { sender.handleAudio(packet, track: Int(choice >> 7), captured: now, now: now) }
        case 6, 7: sender.handleRTCP(script.bytes(Int(script.word() & 0x7FF)), now: now)
        case 8: sender.handleRTCP(UnsafeRawBufferPointer(rebasing: feedback(&script, buffer)), now: now)
        case 9, 10: written(buffer, now) { writer throws(BufferFull) in try nack(&script, &writer) }
        case 11:
            written(buffer, now) { writer throws(BufferFull) in
                try PictureLossIndication(senderSSRC: 9, mediaSSRC: 0x1111).write(into: &writer)
            }
        case 12: written(buffer, now) { writer throws(BufferFull) in try report(&script, &writer, now) }
        case 13:
            let rate = Bitrate(bitsPerSecond: Int(script.word()) << Int(script.byte() & 31))
            written(buffer, now) { writer throws(BufferFull) in
                try REMB.write(senderSSRC: 9, mediaSSRC: 0x1111, bitrate: rate, into: &writer)
            }
        case 14:
            let pictureID = script.word()
            written(buffer, now) { writer throws(BufferFull) in
                try ReferencePictureSelectionIndication(
                    senderSSRC: 9, mediaSSRC: 0x1111, payloadType: 96, pictureID: pictureID
                )
                .write(into: &writer)
                if choice & 16 != 0 {
                    try PictureLossIndication(senderSSRC: 9, mediaSSRC: 0x1111).write(into: &writer)
                }
            }
        default: break
        }
        _ = sender.videoEstimate(now: now)
        _ = sender.awaitsAcknowledgement(now: now)
    }

    private mutating func frame(_ script: inout Script, _ choice: UInt8, _ now: MediaInstant) {
        let isKeyframe = choice & 16 != 0
        var references = FrameReferences(number: frames)
        if choice & 32 != 0 {
            references.stored = choice & 64 != 0 ? .golden : .alternate
        } else if choice & 64 != 0, let stored {
            references.source = .init(slot: choice & 128 != 0 ? .golden : .alternate, number: stored)
        }
        if isKeyframe || references.stored != nil { stored = frames }
        frames &+= 1
        let length = Int(script.word()) << Int(choice & 3)
        withUnsafeTemporaryAllocation(byteCount: max(length, 1), alignment: 8) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0x55)
            let frame = UnsafeRawBufferPointer(memory)
            let info = FrameInfo(
                of: frame, isKeyframe: isKeyframe, layer: isKeyframe ? 0 : choice >> 7, captured: now,
                references: references)
            sender.handleFrame(frame, info, now: now)
        }
    }

    /// Builds transport-wide feedback with a valid header, near the numbers of sent packets.
    private func feedback(
        _ script: inout Script, _ buffer: UnsafeMutableRawBufferPointer
    ) -> Slice<UnsafeMutableRawBufferPointer> {
        let chunks = Int(script.byte() & 31)
        let count = script.word()
        let base = UInt16(truncatingIfNeeded: sender.statistics.packetsSent) &- UInt16(script.byte())
        let body = [UInt8(0x8F), 205, 0, 0, 0, 0, 0, 9, 0, 0, 0x11, 0x11, UInt8(base >> 8), UInt8(base & 255)]
        var length = body.count
        buffer.copyBytes(from: body)
        for byte in [UInt8(count >> 8), UInt8(count & 255), script.byte(), script.byte(), script.byte(), 0] {
            buffer[length] = byte
            length += 1
        }
        for byte in script.bytes(chunks * 2 + Int(script.byte())) {
            buffer[length] = byte
            length += 1
        }
        while length & 3 != 0 {
            buffer[length] = 0
            length += 1
        }
        buffer[3] = UInt8(length / 4 - 1)
        return buffer[0..<length]
    }

    private func nack(_ script: inout Script, _ writer: inout ByteWriter) throws(BufferFull) {
        var nack = NackWriter(senderSSRC: 9, mediaSSRC: 0x1111)
        var number = script.word()
        for _ in 0...(script.byte() & 63) {
            try nack.append(SequenceNumber(number), into: &writer)
            number &+= UInt16(script.byte())
        }
    }

    private func report(
        _ script: inout Script, _ writer: inout ByteWriter, _ now: MediaInstant
    ) throws(BufferFull) {
        var report = try ReceiverReport.write(ssrc: 9, into: &writer)
        let lost = script.byte()
        let highest = UInt32(script.word()) << 16 | UInt32(script.word())
        let middle = UInt32(script.word()) << 16 | UInt32(script.word())
        let block = ReportBlock(
            ssrc: 0x1111, fractionLost: lost, cumulativeLost: Int32(lost), highestSequence: highest, jitter: middle,
            lastSenderReport: middle, delaySinceLastSenderReport: highest)
        try report.append(block, into: &writer)
        try ExtendedReport.write(ssrc: 9, time: NTPTimestamp(rawValue: UInt64(middle) << 16), into: &writer)
    }

    private func written(
        _ buffer: UnsafeMutableRawBufferPointer, _ now: MediaInstant,
        _ body: (inout ByteWriter) throws(BufferFull) -> Void
    ) {
        var writer = ByteWriter(buffer)
        try? body(&writer)
        sender.handleRTCP(writer.written, now: now)
    }

    mutating func drain(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) {
        for _ in 0..<mostPolls {
            switch sender.poll(now: now, into: buffer) {
            case .rtp(let length):
                require((12...1_200).contains(length), "a packet of \(length) bytes")
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[0..<length])
                guard (try? RTPPacketView(bytes)) != nil else { fatalError("an RTP packet that cannot be read") }
                sender.keepProtected(bytes)
            case .protected(let length): require((12...1_220).contains(length), "a protected packet of \(length) bytes")
            case .rtcp(let length):
                require((8...1_200).contains(length), "an RTCP packet of \(length) bytes")
                fuzzRTCP(UnsafeRawBufferPointer(rebasing: buffer[0..<length]))
            case .event: break
            case .wait(let until, let reason):
                require(until > now, "the sender waits (\(reason)) for what was \(now - until) ago")
                wait = until
                return
            }
        }
        fatalError("the sender never waits")
    }
}
