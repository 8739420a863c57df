public import MediaCore
import RTPWire

extension MediaSender {
    /// Takes one RTCP datagram in, compound or reduced-size, with SRTCP's protection removed.
    public func handleRTCP(_ bytes: UnsafeRawBufferPointer, now: MediaInstant) {
        var packets = RTCPIterator(bytes)
        var hasMore = true
        offeredReference = nil
        while hasMore {
            do throws(RTPMalformed) {
                guard let packet = try packets.next() else { return }
                handle(packet, now)
            } catch {
                counters.malformedControl &+= 1
                hasMore = error.reason != .truncated && error.reason != .version && error.reason != .rtcpLength
            }
        }
    }

    private func handle(_ packet: RTCPPacket, _ now: MediaInstant) {
        switch packet {
        case .receiverReport(let report): for block in report.blocks { handle(block, now) }
        case .senderReport(let report): for block in report.blocks { handle(block, now) }
        case .nack(let nack):
            guard nack.mediaSSRC == parameters.video?.ssrc else { return counters.foreignControl &+= 1 }
            lastHeard = now
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
            guard hasReferences, let number = ledger.acknowledge(selection.pictureID) else {
                return counters.referencesUnknown &+= 1
            }
            lastHeard = now
            offeredReference = number
            noteAcknowledged()
        case .transportFeedback(let feedback): handle(feedback, now)
        case .bitrateEstimate(let estimate):
            if !parameters.hasTransportFeedback {
                controller.noteReported(estimate.bitrate, now: now, roundTrip: roundTrip)
            }
        case .extendedReport(let report):
            guard hasReferences, let time = report.time else { return }
            receiverTime = (report.ssrc, time.middle, now)
        case .sourceDescription, .goodbye, .other: break
        }
    }

    // MARK: Reports

    private func handle(_ block: ReportBlock, _ now: MediaInstant) {
        let isVideo = block.ssrc == parameters.video?.ssrc
        guard isVideo || tracks.contains(where: { $0.stream.ssrc == block.ssrc }) else {
            // RTX streams may be reported too.
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
            controller.noteReport(
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

    // MARK: Requests

    /// Ignored while the answer to it may already be on its way.
    /// - Parameter number: a kept frame that the other side has; nil if it has none.
    private func requestKeyframe(_ now: MediaInstant, from number: UInt32?) {
        counters.keyframeRequests &+= 1
        if number != nil { counters.recoveryRequests &+= 1 }
        if let lastKeyframe {
            let isWaiting = history.nextToSend <= keyframeLastSequence
            if isWaiting || now - lastKeyframe < max(roundTrip, .milliseconds(50)) { return }
        }
        // Repairs that wait to leave are cheaper than a key frame; for a while.
        if !resends.isEmpty {
            let since = repairsPreferredSince ?? now
            repairsPreferredSince = since
            if now - since < .milliseconds(700) { return }
        }
        repairsPreferredSince = nil
        if let number { recoveryNeeded = number } else { isKeyframeNeeded = true }
    }

    /// Of one packet: with every second one lost, one in a thousand is then still missing.
    private static let mostRepeats = 10

    private func handle(_ nack: Nack, _ now: MediaInstant) {
        counters.nacks &+= 1
        let patience =
            max(MediaDuration(nanoseconds: roundTrip.nanoseconds / 10 &* 7), .milliseconds(10)) + controller.queueDelay
        // A quarter of a second may wait. Who has had half of what the path carries in the last second gets what is new, and
        // twice at most: more would only stop the pictures.
        let room = max(32, controller.estimate.bitsPerSecond / 8 / 4 / parameters.maximumPacketSize)
        let isGreedy = repeatRate.rate(now: now).bitsPerSecond > controller.estimate.bitsPerSecond / 2
        for number in nack {
            counters.nackedPackets &+= 1
            let sequence =
                history.nextToSend &+ Int64(SequenceNumber(truncating: history.nextToSend).distance(to: number))
            guard resends.count < room, let (_, entry) = history.sent(sequence), !entry.isQueued,
                entry.resends < Self.mostRepeats,
                !isGreedy || entry.resends < 2 && now - entry.firstSent < .seconds(1) + roundTrip * 2,
                entry.resends == 0 || now - entry.lastSent >= patience, now - entry.lastSent < .seconds(10),
                resends.append(sequence)
            else {
                counters.nackedInVain &+= 1
                continue
            }
            history.noteQueued(sequence, true)
        }
    }

    // MARK: Transport-wide feedback

    private func handle(_ feedback: TransportFeedback, _ now: MediaInstant) {
        counters.feedbackPackets &+= 1
        let offset = sent.clockOffset(feedback.referenceTime)
        var received = 0
        var lost = 0
        var newestSent: MediaInstant?
        var isStale = true
        var unreported = sent.extended(feedback.base).map { sent.takeUnreported(before: $0) } ?? 0
        for status in feedback {
            guard let sequence = sent.extended(status.sequence), sent.isRecent(sequence, now: now) else {
                counters.feedbackUnknown &+= 1
                continue
            }
            sent.noteReported(sequence)
            pathLoss.note(isLost: status.arrival == nil)
            switch sent.take(sequence, hasArrived: status.arrival != nil) {
            case .nothing: continue
            case .lost(let entry):
                if !entry.isDuringStall { lost &+= 1 }
                if sequence == tailTransport { tail.noteLost(now: now) }
            case .arrivedLate(let entry):
                if !entry.isDuringStall { lost &-= 1 }
                received &+= 1
                isStale = false
            case .arrived(let entry):
                received &+= 1
                isStale = false
                guard let arrival = status.arrival else { continue }
                if unreported > 0 {
                    controller.noteUnreported(
                        bytes: unreported, arrival: MediaInstant(nanoseconds: 0) + (arrival + offset))
                    unreported = 0
                }
                newestSent = max(newestSent ?? entry.sent, entry.sent)
                // Not by sound, and not by what may be a repetition: that is another stream.
                if !entry.isSound, counters.retransmissions == 0 { packetizer?.announcesMid = false }
                // Any zero will do for the other side's clock.
                controller.noteArrival(
                    bytes: entry.bytes, sent: entry.sent,
                    arrival: MediaInstant(nanoseconds: 0) + (arrival + offset), isSound: entry.isSound, now: now)
            }
        }
        guard !isStale || lost > 0 else { return }
        lastHeard = now
        // An outage is no congestion: what was lost before the stall was noticed does not count either.
        if isStalled { lost = 0 }
        isStalled = false
        if let newestSent { noteFeedbackTime(now - newestSent) }
        if sent.isAcknowledged(tailTransport) { tail.noteConfirmed() }
        controller.noteFates(lost: lost, received: received)
        pathLoss.note(lost: lost, received: received)
        controller.finishFeedback(now: now, roundTrip: roundTrip, sending: sentRate.rate(now: now))
        counters.fractionLost = controller.loss.fraction
    }

    /// The way there, the wait for the feedback and the way back: an upper bound of the round trip.
    private func noteFeedbackTime(_ time: MediaDuration) {
        guard time > .zero, time < .seconds(10) else { return }
        feedbackTime =
            feedbackTime.map {
                time < $0 ? time : MediaDuration(nanoseconds: ($0.nanoseconds &* 15 &+ time.nanoseconds) / 16)
            } ?? time
    }
}
