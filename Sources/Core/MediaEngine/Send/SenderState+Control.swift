import MediaCore
import RTPWire

extension SenderState {
    mutating func handleRTCP(_ bytes: UnsafeRawBufferPointer, now: MediaInstant) {
        takeRTCP(bytes, now)
        reviewRequest(now)
    }

    private mutating func takeRTCP(_ bytes: UnsafeRawBufferPointer, _ now: MediaInstant) {
        var packets = RTCPIterator(bytes)
        var hasMore = true
        keyframeRequests.beginDatagram()
        workLimiter.beginDatagram()
        while hasMore {
            do throws(RTPMalformed) {
                guard let packet = try packets.next(), spend(RTCPWorkLimiter.packet, now) else { return }
                handle(packet, now)
            } catch {
                counters.rtcp.malformed &+= 1
                let isDelimited = error.reason != .truncated && error.reason != .version && error.reason != .rtcpLength
                hasMore = spend(RTCPWorkLimiter.packet, now) && isDelimited
            }
        }
    }

    /// - Returns: false if the peer has exceeded its work limit.
    mutating func spend(_ units: Int, _ now: MediaInstant) -> Bool {
        guard workLimiter.take(units, now: now) else {
            counters.rtcp.overLimit &+= 1
            return false
        }
        counters.rtcp.work &+= units
        return true
    }

    private mutating func handle(_ packet: RTCPPacket, _ now: MediaInstant) {
        switch packet {
        case .receiverReport(let report): handle(report.blocks, now)
        case .senderReport(let report): handle(report.blocks, now)
        case .nack(let nack):
            guard acceptsFeedback(for: nack.mediaSSRC, now), spend(nack.count, now) else { return }
            handle(nack, now)
        case .pictureLoss(let loss):
            guard acceptsFeedback(for: loss.mediaSSRC, now) else { return }
            let waiting = waiting(now)
            keyframeRequests.notePictureLoss(waiting, roundTrip: roundTrip, now: now)
        case .fullIntraRequest(let request):
            let isOurs = request.contains { $0.ssrc == parameters.video?.ssrc }
            guard isOurs else { return counters.rtcp.unknownSSRC &+= 1 }
            egress.stall.noteHeard(now: now)
            let waiting = waiting(now)
            keyframeRequests.noteFullIntraRequest(waiting, roundTrip: roundTrip, now: now)
        case .referenceSelection(let selection):
            guard selection.mediaSSRC == parameters.video?.ssrc else { return counters.rtcp.unknownSSRC &+= 1 }
            guard hasReferences, keyframeRequests.acknowledge(selection.pictureID) else {
                return counters.video.referencesUnknown &+= 1
            }
            egress.stall.noteHeard(now: now)
        case .transportFeedback(let feedback): handle(feedback, now)
        case .remb(let estimate):
            guard parameters.usesTransportFeedback ? parameters.obeysREMB : parameters.usesREMB,
                spend(RTCPWorkLimiter.block, now)
            else { return }
            // REMB applies to the streams that it names.
            guard estimate.contains(where: { appliesREMB(to: $0) }) else { return counters.rtcp.unknownSSRC &+= 1 }
            if parameters.usesTransportFeedback { return bandwidth.noteLimit(estimate.bitrate, now: now) }
            bandwidth.noteREMB(
                estimate.bitrate, now: now, roundTrip: roundTrip, sentBitrate: egress.sentBitrate(now: now))
        case .extendedReport(let report):
            guard hasReferences, let time = report.time else { return }
            rtcp.noteReceiverTime(ssrc: report.ssrc, middle: time.middle, now: now)
        case .sourceDescription, .goodbye, .other: break
        }
    }

    /// - Returns: false, and counts the message, if it is not about the video stream.
    private mutating func acceptsFeedback(for mediaSSRC: UInt32, _ now: MediaInstant) -> Bool {
        guard mediaSSRC == parameters.video?.ssrc else {
            counters.rtcp.unknownSSRC &+= 1
            return false
        }
        egress.stall.noteHeard(now: now)
        return true
    }

    private mutating func waiting(_ now: MediaInstant) -> KeyframeRequestHandler.Waiting {
        let isEntryPointOnItsWay = isEntryPointOnItsWay(now)
        let entryPointEnd = isEntryPointOnItsWay ? keyframeRequests.entryPointEnd.map { $0 &+ 1 } ?? 0 : 0
        return .init(
            isEntryPointOnItsWay: isEntryPointOnItsWay, isLostPacketOnItsWay: isLostPacketOnItsWay(now),
            hasRetransmissions: !retransmitter.isEmpty, isRepairSlow: isRepairSlow(now),
            end: postponesRequests ? max(video.history.nextToSend, entryPointEnd) : nil)
    }

    /// Our own receivers repeat a request until they can continue. Of others that is not known, but, by their feedback,
    /// what has arrived.
    private var postponesRequests: Bool { !hasReferences && parameters.usesTransportFeedback }

    /// A key frame was asked for by `SenderEvent.keyframeNeeded`, and is not made at present.
    mutating func postponeKeyframe(_ now: MediaInstant) {
        guard postponesRequests else { return }
        keyframeRequests.postpone(end: video.history.nextToSend, now: now)
    }

    private mutating func reviewRequest(_ now: MediaInstant) {
        guard bandwidth.hasFeedback, keyframeRequests.isReviewDue(now: now), let end = keyframeRequests.postponed
        else { return }
        let missing = missing(before: end, now)
        let lacked = keyframeRequests.lacked
        let isLacked = lacked != nil && lacked.flatMap(video.history.sent)?.received ?? .nothing == .nothing
        var waiting = waiting(now)
        if let last = missing.lastSent, now - last < longestWay { waiting.hasRetransmissions = true }
        keyframeRequests.review(
            hasArrived: missing.oldest == nil && !isLacked && video.history.nextToSend >= end, lacking: missing.oldest,
            waiting, roundTrip: roundTrip, now: now)
    }

    /// Packets were lost. After a drop of the path's rate it takes long to send them again.
    mutating func noteLost(_ now: MediaInstant) {
        guard isRepairSlow(now) else { return }
        keyframeRequests.noteSlowRepair(waiting(now), roundTrip: roundTrip, now: now)
    }

    private mutating func isRepairSlow(_ now: MediaInstant) -> Bool {
        guard hasReferences, let recovery = video.recoverySize.bytes(now: now) else { return false }
        if let known = video.recoverySize.isRepairSlow(now: now) { return known }
        let bytes = missing(before: video.history.nextToSend, now).bytes
        // A recovery frame is less sharp than what was lost.
        let isSlow = bytes > 2 &* recovery && bandwidth.estimate.duration(ofBytes: bytes) > Self.slowRepair
        video.recoverySize.noteRepair(isSlow: isSlow, now: now)
        return isSlow
    }

    private static let slowRepair = MediaDuration.milliseconds(250)

    private func missing(before end: Int64, _ now: MediaInstant) -> PacketHistory.Missing {
        video.history.missing(
            before: end, within: Self.mostRecent, resent: now - longestWay, egress.sent, now: now)
    }

    /// Receivers ask for a key frame within 3 s of a loss.
    private static let mostRecent = MediaDuration.seconds(4)

    /// Shorter queues do not delay packets for longer than receivers wait.
    private static let leastQueue = MediaDuration.milliseconds(30)
    private static let mostGrowth = MediaDuration.milliseconds(150)
    private static let mostTime = MediaDuration.seconds(1)
    private static let mostRepairs = 3

    /// How long a packet may be on its way, and after it a request that was sent before it arrived. The queue may have grown
    /// since the last feedback.
    private var longestWay: MediaDuration {
        let queue = bandwidth.queueDelay
        return min(roundTrip + queue + min(queue, Self.mostGrowth), Self.mostTime)
    }

    /// A frame that the receiver can continue from waits to be sent, or may not have arrived yet.
    private func isEntryPointOnItsWay(_ now: MediaInstant) -> Bool {
        guard let last = keyframeRequests.entryPointEnd else { return false }
        return last >= video.history.nextToSend || video.history.sent(last).map { isOnItsWay($0, now) } ?? false
    }

    /// The packet that the receiver waits for was sent again, and may not have arrived yet: behind a queue it takes longer
    /// than our own receivers wait before they ask for a recovery frame. Where it was lost again, it may be so once more.
    private func isLostPacketOnItsWay(_ now: MediaInstant) -> Bool {
        guard hasReferences, bandwidth.queueDelay > Self.leastQueue,
            let lost = retransmitter.oldestRequested(roundTrip: roundTrip, now: now).flatMap(video.history.sent)
        else { return false }
        return (1...Self.mostRepairs).contains(Int(lost.retransmissionCount)) && isOnItsWay(lost, now)
    }

    private func isOnItsWay(_ packet: PacketHistory.Entry, _ now: MediaInstant) -> Bool {
        !packet.isAcknowledged && now - packet.lastSent < longestWay
    }

    /// Whether a REMB that names this SSRC applies: it names the video stream, or, without video, any audio stream.
    private func appliesREMB(to ssrc: UInt32) -> Bool {
        guard let video = parameters.video else { return tracks.contains { $0.stream.ssrc == ssrc } }
        return ssrc == video.ssrc || ssrc == video.rtxSSRC
    }

    private mutating func handle(_ nack: Nack, _ now: MediaInstant) {
        let detectsIgnoredRTX = parameters.video?.rtxSSRC != nil && !hasReferences
        let isIgnored = retransmitter.handle(
            nack, detectsIgnoredRTX: detectsIgnoredRTX, maximumPacketSize: parameters.maximumPacketSize, path: path,
            sent: egress.sent, hasFeedback: bandwidth.hasFeedback,
            history: &video.history, now: now)
        noteLost(now)
        guard isIgnored else { return }
        // The receiver gets the original packets again from now on, and a key frame, as earlier packets were not stored
        // with their protection.
        parameters.video?.rtxSSRC = nil
        parameters.video?.rtxPayloadType = nil
        keyframeRequests.needKeyframe()
    }
}
