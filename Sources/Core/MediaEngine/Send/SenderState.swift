import MediaCore
import RTPWire

/// The state of a `MediaSender` and what it does. A value that is never copied, so Swift checks exclusive access to it
/// once a call of the owner, not for each part.
struct SenderState: ~Copyable {
    /// RTX is removed from it when the receiver turns out to ignore RTX packets.
    var parameters: SenderParameters
    var video: VideoSendStream
    var tracks: [AudioTrack]
    var retransmitter: Retransmitter
    var redundancy = RedundancyController()
    var egress: PacketEgress
    var bandwidth: BandwidthEstimator
    var probe = ProbeController()
    /// The bandwidth estimate of the last event.
    var signalledEstimate: Bitrate
    var roundTripTimes = RoundTripTimeEstimator()
    var keyframeRequests = KeyframeRequestHandler()
    var rtcp: RTCPSender
    var workLimiter: RTCPWorkLimiter
    var counters = SenderStatistics()

    init(
        _ parameters: SenderParameters, forwarding source: ForwardedMedia?, seed: UInt64, ntpEpoch: NTPTimestamp,
        now: MediaInstant
    ) {
        precondition((200...1_472).contains(parameters.maximumPacketSize), "packets of \(parameters.maximumPacketSize)")
        var random = SeededRandom(seed: seed)
        self.parameters = parameters
        let first = Self.initialSequence(&random)
        retransmitter = Retransmitter(first: Self.initialSequence(&random))
        video = VideoSendStream(parameters, first: first, forwarding: source?.video, epoch: now, random: &random)
        tracks = parameters.audio.enumerated().map { index, stream in
            AudioTrack(
                stream, forwarding: source?.track(index), slotBytes: parameters.maximumPacketSize, epoch: now,
                random: &random)
        }
        bandwidth = BandwidthEstimator(
            start: parameters.startBitrate, minimum: parameters.minimumBitrate, maximum: parameters.maximumBitrate,
            now: now)
        signalledEstimate = bandwidth.estimate
        egress = PacketEgress(
            historyGrows: source?.video != nil,
            pacingRate: Bitrate(bitsPerSecond: parameters.startBitrate.bitsPerSecond / 2 &* 5), now: now)
        rtcp = RTCPSender(ntpEpoch: ntpEpoch, now: now)
        workLimiter = RTCPWorkLimiter(now: now)
    }

    /// RFC 3711 recommends initial sequence numbers below 2^15, so that loss of the first packets cannot confuse the
    /// roll-over counter.
    private static func initialSequence(_ random: inout SeededRandom) -> SequenceNumber {
        SequenceNumber(UInt16.random(in: 1...0x7FFF, using: &random))
    }

    // MARK: Input

    mutating func handleFrame(_ bytes: UnsafeRawBufferPointer, _ info: FrameInfo, now: MediaInstant) {
        guard !rtcp.hasEnded, video.packetizer != nil, !bytes.isEmpty else { return }
        let (isKeyframe, references) = (info.isKeyframe, info.references)
        let source =
            isKeyframe || !hasReferences ? nil : references.source.flatMap { keyframeRequests.source($0) }
        let isRecovery = source?.isAcknowledged == true
        if isKeyframe || isRecovery { replaceWaiting() }
        let packetized = video.append(bytes, info, references: element(references, isKeyframe, source), now: now)
        guard let packetized else {
            counters.video.framesRefused &+= 1
            // No frame refers to one above the base layer.
            if info.layer == 0 { keyframeRequests.noteRefused() }
            return
        }
        counters.video.frames &+= 1
        video.recoverySize.note(info.recoveryBytes, now: now)
        let duplicateCount = affordableDuplicates(packetized.packets, bytes: packetized.payloadBytes, now)
        video.history.setDuplicateCount(duplicateCount, from: video.history.nextToWrite &- Int64(packetized.packets))
        if isKeyframe || isRecovery {
            keyframeRequests.noteEntryPoint(lastSequence: video.history.nextToWrite &- 1, now: now)
        }
        if isKeyframe {
            counters.video.keyframes &+= 1
            keyframeRequests.noteKeyframe(references.number, pictureID: packetized.pictureID, now: now)
        } else {
            if isRecovery { counters.video.recoveries &+= 1 }
            if let slot = references.stored {
                keyframeRequests.noteStored(references.number, in: slot, pictureID: packetized.pictureID, now: now)
            }
        }
        rtcp.noteActivity(now: now)
    }

    /// Drops what waits, as the next frame does not refer to it.
    mutating func replaceWaiting() {
        counters.video.packetsReplaced &+= video.history.waitingCount
        video.history.dropWaiting()
        video.history.beginKeyframe()
        retransmitter.removeAll()
        redundancy.removeAll()
        keyframeRequests.noteReplaced()
    }

    /// The header extension for the frame's first packet; nil for a frame without long-term references, and if not
    /// negotiated.
    private func element(
        _ references: FrameReferences, _ isKeyframe: Bool, _ source: LongTermReferenceTracker.Reference?
    ) -> LongTermReferencesElement? {
        guard hasReferences, !isKeyframe, references.stored != nil || source != nil else { return nil }
        let from = references.source.flatMap { recovery in
            source.map { LongTermReferencesElement.Source(slot: recovery.slot, pictureID: $0.pictureID) }
        }
        return LongTermReferencesElement(stored: references.stored, source: from)
    }

    mutating func handleAudio(_ bytes: UnsafeRawBufferPointer, track: Int, captured: MediaInstant, now: MediaInstant) {
        guard !rtcp.hasEnded, tracks.indices.contains(track) else { return }
        if tracks[track].append(bytes, captured: captured) {
            rtcp.noteActivity(now: now)
        } else {
            counters.audioDropped &+= 1
        }
    }

    /// How many duplicates of a frame's packets to send without a request.
    mutating func affordableDuplicates(_ packets: Int, bytes: Int, _ now: MediaInstant) -> Int {
        guard parameters.video?.rtxSSRC != nil, redundancy.isLossy else { return 0 }
        return redundancy.affordableDuplicates(
            packets, bytes: bytes, path: path, sentBitrate: egress.sentBitrate(now: now), now: now)
    }
}
