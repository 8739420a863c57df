import MediaCore
import RTPWire

extension SenderState {
    // MARK: Receiver reports

    mutating func handle(_ blocks: ReportBlocks, _ now: MediaInstant) {
        guard spend(blocks.count &* RTCPWorkLimiter.block, now) else { return }
        for block in blocks { handle(block, now) }
    }

    private mutating func handle(_ block: ReportBlock, _ now: MediaInstant) {
        let isVideo = block.ssrc == parameters.video?.ssrc
        guard isVideo || tracks.contains(where: { $0.stream.ssrc == block.ssrc }) else {
            // Receivers may report on the RTX stream too.
            if block.ssrc != parameters.video?.rtxSSRC { counters.rtcp.unknownSSRC &+= 1 }
            return
        }
        let time = block.roundTripTime(now: rtcp.ntp(at: now))
        if let time { roundTripTimes.noteReport(time) }
        guard isVideo else { return }
        video.noteArrival()
        counters.path.jitter = Double(block.jitter) / 90_000
        counters.path.packetsLost = max(Int(block.cumulativeLost), 0)
        if !parameters.usesTransportFeedback {
            let fraction = Double(block.fractionLost) / 256
            counters.path.fractionLost = fraction
            let packets = video.reportedHighest.map { Int(Int32(bitPattern: block.highestSequence &- $0)) } ?? 0
            let known = min(max(packets, 0), 10_000)
            let lost = Int((Double(known) * fraction).rounded())
            redundancy.loss.note(lost: lost, received: known &- lost)
            bandwidth.noteReceiverReport(
                fraction: fraction, packets: packets, sample: time, now: now, roundTrip: roundTrip,
                sentBitrate: egress.sentBitrate(now: now))
        }
        let advance = video.reportedHighest.map { Int32(bitPattern: block.highestSequence &- $0) } ?? 0
        if advance > 0 { egress.stall.noteHeard(now: now) }
        video.noteHighestReceived(block.highestSequence)
    }

    // MARK: Transport-wide feedback

    /// What one feedback message says of the packets that were sent.
    private struct FeedbackSummary {
        var received = 0
        /// Negative for packets that were reported as lost before, and arrived.
        var lost = 0
        /// When the newest packet that arrived was sent.
        var newestSent: MediaInstant?
        /// No packet was reported as received for the first time.
        var isStale = true
    }

    mutating func handle(_ feedback: TransportFeedback, _ now: MediaInstant) {
        counters.rtcp.feedbackPackets &+= 1
        if feedback.statusCount == 0 { egress.stall.noteEmptyFeedback(end: egress.sent.nextSequence, now: now) }
        let first = egress.sent.unwrapped(feedback.base)
        let recent = egress.sent.recent(now: now)
        // A message that covers more packets than the history holds is forged. Of any other, the part on packets that
        // were sent is used.
        let isUsable = workLimiter.takeFeedback() && feedback.statusCount <= egress.sent.capacity
        let known = isUsable ? (first..<first &+ Int64(feedback.statusCount)).clamped(to: recent) : 0..<0
        counters.rtcp.feedbackUnknown &+= feedback.statusCount &- known.count
        guard !known.isEmpty, spend(RTCPWorkLimiter.feedback &+ known.count, now) else { return }
        var summary = takeStatuses(feedback, of: known, first: first, now)
        guard !summary.isStale || summary.lost > 0 else { return }
        // An outage is not congestion: packets lost before the stall was noticed do not count either.
        if egress.stall.isStalled { summary.lost = 0 }
        egress.stall.noteFeedback(now: now)
        if let newestSent = summary.newestSent { roundTripTimes.noteFeedback(now - newestSent) }
        if egress.sent.isAcknowledged(video.tail.transportSequence) { video.tail.noteConfirmed() }
        bandwidth.noteStatuses(lost: summary.lost, received: summary.received)
        redundancy.loss.note(lost: summary.lost, received: summary.received)
        bandwidth.finishFeedback(now: now, roundTrip: roundTrip, sentBitrate: egress.sentBitrate(now: now))
        counters.path.fractionLost = bandwidth.loss.fraction
        if summary.lost > 0 { noteLost(now) }
    }

    /// Takes in the statuses of the packets `known`; the message begins with the packet `first`.
    private mutating func takeStatuses(
        _ feedback: TransportFeedback, of known: Range<Int64>, first: Int64, _ now: MediaInstant
    ) -> FeedbackSummary {
        var summary = FeedbackSummary()
        let offset = egress.sent.clockOffset(feedback.referenceTime)
        var unreported = known.lowerBound == first ? egress.sent.takeUnreported(before: first) : 0
        var statuses = feedback.makeIterator()
        statuses.skip(Int(known.lowerBound &- first))
        for sequence in known {
            guard let status = statuses.next() else { break }
            egress.sent.noteReported(sequence)
            redundancy.loss.note(isLost: status.arrival == nil)
            let change = egress.sent.take(sequence, hasArrived: status.arrival != nil)
            noteAcknowledged(change, sequence)
            switch change {
            case .nothing: continue
            case .lost(let entry):
                if !entry.isDuringStall { summary.lost &+= 1 }
                video.tail.noteLost(transportSequence: sequence, now: now)
            case .arrivedLate(let entry):
                if !entry.isDuringStall, !entry.isRetransmitted { summary.lost &-= 1 }
                summary.received &+= 1
                summary.isStale = false
            case .arrived(let entry):
                summary.received &+= 1
                summary.isStale = false
                guard let arrival = status.arrival, !entry.isRetransmitted else { continue }
                // The receiver's clock may have any epoch.
                let arrived = MediaInstant(nanoseconds: 0) + (arrival + offset)
                if unreported > 0 {
                    bandwidth.noteUnreported(bytes: unreported, arrival: arrived)
                    unreported = 0
                }
                summary.newestSent = max(summary.newestSent ?? entry.sent, entry.sent)
                // An audio packet does not show that the MID of the video stream arrived, and neither do acknowledged
                // RTX packets, which belong to another stream.
                if !entry.isAudio, retransmitter.packets == 0 { video.noteArrival() }
                bandwidth.noteArrival(
                    bytes: entry.bytes, sent: entry.sent, arrival: arrived, isAudio: entry.isAudio, now: now)
            }
        }
        return summary
    }

    /// Notes the video packet that a receiver has. A receiver that is not our own may ignore RTX packets, so those show
    /// nothing.
    private mutating func noteAcknowledged(_ change: TransportSequenceHistory.StatusChange, _ sequence: Int64) {
        switch change {
        case .arrived(let entry), .arrivedLate(let entry):
            guard !entry.isAudio else { return }
            video.history.noteAcknowledged(entry.video, transportSequence: sequence, trustsRTX: hasReferences)
        case .lost, .nothing: break
        }
    }
}
