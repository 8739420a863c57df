import MediaCore
import RTPWire

extension SenderState {
    mutating func handleForwarded(now: MediaInstant) {
        guard !rtcp.hasEnded, var stream = video.packetizer.takeForwarded() else { return }
        handle(&stream, now)
        video.packetizer = .forwarded(stream)
    }

    private mutating func handle(_ stream: inout ForwardedStream, _ now: MediaInstant) {
        switch stream.note(backlog: backlog, now: now) {
        case .keyframe: keyframeRequests.needKeyframe()
        case .cutOff: replaceWaiting()
        case .nothing: break
        }
        let source = stream.source
        guard stream.next < source.end else { return }
        var next = max(stream.next, source.resumption)
        let rate = videoEstimate(now: now)
        while next < source.end {
            guard let packet = source.packet(next) else {
                // It was overwritten before it was taken out.
                next = skipToKeyframe(&stream)
                continue
            }
            next &+= 1
            forward(packet, of: &stream, rate, now)
        }
        rtcp.noteActivity(now: now)
    }

    private mutating func forward(
        _ packet: ForwardedVideo.Packet, of stream: inout ForwardedStream, _ rate: Bitrate, _ now: MediaInstant
    ) {
        guard packet.length > 0 else { stream.next = packet.position &+ 1; return }
        guard stream.admits(packet, rate: rate, now: now) else { return }
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
            stream.reset()
            return keyframeRequests.noteRefused()
        }
        video.history.append(
            packet, timestamp: stream.timestamp(of: packet), pictureIDShift: stream.pictureIDShift,
            announcesMid: video.announcesMid, now: now)
        if stream.isKeyframe {
            keyframeRequests.noteEntryPoint(lastSequence: video.history.nextToWrite &- 1, now: now)
        }
        let duplicates = affordableDuplicates(1, bytes: packet.length, now)
        if duplicates > 0 { video.history.setDuplicateCount(duplicates, from: video.history.nextToWrite &- 1) }
    }

    /// - Returns: the next position.
    private mutating func skipToKeyframe(_ stream: inout ForwardedStream) -> Int64 {
        stream.reset()
        keyframeRequests.noteRefused()
        let source = stream.source
        let start = source.keyframeStart.flatMap { source.packet($0) != nil ? $0 : nil }
        let next = max(start ?? source.end, stream.next)
        stream.next = source.packet(next) != nil ? next : source.end
        return stream.next
    }
}
