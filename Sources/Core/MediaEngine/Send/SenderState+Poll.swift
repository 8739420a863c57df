import MediaCore
import RTPWire

extension SenderState {
    mutating func poll(now: MediaInstant, into buffer: UnsafeMutableRawBufferPointer) -> SenderOutput {
        precondition(
            buffer.count >= max(parameters.maximumPacketSize, 1_200) &+ MediaSender.protectionRoom,
            "a buffer of \(buffer.count) bytes")
        video.forgetUnprotected()
        if rtcp.hasEnded {
            let length = rtcp.writeBye(parameters, tracks: tracks, into: buffer)
            return length.map { .rtcp($0) } ?? .wait(until: .distantFuture, .ended)
        }
        if let event = nextEvent() { return .event(event) }
        if now >= rtcp.nextReport { return .rtcp(writeReport(now, buffer)) }
        for track in tracks.indices {
            if let packet = sendAudio(track, now, buffer) { return packet }
        }
        guard parameters.video != nil else { return .wait(until: rtcp.nextReport, .report) }
        if parameters.sealsFrames {
            if video.prepareSkipFrame(now: now) { return .event(.skipFrameDue) }
        } else {
            video.insertSkipFrame(now: now)
        }
        updateStall(now)
        if egress.stall.isStalled { return pollStalled(now, buffer) }
        probe.update(
            now: now, start: parameters.startBitrate, bandwidth: bandwidth,
            isMoving: video.lastFrame.map { now - $0 < .seconds(2) } ?? false)
        updatePace(now)
        if egress.pacer.maySend(now: now) {
            if let packet = sendRetransmission(now, buffer) ?? sendVideo(now, buffer) ?? sendDuplicate(now, buffer)
                ?? sendProbe(now, buffer) ?? sendTail(now, buffer)
            {
                return packet
            }
        }
        return wait(now)
    }

    private mutating func nextEvent() -> SenderEvent? {
        if let event = keyframeRequests.takeEvent() { return event }
        let change = abs(bandwidth.estimate.bitsPerSecond &- signalledEstimate.bitsPerSecond)
        guard change > signalledEstimate.bitsPerSecond / 50 else { return nil }
        signalledEstimate = bandwidth.estimate
        return .estimateChanged(signalledEstimate)
    }

    private mutating func writeReport(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        rtcp.writeReport(
            parameters, video: &video, tracks: &tracks, estimate: bandwidth.estimate, into: buffer, now: now)
    }

    private func wait(_ now: MediaInstant) -> SenderOutput {
        var deadline = rtcp.nextReport
        var reason = SenderWakeReason.report
        if !video.history.isEmpty || !retransmitter.isEmpty {
            let next = max(egress.pacer.nextSend(now: now), now + .microseconds(100))
            if next < deadline { (deadline, reason) = (next, .pacing) }
        } else if let active = probe.active, parameters.video?.rtxSSRC != nil, active.left > 0 {
            let next = min(max(egress.pacer.nextSend(now: now), now + .microseconds(100)), active.until)
            if next < deadline { (deadline, reason) = (next, .probe) }
        }
        if let next = video.keepAlive?.deadline, next < deadline { (deadline, reason) = (next, .keepAlive) }
        let unrequested = min(video.tail.deadline, redundancy.deadline)
        if unrequested < deadline {
            (deadline, reason) = (max(unrequested, now + .microseconds(100)), .tailLoss)
        }
        return .wait(until: deadline, reason)
    }

    // MARK: Pacing and stalls

    /// The pacing rate: 2.5 x the estimate before the first feedback, then 1.1 x, and at least the rate of an active
    /// probe.
    mutating func updatePace(_ now: MediaInstant) {
        if egress.startsUnpaced, bandwidth.hasFeedback {
            // What has arrived already does not delay what follows.
            egress.startsUnpaced = false
            egress.pacer.forgive(now: now)
        }
        var rate = bandwidth.pathRate.bitsPerSecond
        rate =
            bandwidth.hasFeedback
            ? rate / 10 &* 11 : egress.startsUnpaced ? Self.unpacedRate.bitsPerSecond : rate / 2 &* 5
        if let active = probe.active { rate = max(rate, active.rate.bitsPerSecond) }
        if rate != egress.pacer.rate.bitsPerSecond {
            egress.pacer.setRate(Bitrate(bitsPerSecond: rate), now: now)
        }
    }

    private static let unpacedRate = Bitrate.kilobits(200_000)

    mutating func updateStall(_ now: MediaInstant) {
        let hasFeedback = parameters.usesTransportFeedback && bandwidth.hasFeedback
        egress.stall.update(
            oldestUnanswered: hasFeedback ? egress.sent.oldestUnanswered : nil, roundTrip: roundTrip, now: now)
    }

    private mutating func pollStalled(_ now: MediaInstant, _ buffer: UnsafeMutableRawBufferPointer) -> SenderOutput {
        if egress.stall.takeProbe(now: now), let packet = sendVideo(now, buffer) ?? retransmitNewest(now, buffer) {
            egress.stall.noteProbeSent(bytes: packet.length, estimate: bandwidth.pathRate, now: now)
            return packet
        }
        return .wait(until: min(egress.stall.nextProbe, rtcp.nextReport), .tailLoss)
    }
}
