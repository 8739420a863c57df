import MediaCore
import RTPWire

extension SenderState {
    mutating func handleForwarded(now: MediaInstant) {
        guard !rtcp.hasEnded else { return }
        for index in tracks.indices where tracks[index].takeForwarded() { rtcp.noteActivity(now: now) }
        handleForwardedVideo(now)
    }

    private mutating func handleForwardedVideo(_ now: MediaInstant) {
        guard let source = video.forwarded?.source else { return }
        let backlog = backlog
        switch video.forwarded?.note(backlog: backlog, now: now) {
        case .keyframe: keyframeRequests.needKeyframe()
        case .cutOff: replaceWaiting()
        case .nothing, nil: break
        }
        guard var next = video.forwarded?.next, next < source.end else { return }
        next = max(next, source.resumption)
        let rate = videoEstimate(now: now)
        while next < source.end {
            guard let packet = source.packet(next) else {
                // It was overwritten before it was taken out.
                next = skipToKeyframe(source)
                continue
            }
            next &+= 1
            forward(packet, rate, now)
        }
        rtcp.noteActivity(now: now)
    }

    private mutating func forward(_ packet: ForwardedVideo.Packet, _ rate: Bitrate, _ now: MediaInstant) {
        guard packet.length > 0 else { video.forwarded?.next = packet.position &+ 1; return }
        guard video.forwarded?.admits(packet, rate: rate, now: now) == true else { return }
        if packet.isFrameStart {
            if packet.isKeyframe {
                replaceWaiting()
                counters.video.keyframes &+= 1
                keyframeRequests.noteKeyframe(0, pictureID: 0, now: now)
            }
            counters.video.frames &+= 1
            video.noteFrame(now: now)
        }
        guard video.history.room > 0 else {
            counters.video.framesRefused &+= 1
            video.forwarded?.reset()
            return keyframeRequests.noteRefused()
        }
        guard let label = video.forwarded?.label(of: packet) else { return }
        video.history.append(
            packet, timestamp: label.timestamp, pictureIDShift: label.pictureIDShift, announcesMid: video.announcesMid,
            now: now)
        if label.isOfKeyframe {
            keyframeRequests.noteEntryPoint(lastSequence: video.history.nextToWrite &- 1, now: now)
        }
        let duplicates = affordableDuplicates(1, bytes: packet.length, now)
        if duplicates > 0 { video.history.setDuplicateCount(duplicates, from: video.history.nextToWrite &- 1) }
    }

    /// - Returns: the next position.
    private mutating func skipToKeyframe(_ source: ForwardedVideo) -> Int64 {
        video.forwarded?.reset()
        keyframeRequests.noteRefused()
        let start = source.group.start.flatMap { source.packet($0) != nil ? $0 : nil }
        let next = max(start ?? source.end, video.forwarded?.next ?? 0)
        video.forwarded?.next = source.packet(next) != nil ? next : source.end
        return video.forwarded?.next ?? source.end
    }
}
