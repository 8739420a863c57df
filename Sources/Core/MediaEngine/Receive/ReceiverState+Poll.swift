import MediaCore
import RTPWire

extension ReceiverState {
    mutating func poll(now: MediaInstant, into buffer: UnsafeMutableRawBufferPointer) -> ReceiverOutput {
        precondition(buffer.count >= 1_200, "a buffer of \(buffer.count) bytes")
        reports.begin(now: now)
        if let frame = takeFrame(now) { return frame }
        if let audio = takeAudio(now) { return audio }
        if bye == .received {
            bye = .reported
            return .event(.bye)
        }
        if keyframeRequester.takeEvent() { return .event(.keyframeRequested) }
        guard !hasEnded else { return .wait(until: .distantFuture, .nothing) }
        checkMissingPackets(now)
        var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: buffer[0..<1_200]))
        if now >= feedback.deadline, feedback.write(into: &writer, now: now) {
            counters.feedbackPackets &+= 1
            return .rtcp(writer.position)
        }
        if bitrateLimit.isDue, writeLimit(&writer) { return .rtcp(writer.position) }
        if video.isAcknowledgementDue {
            video.isAcknowledgementDue = false
            if writeAcknowledgement(&writer) { return .rtcp(writer.position) }
        }
        if now >= nacks.deadline, writeNack(now, &writer) { return .rtcp(writer.position) }
        if now >= keyframeRequester.deadline, video.stream.ssrc != 0 {
            writePictureLoss(now, &writer)
            return .rtcp(writer.position)
        }
        if video.isKeyframeWanted, video.stream.ssrc != 0 {
            video.isKeyframeWanted = false
            // Without an RPSI, as a recovery frame would not do.
            if writePictureLoss(&writer) { return .rtcp(writer.position) }
        }
        if keyframeRequester.takeRepeat(now: now), writeRequest(&writer) { return .rtcp(writer.position) }
        if reports.isDue(now: now) {
            writeReport(now, &writer)
            return .rtcp(writer.position)
        }
        return wait(now)
    }

    private func wait(_ now: MediaInstant) -> ReceiverOutput {
        var deadline = reports.next ?? .distantFuture
        var reason = ReceiverWakeReason.report
        if feedback.deadline < deadline { (deadline, reason) = (feedback.deadline, .feedback) }
        if nacks.deadline < deadline { (deadline, reason) = (nacks.deadline, .nack) }
        if video.stream.ssrc != 0, keyframeRequester.deadline < deadline {
            (deadline, reason) = (keyframeRequester.deadline, .keyframe)
        }
        if keyframeRequester.repeatDeadline < deadline {
            (deadline, reason) = (keyframeRequester.repeatDeadline, .keyframe)
        }
        if missingPacketDeadline < deadline { (deadline, reason) = (missingPacketDeadline, .keyframe) }
        for index in tracks.indices {
            if let due = tracks[index].buffer?.deadline, due < deadline { (deadline, reason) = (due, .audio) }
        }
        return .wait(until: deadline, reason)
    }

    // MARK: Outgoing RTCP

    /// Writes a NACK for all packets that are due. False if there are none.
    private mutating func writeNack(_ now: MediaInstant, _ writer: inout ByteWriter) -> Bool {
        var nack = NackWriter(senderSSRC: parameters.localSSRC, mediaSSRC: video.stream.ssrc)
        var asked = 0
        nacks.takeDue(now: now) { sequence in
            do throws(BufferFull) {
                try nack.append(SequenceNumber(truncating: sequence), into: &writer)
                asked &+= 1
                return true
            } catch {
                return false
            }
        }
        guard asked > 0 else { return false }
        counters.requests.nacks &+= 1
        counters.requests.nackedPackets &+= asked
        return true
    }

    private mutating func writeLimit(_ writer: inout ByteWriter) -> Bool {
        bitrateLimit.write(senderSSRC: parameters.localSSRC, mediaSSRC: video.stream.ssrc, into: &writer)
    }

    /// Acknowledges the newest long-term reference by RPSI (RFC 4585 section 6.3.3). False if there is none.
    private func writeAcknowledgement(_ writer: inout ByteWriter) -> Bool {
        guard hasReferences, let stream = parameters.video, let pictureID = video.assembler?.newestLongTermReference
        else {
            return false
        }
        let selection = ReferencePictureSelectionIndication(
            senderSSRC: parameters.localSSRC, mediaSSRC: video.stream.ssrc, payloadType: stream.payloadType,
            pictureID: pictureID)
        return (try? selection.write(into: &writer)) != nil
    }

    /// Requests a key frame by PLI; with an RPSI before it, a recovery frame from that long-term reference will do.
    private mutating func writePictureLoss(_ now: MediaInstant, _ writer: inout ByteWriter) {
        _ = writeRequest(&writer)
        keyframeRequester.noteSent(now: now, roundTrip: nacks.roundTrip)
        counters.requests.keyframes &+= 1
    }

    private func writeRequest(_ writer: inout ByteWriter) -> Bool {
        _ = writeAcknowledgement(&writer)
        return writePictureLoss(&writer)
    }

    private func writePictureLoss(_ writer: inout ByteWriter) -> Bool {
        let request = PictureLossIndication(senderSSRC: parameters.localSSRC, mediaSSRC: video.stream.ssrc)
        return (try? request.write(into: &writer)) != nil
    }

    private mutating func writeReport(_ now: MediaInstant, _ writer: inout ByteWriter) {
        var isFlowing = video.stream.statistics.hasNews
        do throws(BufferFull) {
            var report = try ReceiverReport.write(ssrc: parameters.localSSRC, into: &writer)
            if let block = video.stream.statistics.block(ssrc: video.stream.ssrc, now: now) {
                try report.append(block, into: &writer)
            }
            for index in tracks.indices {
                isFlowing = isFlowing || tracks[index].stream.statistics.hasNews
                if let block = tracks[index].stream.statistics.block(ssrc: tracks[index].stream.ssrc, now: now) {
                    try report.append(block, into: &writer)
                }
            }
            try SourceDescription.write(ssrc: parameters.localSSRC, cname: parameters.cname, into: &writer)
            if hasReferences {
                try ExtendedReport.write(ssrc: parameters.localSSRC, time: reports.ntp(at: now), into: &writer)
            }
        } catch {}
        // Repeated, as the first ones may have been lost.
        _ = writeAcknowledgement(&writer)
        _ = writeLimit(&writer)
        counters.reports &+= 1
        reports.noteSent(now: now, interval: isFlowing ? .seconds(1) : parameters.idleReportInterval)
    }

}
