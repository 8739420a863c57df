public import MediaCore
import RTPWire

extension MediaSender {
    /// The next output; call until it is `.wait`.
    /// - Parameter buffer: gets the packet; at least the maximum packet size (or 1,200 if that is more) and
    ///   `protectionRoom` bytes.
    public func poll(now: MediaInstant, into buffer: UnsafeMutableRawBufferPointer) -> SenderOutput {
        precondition(
            buffer.count >= max(parameters.maximumPacketSize, 1_200) &+ Self.protectionRoom,
            "a buffer of \(buffer.count) bytes")
        unprotected = nil
        if bye != .none { return pollBye(buffer) }
        if let event = nextEvent() { return .event(event) }
        if now >= nextReport { return .rtcp(writeReport(now, buffer)) }
        for track in tracks.indices {
            if let packet = sendAudio(track, now, buffer) { return packet }
        }
        guard parameters.video != nil else { return .wait(until: nextReport, .report) }
        insertSkipFrame(now)
        updateStall(now)
        if isStalled { return pollStalled(now, buffer) }
        probe.update(
            now: now, start: parameters.startBitrate, bandwidth: bandwidth,
            isMoving: lastVideo.map { now - $0 < .seconds(2) } ?? false)
        updatePace(now)
        if pacer.maySend(now: now) {
            if let packet = sendRetransmission(now, buffer) ?? sendVideo(now, buffer) ?? sendDuplicate(now, buffer)
                ?? sendProbe(now, buffer) ?? sendTail(now, buffer)
            {
                return packet
            }
        }
        return wait(now)
    }

    private func pollBye(_ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput {
        guard bye == .due else { return .wait(until: .distantFuture, .ended) }
        bye = .sent
        var writer = ByteWriter(buffer)
        do throws(BufferFull) {
            let ssrc = parameters.video?.ssrc ?? tracks.first?.stream.ssrc ?? 0
            try ReceiverReport.write(ssrc: ssrc, into: &writer)
            try SourceDescription.write(ssrc: ssrc, cname: parameters.cname, into: &writer)
            if let video = parameters.video { try Goodbye.write(ssrc: video.ssrc, into: &writer) }
            for track in tracks { try Goodbye.write(ssrc: track.stream.ssrc, into: &writer) }
        } catch {}
        return .rtcp(writer.position)
    }

    private func nextEvent() -> SenderEvent? {
        if isKeyframeNeeded {
            isKeyframeNeeded = false
            recoveryNeeded = nil
            return .keyframeNeeded
        }
        if let number = recoveryNeeded {
            recoveryNeeded = nil
            return .recoveryNeeded(from: number)
        }
        let change = abs(bandwidth.estimate.bitsPerSecond &- signalledEstimate.bitsPerSecond)
        guard change > signalledEstimate.bitsPerSecond / 50 else { return nil }
        signalledEstimate = bandwidth.estimate
        return .estimateChanged(signalledEstimate)
    }

    private func wait(_ now: MediaInstant) -> SenderOutput {
        var deadline = nextReport
        var reason = SenderWakeReason.report
        if !history.isEmpty || !resends.isEmpty {
            let next = max(pacer.nextSend(now: now), now + .microseconds(100))
            if next < deadline { (deadline, reason) = (next, .pacing) }
        } else if let active = probe.active, parameters.video?.rtxSSRC != nil, active.left > 0 {
            let next = min(max(pacer.nextSend(now: now), now + .microseconds(100)), active.until)
            if next < deadline { (deadline, reason) = (next, .probe) }
        }
        if let next = keepAlive?.deadline, next < deadline { (deadline, reason) = (next, .keepAlive) }
        let unrequested = min(tail.deadline, duplicates.deadline)
        if unrequested < deadline {
            (deadline, reason) = (max(unrequested, now + .microseconds(100)), .tailLoss)
        }
        return .wait(until: deadline, reason)
    }

    // MARK: Pacing and stalls

    /// The pacing rate: 2.5 x the estimate before the first feedback, then 1.1 x, and at least the rate of an active
    /// probe.
    private func updatePace(_ now: MediaInstant) {
        var rate = bandwidth.pathRate.bitsPerSecond
        rate = bandwidth.hasFeedback ? rate / 10 &* 11 : rate / 2 &* 5
        if let active = probe.active { rate = max(rate, active.rate.bitsPerSecond) }
        if rate != pacer.rate.bitsPerSecond { pacer.setRate(Bitrate(bitsPerSecond: rate), now: now) }
    }

    /// A stall: no feedback for 500 ms or 3 round trips. What is sent then is probably lost, so only single packets are
    /// sent as probes.
    private func updateStall(_ now: MediaInstant) {
        guard parameters.hasTransportFeedback, bandwidth.hasFeedback, let oldest = sent.oldestUnanswered else {
            isStalled = false
            return
        }
        let patience = max(.milliseconds(500), roundTrip * 3)
        let isSilent = now - max(oldest, lastHeard) > patience
        if isSilent, !isStalled {
            counters.stalls &+= 1
            stalledSince = now
        }
        isStalled = isSilent
    }

    private func pollStalled(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput {
        if now >= nextStallProbe {
            nextStallProbe = now + .milliseconds(100)
            if let packet = sendVideo(now, buffer) ?? sendNewestAgain(now, buffer) {
                // Only some packets in a row may have been lost, so during the first second a tenth of the estimate is
                // sent.
                if now - stalledSince < .seconds(1) {
                    let tenth = Bitrate(bitsPerSecond: max(bandwidth.pathRate.bitsPerSecond / 10, 1))
                    let pause = max(tenth.duration(ofBytes: packet.length), .milliseconds(10))
                    nextStallProbe = min(nextStallProbe, now + pause)
                }
                return packet
            }
        }
        return .wait(until: min(nextStallProbe, nextReport), .tailLoss)
    }

    // MARK: Packets

    private func sendAudio(
        _ track: Int, _ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer
    ) -> SenderOutput? {
        guard let (bytes, layout) = tracks[track].next else { return nil }
        buffer.copyMemory(from: bytes)
        tracks[track].popNext()
        tracks[track].report.note(payloadBytes: bytes.count &- layout.headerLength)
        counters.audioPackets &+= 1
        audioRate.note(bytes: bytes.count, now: now)
        return .rtp(finish(bytes.count, layout, now, buffer, isAudio: true))
    }

    /// Sends the last frame again as a skip frame, if the viewer would otherwise ask for a key frame on a still screen.
    private func insertSkipFrame(_ now: MediaInstant) {
        guard let frame = keepAlive?.takeDue(now: now), history.isEmpty else { return }
        // The skip frame is of layer 1, so that no frame refers to it. It shows no change and does not count in the
        // statistics of frames.
        let cut = frame.withUnsafeBytes { packetizer?.append($0, layer: 1, captured: now, to: &history) }
        guard cut != nil else { return }
        counters.skipFrames &+= 1
        keepAlive?.noteMade(lastSequence: history.nextToWrite &- 1)
    }

    private func sendVideo(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput? {
        guard let (bytes, entry) = history.next else { return nil }
        buffer.copyMemory(from: bytes)
        history.noteSent(now: now, transport: sent.nextSequence)
        if keepsProtected { unprotected = entry.sequence }
        videoReport.note(payloadBytes: bytes.count &- entry.layout.headerLength)
        if entry.layout.isMarked {
            if entry.sequence != keepAlive?.lastSequence { framesSent &+= 1 }
            if history.isEmpty { keepAlive?.noteIdle(now: now) }
        }
        tail.noteSent(entry.sequence, now: now, roundTrip: roundTrip, isLossy: pathLoss.duplicateCount > 0)
        tailTransport = sent.nextSequence
        if entry.duplicateCount > 0 { duplicates.add(entry.sequence, count: Int(entry.duplicateCount), now: now) }
        return .rtp(finish(bytes.count, entry.layout, now, buffer))
    }

    private func sendRetransmission(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput? {
        while let sequence = resends.popFirst() {
            history.noteQueued(sequence, false)
            if let packet = sendAgain(sequence, now, buffer) {
                retransmissionRate.note(bytes: packet.length, now: now)
                // The packet was lost before, so duplicates of the retransmission follow.
                let resends = Int(history.sent(sequence)?.entry.resends ?? 0)
                duplicates.add(
                    sequence, count: min(affordableDuplicates(1, bytes: packet.length, now), resends), now: now)
                return packet
            }
        }
        return nil
    }

    private func sendTail(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput? {
        guard now >= tail.deadline, history.isEmpty else { return nil }
        tail.noteProbeSent(now: now, roundTrip: roundTrip, isLossy: pathLoss.duplicateCount > 0)
        return sendNewestAgain(now, buffer)
    }

    private func sendNewestAgain(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput? {
        guard let newest = history.newestSent else { return nil }
        let transport = sent.nextSequence
        guard let packet = sendAgain(newest, now, buffer) else { return nil }
        if case .rtp = packet { tailTransport = transport }
        return packet
    }

    private func sendProbe(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput? {
        guard let active = probe.active, active.left > 0, now < active.until else { return nil }
        // Firefox takes the first SSRC that it sees for that of the media stream, so RTX packets come after media. RTX
        // packets without a payload stop its video for good, so a probe consists of retransmissions.
        guard parameters.video?.rtxSSRC != nil, let newest = history.newestSent else { return nil }
        guard let packet = sendAgain(largestOfLate(newest), now, buffer) else { return nil }
        counters.probePackets &+= 1
        probe.noteSent(bytes: packet.length)
        return packet
    }

    /// One of the last 64 packets that is large enough for a probe (over 400 bytes); the newest if there is none.
    private func largestOfLate(_ newest: Int64) -> Int64 {
        for sequence in stride(from: newest, to: newest &- 64, by: -1) {
            guard let (bytes, _) = history.sent(sequence) else { break }
            if bytes.count > 400 { return sequence }
        }
        return newest
    }

    /// Without RTX, sent packets are stored with their SRTP protection and sent again as they are.
    private var keepsProtected: Bool { parameters.video != nil && parameters.video?.rtxSSRC == nil }

    /// Sends a packet again: as RTX (RFC 4588) if negotiated, else with the very bytes that were sent before.
    /// - Parameter isAsked: false for a duplicate that was not requested; it does not count against the limit of
    ///   retransmissions.
    func sendAgain(
        _ sequence: Int64, _ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer, isAsked: Bool = true
    ) -> SenderOutput? {
        guard let stream = parameters.video else { return nil }
        guard let ssrc = stream.rtxSSRC, let payloadType = stream.rtxPayloadType else {
            return sendProtectedAgain(sequence, now, buffer)
        }
        guard let (bytes, entry) = history.sent(sequence) else { return nil }
        let length: Int
        do {
            length = try RTX.wrap(
                RTPPacketView(bytes), of: bytes, ssrc: ssrc, payloadType: payloadType,
                sequenceNumber: rtxSequence, mid: parameters.extensions[.mid].map { ($0, stream.mid) }, into: buffer)
        } catch {
            return nil
        }
        rtxSequence = rtxSequence.next
        if isAsked { history.noteResent(sequence, now: now) }
        if entry.layout.hasTransportSequence { history.noteRetransmission(sequence, transport: sent.nextSequence) }
        counters.retransmissions &+= 1
        counters.retransmittedBytes &+= length
        return .rtp(finish(length, entry.layout, now, buffer))
    }

    /// Sends the stored protected bytes, as protecting the same sequence number again would use a nonce twice.
    private func sendProtectedAgain(
        _ sequence: Int64, _ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer
    ) -> SenderOutput? {
        guard let (bytes, entry) = history.protected(sequence) else { return nil }
        buffer.copyMemory(from: bytes)
        history.noteResent(sequence, now: now)
        if entry.layout.hasTransportSequence { sent.noteRetransmitted(entry.transport) }
        counters.retransmissions &+= 1
        counters.retransmittedBytes &+= entry.length
        count(entry.length, now)
        return .protected(bytes.count)
    }

    /// Fills in the header extensions that depend on the send time, and counts the packet.
    private func finish(
        _ length: Int, _ layout: RTPPacketLayout, _ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer,
        isAudio: Bool = false
    ) -> Int {
        let packet = UnsafeMutableRawBufferPointer(rebasing: buffer[0..<length])
        if layout.hasTransportSequence {
            layout.patch(sent.note(bytes: length, now: now, isDuringStall: isStalled, isAudio: isAudio), in: packet)
        }
        if layout.hasAbsSendTime { layout.patch(AbsoluteSendTime(now), in: packet) }
        count(length, now)
        return length
    }

    private func count(_ length: Int, _ now: MediaInstant) {
        pacer.note(bytes: length, now: now)
        sentRate.note(bytes: length, now: now)
        counters.packetsSent &+= 1
        counters.bytesSent &+= length
    }

    // MARK: Reports

    /// Writes a compound RTCP packet with the sender reports of all streams that were active.
    private func writeReport(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: buffer[0..<1_200]))
        var isFlowing = false
        do throws(BufferFull) {
            if let video = parameters.video, let stamp = packetizer?.timestamp(at: now) {
                try SenderInfo(
                    ssrc: video.ssrc, ntp: ntp(at: now), rtpTimestamp: stamp, packetCount: videoReport.packets,
                    octetCount: videoReport.octets
                ).write(into: &writer)
                try SourceDescription.write(ssrc: video.ssrc, cname: parameters.cname, into: &writer)
                // REMB in the direction of the media: our own receivers show the sender's estimate.
                if hasReferences {
                    try BitrateEstimate.write(
                        senderSSRC: video.ssrc, mediaSSRC: video.ssrc, bitrate: bandwidth.estimate, into: &writer)
                    if let (receiver, time, arrival) = receiverTime {
                        let delay = NTPTimestamp.shortInterval(now - arrival)
                        try ExtendedReport.write(
                            ssrc: video.ssrc, answer: .init(ssrc: receiver, lastTime: time, delay: delay), into: &writer
                        )
                        // Each receiver reference time (RFC 3611 section 4.4) is answered once, by a DLRR block.
                        receiverTime = nil
                    }
                }
                isFlowing = videoReport.hasSentSinceReport
                videoReport.hasSentSinceReport = false
            }
            for index in tracks.indices {
                let report = tracks[index].report
                // A track that was silent since its last report has nothing new to report.
                guard report.hasSentSinceReport || parameters.video == nil || lastReport == nil else { continue }
                let ssrc = tracks[index].stream.ssrc
                try SenderInfo(
                    ssrc: ssrc, ntp: ntp(at: now), rtpTimestamp: tracks[index].timestamp(at: now),
                    packetCount: report.packets, octetCount: report.octets
                ).write(into: &writer)
                try SourceDescription.write(ssrc: ssrc, cname: parameters.cname, into: &writer)
                isFlowing = isFlowing || report.hasSentSinceReport
                tracks[index].report.hasSentSinceReport = false
            }
        } catch {}
        lastReport = now
        nextReport = now + (isFlowing ? .seconds(1) : parameters.idleReportInterval)
        counters.reports &+= 1
        return writer.position
    }
}
