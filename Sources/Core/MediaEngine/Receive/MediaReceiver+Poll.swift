public import MediaCore
import RTPWire

extension MediaReceiver {
    /// The next output; call until it is `.wait`.
    /// - Parameter buffer: gets an RTCP packet; at least 1,200 bytes.
    public func poll(now: MediaInstant, into buffer: UnsafeMutableRawBufferPointer) -> ReceiverOutput {
        precondition(buffer.count >= 1_200, "a buffer of \(buffer.count) bytes")
        if nextReport == nil { nextReport = now + .milliseconds(100) }
        if let frame = takeFrame(now) { return frame }
        if let audio = takeAudio(now) { return audio }
        if pendingBye {
            pendingBye = false
            return .event(.bye)
        }
        if pendingKeyframeEvent {
            pendingKeyframeEvent = false
            return .event(.keyframeRequested)
        }
        guard !hasEnded else { return .wait(until: .distantFuture, .nothing) }
        checkPatience(now)
        var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: buffer[0..<1_200]))
        if now >= feedback.deadline, feedback.write(into: &writer, now: now) {
            counters.feedbackPackets &+= 1
            return .rtcp(writer.position)
        }
        if isAcknowledgementDue {
            isAcknowledgementDue = false
            if writeAcknowledgement(&writer) { return .rtcp(writer.position) }
        }
        if now >= nacks.deadline, writeNack(now, &writer) { return .rtcp(writer.position) }
        if now >= keyframeRequester.deadline, videoSSRC != 0 {
            writePictureLoss(now, &writer)
            return .rtcp(writer.position)
        }
        if now >= pictureLossEcho {
            pictureLossEcho = .distantFuture
            if keyframeRequester.isNeeded, writeRequest(&writer) { return .rtcp(writer.position) }
        }
        if let due = nextReport, now >= due {
            writeReport(now, &writer)
            return .rtcp(writer.position)
        }
        return wait(now)
    }

    private func wait(_ now: MediaInstant) -> ReceiverOutput {
        var deadline = nextReport ?? .distantFuture
        var reason = ReceiverWakeReason.report
        if feedback.deadline < deadline { (deadline, reason) = (feedback.deadline, .feedback) }
        if nacks.deadline < deadline { (deadline, reason) = (nacks.deadline, .nack) }
        if videoSSRC != 0, keyframeRequester.deadline < deadline {
            (deadline, reason) = (keyframeRequester.deadline, .keyframe)
        }
        if pictureLossEcho < deadline { (deadline, reason) = (pictureLossEcho, .keyframe) }
        if patienceDeadline < deadline { (deadline, reason) = (patienceDeadline, .keyframe) }
        for index in tracks.indices {
            if let due = tracks[index].buffer.deadline, due < deadline { (deadline, reason) = (due, .audio) }
        }
        return .wait(until: deadline, reason)
    }

    private func takeAudio(_ now: MediaInstant) -> ReceiverOutput? {
        for index in tracks.indices {
            guard let output = tracks[index].buffer.pop(now: now) else { continue }
            let info = ReceivedAudio(
                track: index, timestamp: output.timestamp, captured: tracks[index].clock.captured(output.timestamp),
                isLost: output.isLost, useFEC: output.useFEC, frames: output.frames)
            return .audio(output.bytes, info)
        }
        return nil
    }

    // MARK: Outgoing RTCP

    /// Writes a NACK for all packets that are due. False if there are none.
    private func writeNack(_ now: MediaInstant, _ writer: inout ByteWriter) -> Bool {
        var nack = NackWriter(senderSSRC: parameters.localSSRC, mediaSSRC: videoSSRC)
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
        counters.nacks &+= 1
        counters.nackedPackets &+= asked
        return true
    }

    /// Acknowledges the newest long-term reference by RPSI (RFC 4585 section 6.3.3). False if there is none.
    private func writeAcknowledgement(_ writer: inout ByteWriter) -> Bool {
        guard hasReferences, let stream = parameters.video, let pictureID = video?.newestLongTermReference else {
            return false
        }
        let selection = ReferenceSelection(
            senderSSRC: parameters.localSSRC, mediaSSRC: videoSSRC, payloadType: stream.payloadType,
            pictureID: pictureID)
        return (try? selection.write(into: &writer)) != nil
    }

    /// Requests a key frame by PLI; with an RPSI before it, a recovery frame from that long-term reference will do.
    private func writePictureLoss(_ now: MediaInstant, _ writer: inout ByteWriter) {
        _ = writeRequest(&writer)
        pictureLossEcho = now + .milliseconds(15)
        keyframeRequester.noteSent(now: now, roundTrip: nacks.roundTrip)
        counters.keyframeRequests &+= 1
        pendingKeyframeEvent = true
    }

    private func writeRequest(_ writer: inout ByteWriter) -> Bool {
        _ = writeAcknowledgement(&writer)
        let request = PictureLossIndication(senderSSRC: parameters.localSSRC, mediaSSRC: videoSSRC)
        return (try? request.write(into: &writer)) != nil
    }

    private func writeReport(_ now: MediaInstant, _ writer: inout ByteWriter) {
        var isFlowing = videoStatistics.hasNews
        do throws(BufferFull) {
            var report = try ReceiverReport.write(ssrc: parameters.localSSRC, into: &writer)
            if let block = videoStatistics.block(ssrc: videoSSRC, now: now) { try report.append(block, into: &writer) }
            for index in tracks.indices {
                isFlowing = isFlowing || tracks[index].statistics.hasNews
                if let block = tracks[index].statistics.block(ssrc: tracks[index].ssrc, now: now) {
                    try report.append(block, into: &writer)
                }
            }
            try SourceDescription.write(ssrc: parameters.localSSRC, cname: parameters.cname, into: &writer)
            if hasReferences {
                try ExtendedReport.write(ssrc: parameters.localSSRC, time: ntp(at: now), into: &writer)
            }
        } catch {}
        // Repeated, as the first acknowledgement may have been lost.
        _ = writeAcknowledgement(&writer)
        counters.reports &+= 1
        nextReport = now + (isFlowing ? .seconds(1) : parameters.idleReportInterval)
    }

    private func ntp(at instant: MediaInstant) -> NTPTimestamp { ntpEpoch.advanced(by: instant - epoch) }

    // MARK: Incoming RTCP

    /// Takes in one RTCP datagram, compound or reduced-size (RFC 5506), after SRTCP unprotection.
    public func handleRTCP(_ bytes: UnsafeRawBufferPointer, now: MediaInstant) {
        guard !hasEnded else { return }
        var packets = RTCPIterator(bytes)
        var hasMore = true
        while hasMore {
            do throws(RTPMalformed) {
                guard let packet = try packets.next() else { return }
                handle(packet, now)
            } catch {
                counters.drops.malformedControl &+= 1
                hasMore = error.reason != .truncated && error.reason != .version && error.reason != .rtcpLength
            }
        }
    }

    private func handle(_ packet: RTCPPacket, _ now: MediaInstant) {
        switch packet {
        case .senderReport(let report):
            if report.info.ssrc == videoSSRC, parameters.video != nil {
                videoStatistics.noteSenderReport(report.info.ntp, now: now)
                videoClock.note(report.info)
                return
            }
            for index in tracks.indices where tracks[index].ssrc == report.info.ssrc {
                tracks[index].statistics.noteSenderReport(report.info.ntp, now: now)
                tracks[index].clock.note(report.info)
            }
        case .goodbye(let goodbye):
            // The session ends with a BYE for the video stream; without video, for an audio stream.
            let isOurs = goodbye.contains { ssrc in
                parameters.video != nil ? ssrc == videoSSRC : tracks.contains { $0.ssrc == ssrc }
            }
            if isOurs, !hasEnded {
                hasEnded = true
                pendingBye = true
            }
        case .bitrateEstimate(let estimate):
            if hasReferences, estimate.contains(videoSSRC) { self.estimate = estimate.bitrate }
        case .extendedReport(let report):
            guard hasReferences, let answer = report.answer(for: parameters.localSSRC),
                let time = answer.roundTripTime(now: ntp(at: now))
            else { return }
            reportTime =
                reportTime.map { MediaDuration(nanoseconds: ($0.nanoseconds &* 3 &+ time.nanoseconds) / 4) } ?? time
            nacks.reportedRoundTrip = reportTime
        case .receiverReport, .sourceDescription, .nack, .pictureLoss, .fullIntraRequest, .referenceSelection,
            .transportFeedback, .other:
            break
        }
    }
}
