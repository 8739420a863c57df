public import MediaCore
import RTPWire

extension MediaSender {
    /// Takes in one RTCP datagram, compound or reduced-size (RFC 5506), after SRTCP unprotection.
    ///
    /// Its processing is bounded by `RTCPWorkLimiter`, whatever counts the messages claim; what exceeds the limit is
    /// counted and dropped. Only the first transport-wide feedback message of a datagram is used.
    public func handleRTCP(_ bytes: UnsafeRawBufferPointer, now: MediaInstant) {
        var packets = RTCPIterator(bytes)
        var hasMore = true
        offeredReference = nil
        hasFeedbackInDatagram = false
        while hasMore {
            do throws(RTPMalformed) {
                guard let packet = try packets.next(), spend(RTCPWorkLimiter.packet, now) else { return }
                handle(packet, now)
            } catch {
                counters.malformedControl &+= 1
                let isDelimited = error.reason != .truncated && error.reason != .version && error.reason != .rtcpLength
                hasMore = spend(RTCPWorkLimiter.packet, now) && isDelimited
            }
        }
    }

    /// - Returns: false if the peer has exceeded its work limit.
    private func spend(_ units: Int, _ now: MediaInstant) -> Bool {
        guard controlBudget.take(units, now: now) else {
            counters.controlOverBudget &+= 1
            return false
        }
        counters.controlWork &+= units
        return true
    }

    private func handle(_ blocks: ReportBlocks, _ now: MediaInstant) {
        guard spend(blocks.count &* RTCPWorkLimiter.block, now) else { return }
        for block in blocks { handle(block, now) }
    }

    private func handle(_ packet: RTCPPacket, _ now: MediaInstant) {
        switch packet {
        case .receiverReport(let report): handle(report.blocks, now)
        case .senderReport(let report): handle(report.blocks, now)
        case .nack(let nack):
            guard nack.mediaSSRC == parameters.video?.ssrc else { return counters.foreignControl &+= 1 }
            lastHeard = now
            guard spend(nack.count, now) else { return }
            handle(nack, now)
        case .pictureLoss(let loss):
            guard loss.mediaSSRC == parameters.video?.ssrc else { return counters.foreignControl &+= 1 }
            lastHeard = now
            requestKeyframe(now, from: offeredReference)
        case .fullIntraRequest(let request):
            guard request.contains(where: { $0.ssrc == parameters.video?.ssrc }) else {
                return counters.foreignControl &+= 1
            }
            lastHeard = now
            requestKeyframe(now, from: nil)
        case .referenceSelection(let selection):
            guard selection.mediaSSRC == parameters.video?.ssrc else { return counters.foreignControl &+= 1 }
            guard hasReferences, let number = longTermReferences.acknowledge(selection.pictureID) else {
                return counters.referencesUnknown &+= 1
            }
            lastHeard = now
            offeredReference = number
            noteAcknowledged()
        case .transportFeedback(let feedback): handle(feedback, now)
        case .bitrateEstimate(let estimate):
            guard parameters.hasBitrateEstimate, !parameters.hasTransportFeedback, spend(RTCPWorkLimiter.block, now)
            else { return }
            // REMB applies to the streams that it names.
            guard estimate.contains(where: { isCounted($0) }) else { return counters.foreignControl &+= 1 }
            bandwidth.noteReported(
                estimate.bitrate, now: now, roundTrip: roundTrip, sending: sentRate.rate(now: now))
        case .extendedReport(let report):
            guard hasReferences, let time = report.time else { return }
            receiverTime = (report.ssrc, time.middle, now)
        case .sourceDescription, .goodbye, .other: break
        }
    }

    /// Whether a REMB that names this SSRC applies: it names the video stream, or, without video, any audio stream.
    private func isCounted(_ ssrc: UInt32) -> Bool {
        guard let video = parameters.video else { return tracks.contains { $0.stream.ssrc == ssrc } }
        return ssrc == video.ssrc || ssrc == video.rtxSSRC
    }

    // MARK: Reports

    private func handle(_ block: ReportBlock, _ now: MediaInstant) {
        let isVideo = block.ssrc == parameters.video?.ssrc
        guard isVideo || tracks.contains(where: { $0.stream.ssrc == block.ssrc }) else {
            // Receivers may report on the RTX stream too.
            if block.ssrc != parameters.video?.rtxSSRC { counters.foreignControl &+= 1 }
            return
        }
        let time = block.roundTripTime(now: ntp(at: now))
        if let time {
            reportTime =
                reportTime.map { MediaDuration(nanoseconds: ($0.nanoseconds &* 3 &+ time.nanoseconds) / 4) } ?? time
        }
        guard isVideo else { return }
        packetizer?.announcesMid = false
        counters.jitter = Double(block.jitter) / 90_000
        counters.packetsLost = max(Int(block.cumulativeLost), 0)
        let fraction = Double(block.fractionLost) / 256
        if !parameters.hasTransportFeedback {
            counters.fractionLost = fraction
            let packets = reportedHighest.map { Int(Int32(bitPattern: block.highestSequence &- $0)) } ?? 0
            let known = min(max(packets, 0), 10_000)
            let lost = Int((Double(known) * fraction).rounded())
            pathLoss.note(lost: lost, received: known &- lost)
            bandwidth.noteReport(
                fraction: fraction, packets: packets, sample: time, now: now, roundTrip: roundTrip,
                sending: sentRate.rate(now: now))
        }
        reportedHighest = block.highestSequence
        if let waitsFor = tail.waitsFor,
            SequenceNumber(truncating: waitsFor).distance(to: SequenceNumber(truncating: Int64(block.highestSequence)))
                >= 0
        {
            tail.noteConfirmed()
        }
    }

    // MARK: NACK, PLI and FIR

    /// Handles a request for a key frame (PLI or FIR). Ignored while the last key frame may still be on its way.
    /// - Parameter number: a long-term reference that the receiver has acknowledged; nil if it has none.
    private func requestKeyframe(_ now: MediaInstant, from number: UInt32?) {
        counters.keyframeRequests &+= 1
        if number != nil { counters.recoveryRequests &+= 1 }
        if let lastKeyframe {
            let isWaiting = history.nextToSend <= keyframeLastSequence
            if isWaiting || now - lastKeyframe < max(roundTrip, .milliseconds(50)) { return }
        }
        // Retransmissions that wait to be sent are cheaper than a key frame. They are preferred for up to 700 ms.
        if !resends.isEmpty {
            let since = repairsPreferredSince ?? now
            repairsPreferredSince = since
            if now - since < .milliseconds(700) { return }
        }
        repairsPreferredSince = nil
        if let number { recoveryNeeded = number } else { isKeyframeNeeded = true }
    }

    /// Retransmissions of one packet at most. At 50 % loss, one packet in a thousand is then still missing.
    private static let maximumRetransmissions = 10

    private func handle(_ nack: Nack, _ now: MediaInstant) {
        counters.nacks &+= 1
        let patience =
            max(MediaDuration(nanoseconds: roundTrip.nanoseconds / 10 &* 7), .milliseconds(10)) + bandwidth.queueDelay
        // A quarter of a second of retransmissions may wait. A receiver that has used half of the estimate for
        // retransmissions in the last second gets only recent packets again, twice at most; more would stall the video.
        let room = max(32, bandwidth.estimate.bitsPerSecond / 8 / 4 / parameters.maximumPacketSize)
        let isGreedy = retransmissionRate.rate(now: now).bitsPerSecond > bandwidth.estimate.bitsPerSecond / 2
        for number in nack {
            counters.nackedPackets &+= 1
            let sequence =
                history.nextToSend &+ Int64(SequenceNumber(truncating: history.nextToSend).distance(to: number))
            judgeRetransmission(of: sequence, now)
            guard resends.count < room, let (_, entry) = history.sent(sequence), !entry.isQueued,
                entry.resends < Self.maximumRetransmissions,
                !isGreedy || entry.resends < 2 && now - entry.firstSent < .seconds(1) + roundTrip * 2,
                entry.resends == 0 || now - entry.lastSent >= patience, now - entry.lastSent < .seconds(10),
                resends.append(sequence)
            else {
                counters.nacksIgnored &+= 1
                continue
            }
            history.noteQueued(sequence, true)
        }
    }

    /// Pion 3 agrees to RTX, acknowledges RTX packets in its feedback and drops them. A receiver that asks for packets
    /// whose RTX packets have arrived by its own feedback gets the original packets again from now on, and a key frame,
    /// as earlier packets were not stored with their protection.
    private func judgeRetransmission(of sequence: Int64, _ now: MediaInstant) {
        guard parameters.video?.rtxSSRC != nil, parameters.extensions[.frameReferences] == nil,
            let (_, entry) = history.sent(sequence), sent.isAcknowledged(entry.rtxTransport)
        else { return }
        history.noteRetransmission(sequence, transport: -1)
        // Feedback and NACKs that overtake each other cause single cases.
        if let last = lastUselessRetransmission, now - last > .seconds(5) { uselessRetransmissions = 0 }
        lastUselessRetransmission = now
        uselessRetransmissions &+= 1
        guard uselessRetransmissions >= 3 else { return }
        parameters.video?.rtxSSRC = nil
        parameters.video?.rtxPayloadType = nil
        isKeyframeNeeded = true
    }

    // MARK: Transport-wide feedback

    private func handle(_ feedback: TransportFeedback, _ now: MediaInstant) {
        counters.feedbackPackets &+= 1
        let first = sent.unwrapped(feedback.base)
        let recent = sent.recent(now: now)
        // A message that covers more packets than the history holds is forged. Of any other, the part on packets that
        // were sent is used.
        let isUsable = !hasFeedbackInDatagram && feedback.statusCount <= sent.capacity
        let known = isUsable ? (first..<first &+ Int64(feedback.statusCount)).clamped(to: recent) : 0..<0
        hasFeedbackInDatagram = true
        counters.feedbackUnknown &+= feedback.statusCount &- known.count
        guard !known.isEmpty, spend(RTCPWorkLimiter.feedback &+ known.count, now) else { return }
        let offset = sent.clockOffset(feedback.referenceTime)
        var received = 0
        var lost = 0
        var newestSent: MediaInstant?
        var isStale = true
        var unreported = known.lowerBound == first ? sent.takeUnreported(before: first) : 0
        var statuses = feedback.makeIterator()
        statuses.skip(Int(known.lowerBound &- first))
        for sequence in known {
            guard let status = statuses.next() else { break }
            sent.noteReported(sequence)
            pathLoss.note(isLost: status.arrival == nil)
            switch sent.take(sequence, hasArrived: status.arrival != nil) {
            case .nothing: continue
            case .lost(let entry):
                if !entry.isDuringStall { lost &+= 1 }
                if sequence == tailTransport { tail.noteLost(now: now) }
            case .arrivedLate(let entry):
                if !entry.isDuringStall, !entry.isRetransmitted { lost &-= 1 }
                received &+= 1
                isStale = false
            case .arrived(let entry):
                received &+= 1
                isStale = false
                guard let arrival = status.arrival, !entry.isRetransmitted else { continue }
                if unreported > 0 {
                    bandwidth.noteUnreported(
                        bytes: unreported, arrival: MediaInstant(nanoseconds: 0) + (arrival + offset))
                    unreported = 0
                }
                newestSent = max(newestSent ?? entry.sent, entry.sent)
                // An audio packet does not show that the MID of the video stream arrived, and neither do acknowledged
                // RTX packets, which belong to another stream.
                if !entry.isAudio, counters.retransmissions == 0 { packetizer?.announcesMid = false }
                // The receiver's clock may have any epoch.
                bandwidth.noteArrival(
                    bytes: entry.bytes, sent: entry.sent,
                    arrival: MediaInstant(nanoseconds: 0) + (arrival + offset), isAudio: entry.isAudio, now: now)
            }
        }
        guard !isStale || lost > 0 else { return }
        lastHeard = now
        // An outage is not congestion: packets lost before the stall was noticed do not count either.
        if isStalled { lost = 0 }
        isStalled = false
        if let newestSent { noteFeedbackTime(now - newestSent) }
        if sent.isAcknowledged(tailTransport) { tail.noteConfirmed() }
        bandwidth.noteStatuses(lost: lost, received: received)
        pathLoss.note(lost: lost, received: received)
        bandwidth.finishFeedback(now: now, roundTrip: roundTrip, sending: sentRate.rate(now: now))
        counters.fractionLost = bandwidth.loss.fraction
    }

    /// Smooths the time from a packet to its feedback: an upper bound of the round trip time, as it includes the
    /// feedback interval. Decreases take effect at once.
    private func noteFeedbackTime(_ time: MediaDuration) {
        guard time > .zero, time < .seconds(10) else { return }
        feedbackTime =
            feedbackTime.map {
                time < $0 ? time : MediaDuration(nanoseconds: ($0.nanoseconds &* 15 &+ time.nanoseconds) / 16)
            } ?? time
    }
}
