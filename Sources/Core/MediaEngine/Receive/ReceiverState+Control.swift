import MediaCore
import RTPWire

extension ReceiverState {
    mutating func handleRTCP(_ bytes: UnsafeRawBufferPointer, now: MediaInstant) {
        guard !hasEnded else { return }
        var packets = RTCPIterator(bytes)
        var hasMore = true
        while hasMore {
            do throws(RTPMalformed) {
                guard let packet = try packets.next() else { return }
                handle(packet, now)
            } catch {
                counters.drops.malformedRTCP &+= 1
                hasMore = error.reason != .truncated && error.reason != .version && error.reason != .rtcpLength
            }
        }
    }

    mutating func limitBitrate(_ limit: Bitrate?) {
        guard parameters.sendsREMB else { return }
        bitrateLimit.set(limit)
    }

    private mutating func handle(_ packet: RTCPPacket, _ now: MediaInstant) {
        switch packet {
        case .senderReport(let report):
            if report.info.ssrc == video.stream.ssrc, parameters.video != nil {
                video.stream.note(report.info, now: now)
                return
            }
            for index in tracks.indices where tracks[index].stream.ssrc == report.info.ssrc {
                tracks[index].stream.note(report.info, now: now)
            }
        case .goodbye(let goodbye):
            // The session ends with a BYE for the video stream; without video, for an audio stream.
            let isOurs = goodbye.contains { ssrc in
                parameters.video != nil ? ssrc == video.stream.ssrc : tracks.contains { $0.stream.ssrc == ssrc }
            }
            if isOurs, !hasEnded { bye = .received }
        case .remb(let estimate):
            if hasReferences, estimate.contains(video.stream.ssrc) { self.estimate = estimate.bitrate }
        case .extendedReport(let report):
            guard hasReferences, let answer = report.dlrr(for: parameters.localSSRC),
                let time = answer.roundTripTime(now: reports.ntp(at: now))
            else { return }
            roundTripTimes.noteReport(time)
            nacks.reportedRoundTrip = roundTripTimes.reported
        case .receiverReport, .sourceDescription, .nack, .pictureLoss, .fullIntraRequest, .referenceSelection,
            .transportFeedback, .other:
            break
        }
    }
}
