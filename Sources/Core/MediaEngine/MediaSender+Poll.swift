public import MediaCore
import RTPWire

extension MediaSender {
    /// The next thing to do; call until it is `.wait`.
    /// - Parameter buffer: gets the packet; at least the maximum packet size, and 1,200 bytes.
    public func poll(now: MediaInstant, into buffer: UnsafeMutableRawBufferPointer) -> SenderOutput {
        precondition(buffer.count >= max(parameters.maximumPacketSize, 1_200), "a buffer of \(buffer.count) bytes")
        if goodbye != .none { return pollGoodbye(buffer) }
        if let event = nextEvent() { return .event(event) }
        if now >= nextReport { return .rtcp(writeReport(now, buffer)) }
        for track in tracks.indices {
            if let length = sendAudio(track, now, buffer) { return .rtp(length) }
        }
        guard parameters.video != nil else { return .wait(until: nextReport, .report) }
        updateStall(now)
        if isStalled { return pollStalled(now, buffer) }
        probe.update(
            now: now, start: parameters.startBitrate, controller: controller,
            isMoving: lastVideo.map { now - $0 < .seconds(2) } ?? false)
        updatePace(now)
        if pacer.maySend(now: now) {
            if let length = sendRepeat(now, buffer) ?? sendVideo(now, buffer) ?? sendRepetition(now, buffer)
                ?? sendProbe(now, buffer) ?? sendTail(now, buffer)
            {
                return .rtp(length)
            }
        }
        return wait(now)
    }

    private func pollGoodbye(_ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput {
        guard goodbye == .due else { return .wait(until: .distantFuture, .ended) }
        goodbye = .said
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
        let change = abs(controller.estimate.bitsPerSecond &- toldEstimate.bitsPerSecond)
        guard change > toldEstimate.bitsPerSecond / 50 else { return nil }
        toldEstimate = controller.estimate
        return .estimateChanged(toldEstimate)
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
        let unasked = min(tail.deadline, repetitions.deadline)
        if unasked < deadline {
            (deadline, reason) = (max(unasked, now + .microseconds(100)), .tailLoss)
        }
        return .wait(until: deadline, reason)
    }

    // MARK: Pace

    private func updatePace(_ now: MediaInstant) {
        var rate = controller.pathRate.bitsPerSecond
        rate = controller.hasFeedback ? rate / 10 &* 11 : rate / 2 &* 5
        if let active = probe.active { rate = max(rate, active.rate.bitsPerSecond) }
        if rate != pacer.rate.bitsPerSecond { pacer.setRate(Bitrate(bitsPerSecond: rate), now: now) }
    }

    /// While nothing comes back, what is sent is probably lost: stop, and try with one packet now and then.
    private func updateStall(_ now: MediaInstant) {
        guard parameters.hasTransportFeedback, controller.hasFeedback, let oldest = sent.oldestUnanswered else {
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
            if let length = sendVideo(now, buffer) ?? sendNewestAgain(now, buffer) {
                // It may be that only some packets in a row were lost: at first a tenth of what the path carried goes on.
                if now - stalledSince < .seconds(1) {
                    let tenth = Bitrate(bitsPerSecond: max(controller.pathRate.bitsPerSecond / 10, 1))
                    let pause = max(tenth.duration(ofBytes: length), .milliseconds(10))
                    nextStallProbe = min(nextStallProbe, now + pause)
                }
                return .rtp(length)
            }
        }
        return .wait(until: min(nextStallProbe, nextReport), .tailLoss)
    }

    // MARK: Packets

    private func sendAudio(
        _ track: Int, _ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard let (bytes, layout) = tracks[track].next else { return nil }
        buffer.copyMemory(from: bytes)
        tracks[track].popNext()
        tracks[track].report.note(payloadBytes: bytes.count &- layout.headerLength, now: now)
        counters.audioPackets &+= 1
        soundRate.note(bytes: bytes.count, now: now)
        return finish(bytes.count, layout, now, buffer, isSound: true)
    }

    private func sendVideo(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard let (bytes, entry) = history.next else { return nil }
        buffer.copyMemory(from: bytes)
        history.noteSent(now: now)
        videoReport.note(payloadBytes: bytes.count &- entry.layout.headerLength, now: now)
        if entry.layout.isMarked { framesLeft &+= 1 }
        tail.noteSent(entry.sequence, now: now, roundTrip: roundTrip, isLossy: pathLoss.repetitions > 0)
        tailTransport = sent.nextSequence
        if entry.repetitions > 0 { repetitions.add(entry.sequence, count: Int(entry.repetitions), now: now) }
        return finish(bytes.count, entry.layout, now, buffer)
    }

    private func sendRepeat(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        while let sequence = resends.popFirst() {
            history.noteQueued(sequence, false)
            if let length = sendAgain(sequence, now, buffer) {
                repeatRate.note(bytes: length, now: now)
                // Lost before: then again and again.
                let resends = Int(history.sent(sequence)?.entry.resends ?? 0)
                repetitions.add(
                    sequence, count: min(affordableRepetitions(1, bytes: length, now), resends), now: now)
                return length
            }
        }
        return nil
    }

    private func sendTail(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard now >= tail.deadline, history.isEmpty else { return nil }
        tail.noteRepeated(now: now, roundTrip: roundTrip, isLossy: pathLoss.repetitions > 0)
        return sendNewestAgain(now, buffer)
    }

    private func sendNewestAgain(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard let newest = history.newestSent else { return nil }
        let transport = sent.nextSequence
        guard let length = sendAgain(newest, now, buffer) else { return nil }
        tailTransport = transport
        return length
    }

    private func sendProbe(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard let active = probe.active, active.left > 0, now < active.until else { return nil }
        // Firefox takes the first SSRC that it sees for the stream's own: repairs come after media. And its picture stands still for good
        // after RTX packets without a payload, so a probe repeats what was sent.
        guard parameters.video?.rtxSSRC != nil, let newest = history.newestSent else { return nil }
        guard let length = sendAgain(largestOfLate(newest), now, buffer) else { return nil }
        counters.probePackets &+= 1
        probe.noteSent(bytes: length)
        return length
    }

    /// Of the packets sent last, one that is large enough for a probe; the newest if there is none.
    private func largestOfLate(_ newest: Int64) -> Int64 {
        for sequence in stride(from: newest, to: newest &- 64, by: -1) {
            guard let (bytes, _) = history.sent(sequence) else { break }
            if bytes.count > 400 { return sequence }
        }
        return newest
    }

    /// Repeats a packet, as RTX if that was agreed.
    func sendAgain(
        _ sequence: Int64, _ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer, isAsked: Bool = true
    ) -> Int? {
        guard let (bytes, entry) = history.sent(sequence), let stream = parameters.video else { return nil }
        var length = bytes.count
        if let ssrc = stream.rtxSSRC, let payloadType = stream.rtxPayloadType {
            do {
                length = try RTX.wrap(
                    RTPPacketView(bytes), of: bytes, ssrc: ssrc, payloadType: payloadType,
                    sequenceNumber: rtxSequence, mid: parameters.extensions.mid.map { ($0, stream.mid) }, into: buffer)
            } catch {
                return nil
            }
            rtxSequence = rtxSequence.next
        } else {
            buffer.copyMemory(from: bytes)
        }
        if isAsked { history.noteResent(sequence, now: now) }
        counters.retransmissions &+= 1
        counters.retransmittedBytes &+= length
        return finish(length, entry.layout, now, buffer)
    }

    /// Puts in what is only known when a packet leaves, and counts it.
    private func finish(
        _ length: Int, _ layout: RTPPacketLayout, _ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer,
        isSound: Bool = false
    ) -> Int {
        let packet = UnsafeMutableRawBufferPointer(rebasing: buffer[0..<length])
        if layout.hasTransportSequence {
            layout.patch(sent.note(bytes: length, now: now, isDuringStall: isStalled, isSound: isSound), in: packet)
        }
        if layout.hasAbsSendTime { layout.patch(AbsoluteSendTime(now), in: packet) }
        pacer.note(bytes: length, now: now)
        sentRate.note(bytes: length, now: now)
        counters.packetsSent &+= 1
        counters.bytesSent &+= length
        return length
    }

    // MARK: Reports

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
                // What a receiver says of its link otherwise; here the sender knows more.
                if hasReferences {
                    try BitrateEstimate.write(
                        senderSSRC: video.ssrc, mediaSSRC: video.ssrc, bitrate: controller.estimate, into: &writer)
                    if let (receiver, time, arrival) = receiverTime {
                        let delay = NTPTimestamp.shortInterval(now - arrival)
                        try ExtendedReport.write(
                            ssrc: video.ssrc, answer: .init(ssrc: receiver, lastTime: time, delay: delay), into: &writer
                        )
                        // Answered once: an old one says less with each report.
                        receiverTime = nil
                    }
                }
                isFlowing = videoReport.hasSentSinceReport
                videoReport.hasSentSinceReport = false
            }
            for index in tracks.indices {
                let report = tracks[index].report
                // A track that has been silent since its last report has nothing new to say.
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
        nextReport = now + (isFlowing ? .seconds(1) : parameters.restingReportInterval)
        counters.reports &+= 1
        return writer.position
    }
}
