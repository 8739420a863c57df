import MediaCore
import RTPWire

extension ReceiverState {
    /// A gap of more packets is not requested by NACK.
    static let largestGap: Int64 = 128

    mutating func handleVideo(
        _ packet: RTPPacketView, _ values: HeaderExtensionValuesView, isRetransmission: Bool, _ arrival: MediaInstant,
        _ now: MediaInstant
    ) throws(RTPMalformed) {
        counters.video.packets &+= 1
        video.stream.lastPacket = now
        let previous = video.stream.sequence.highest
        let sequence: Int64
        if isRetransmission {
            guard let number = video.stream.sequence.takeRetransmitted(packet.sequenceNumber) else {
                return counters.drops.sequenceJump &+= 1
            }
            sequence = number
        } else {
            switch video.stream.sequence.take(packet.sequenceNumber) {
            case .jump: return counters.drops.sequenceJump &+= 1
            case .restarted(let number):
                sequence = number
                video.assembler?.restart()
                forwarded?.restart()
                nacks.removeAll()
                video.stream.statistics.restart()
                keyframeRequester.need(now: now)
            case .next(let number): sequence = number
            }
            video.stream.statistics.note(sequence, timestamp: packet.timestamp, now: arrival)
            if let previous, sequence < previous { counters.video.reordered &+= 1 }
        }
        // Whatever its payload, the packet is no longer missing.
        if nacks.remove(sequence, isRetransmission: isRetransmission, now: now) != nil {
            if isRetransmission { counters.video.repaired &+= 1 } else { counters.video.lost &-= 1 }
        }
        let (part, failure) = depacketized(packet.payload)
        let fits = forwarded?.insert(sequence, packet, part, colorSpace: values.colorSpace, now: arrival)
        switch (failure, fits) {
        // Receivers may know what this side cannot read.
        case (nil, nil), (_, true?): insert(sequence, part, packet, values, now)
        case (_?, nil): loseFrame(sequence, now)
        case (_, false?):
            counters.drops.tooLong &+= 1
            loseFrame(sequence, now)
        }
        noteGap(previous, sequence, now)
        noteEntryPoints(now)
        if let failure { throw failure }
    }

    private func depacketized(_ payload: UnsafeRawBufferPointer) -> (DepacketizedVideo, RTPMalformed?) {
        do throws(RTPMalformed) {
            return (try video.depacketizer.depacketize(payload), nil)
        } catch {
            return (DepacketizedVideo(bytes: UnsafeRawBufferPointer(rebasing: payload[..<0])), error)
        }
    }

    /// A packet has come that cannot be used, and will not come again. One that was there already is not missed.
    private mutating func loseFrame(_ sequence: Int64, _ now: MediaInstant) {
        guard video.assembler?.needs(sequence) ?? false else { return }
        video.assembler?.waitForEntryPoint()
        keyframeRequester.need(now: now)
    }

    private mutating func insert(
        _ sequence: Int64, _ part: DepacketizedVideo, _ packet: RTPPacketView, _ values: HeaderExtensionValuesView,
        _ now: MediaInstant
    ) {
        guard video.assembler != nil else { return }
        for _ in 0..<2 {
            switch video.assembler?.insert(
                sequence, part, marker: packet.marker, timestamp: packet.timestamp,
                references: values.frameReferences, colorSpace: values.colorSpace, now: now)
            {
            case .taken, nil: return
            case .duplicate: return counters.drops.duplicate &+= 1
            case .tooOld: return counters.drops.tooOld &+= 1
            case .tooLong:
                counters.drops.tooLong &+= 1
                return loseFrame(sequence, now)
            case .overflow:
                video.assembler?.makeRoom(for: sequence)
                if let oldest = video.assembler?.expected { nacks.forget(before: oldest) }
                keyframeRequester.need(now: now)
            }
        }
    }

    private mutating func noteGap(_ previous: Int64?, _ sequence: Int64, _ now: MediaInstant) {
        guard let previous else {
            // The first packet is in the middle of a stream: nothing can be decoded before a key frame.
            if video.assembler?.newestEntryPoint != sequence { keyframeRequester.need(now: now) }
            return
        }
        guard sequence > previous &+ 1 else { return }
        let gap = sequence &- previous &- 1
        counters.video.lost &+= Int(gap)
        if gap > Self.largestGap || !nacks.insert(from: previous &+ 1, to: sequence, now: now) {
            // The gap is too large for NACK.
            nacks.removeAll()
            video.assembler?.waitForEntryPoint()
            keyframeRequester.need(now: now)
        }
    }

    /// After the first packet of an entry point has arrived, packets before it are irrelevant, and so are requests for
    /// another one.
    private mutating func noteEntryPoints(_ now: MediaInstant) {
        guard let newest = video.assembler?.newestEntryPoint else { return }
        nacks.forget(before: newest)
        // Time for the rest of its frame to arrive, and for one retransmission.
        let begun = video.assembler?.newestEntryPointArrival ?? now
        keyframeRequester.hold(until: begun + max(.milliseconds(300), nacks.roundTrip * 2))
    }

    /// After so long a missing packet is given up.
    private static let missingPacketLimit = MediaDuration.seconds(5)

    /// How long to wait for a missing packet before a key frame is requested; shorter if a recovery frame will do,
    /// which is cheaper.
    var keyframeRequestDelay: MediaDuration {
        canRecover
            ? max(.milliseconds(200), MediaDuration(nanoseconds: nacks.roundTrip.nanoseconds / 2 &* 5))
            : max(.milliseconds(300), nacks.roundTrip * 3)
    }

    /// A recovery frame can be requested instead of a key frame.
    private var canRecover: Bool { hasReferences && video.assembler?.newestLongTermReference != nil }

    /// When to request a key frame for a missing packet. Retransmissions that keep arriving postpone it.
    private func giveUpTime(_ first: NackGenerator.Missing) -> MediaInstant {
        let plain = first.since + keyframeRequestDelay
        guard let repair = nacks.lastRepair, repair > first.since else { return plain }
        let last = first.since + keyframeRequestDelay * (canRecover ? 2 : 3)
        return max(plain, min(repair + max(.milliseconds(150), nacks.roundTrip), last))
    }

    /// Requests a key frame if a missing packet seems to be lost for good. The packet may still arrive before the key
    /// frame.
    mutating func checkMissingPackets(_ now: MediaInstant) {
        guard let first = nacks.first else { return }
        if now >= giveUpTime(first) { keyframeRequester.need(now: now) }
        nacks.forget(since: now - Self.missingPacketLimit)
    }

    /// When `checkMissingPackets` is due.
    var missingPacketDeadline: MediaInstant {
        guard let first = nacks.first, video.assembler != nil else { return .distantFuture }
        return keyframeRequester.isNeeded ? first.since + Self.missingPacketLimit : giveUpTime(first)
    }

    /// The next frame that is complete and decodable; nil if there is none.
    mutating func takeFrame(_ now: MediaInstant) -> ReceiverOutput? {
        while let span = video.assembler?.next() {
            guard var frame = video.assembler?.pop(span) else {
                keyframeRequester.need(now: now)
                continue
            }
            if video.depacketizer.joinsPackets {
                guard let joined = video.depacketizer.frame(frame.bytes) else {
                    video.assembler?.waitForEntryPoint()
                    keyframeRequester.need(now: now)
                    continue
                }
                frame.bytes = joined
            }
            if span.isEntryPoint {
                keyframeRequester.noteServed()
                if span.isKeyframe { counters.video.keyframes &+= 1 } else { counters.video.recoveries &+= 1 }
            } else if nacks.first.map({ $0.sequence > span.last }) ?? true, video.assembler?.waitsForEntryPoint == false
            {
                // All missing packets before it have arrived, so no key frame is needed any more.
                keyframeRequester.noteServed()
            }
            if hasReferences, frame.longTermReferenceID != nil { video.isAcknowledgementDue = true }
            nacks.forget(before: span.last &+ 1)
            counters.video.frames &+= 1
            counters.video.frameBytes &+= frame.bytes.count
            noteFreeze(frame, now)
            // It is sent with key frames and when it changes; a key frame without it has none.
            if span.isKeyframe || frame.colorSpace != nil { video.colorSpace = frame.colorSpace }
            let info = ReceivedFrame(
                codec: video.depacketizer.codec, isKeyframe: span.isKeyframe,
                size: span.isKeyframe ? video.depacketizer.size(of: frame.bytes) : nil, timestamp: frame.timestamp,
                captured: video.stream.clock.captured(frame.timestamp),
                firstArrival: frame.firstArrival, lastArrival: frame.lastArrival, layer: frame.layer,
                colorSpace: video.colorSpace)
            return .frame(frame.bytes, info)
        }
        if video.assembler?.waitsForEntryPoint == true, video.assembler?.expected != nil,
            video.assembler?.newestEntryPoint == nil
        {
            keyframeRequester.need(now: now)
        }
        return nil
    }

    /// Counts a freeze: the frames that a retransmission releases come at once, and were one freeze. Before the first
    /// frame there is no freeze.
    private mutating func noteFreeze(_ frame: FrameAssembler.Frame, _ now: MediaInstant) {
        defer { video.lastFrame = now }
        guard let since = frame.hadToWaitSince, let lastFrame = video.lastFrame else { return }
        let time = now - max(since, lastFrame)
        guard time > .milliseconds(150) else { return }
        counters.freezes.count &+= 1
        counters.freezes.time = counters.freezes.time + time
        counters.freezes.longest = max(counters.freezes.longest, time)
    }
}
