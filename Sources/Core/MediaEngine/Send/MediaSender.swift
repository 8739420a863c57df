public import MediaCore
public import RTPWire

/// The sending side of an RTP session without I/O: encoded frames and Opus packets go in, RTP and RTCP packets come
/// out.
///
/// Call a `handle` function, then `poll` until it returns `.wait`. Confined to one thread. Allocates only in `init`.
public final class MediaSender {
    /// RTX is removed from it when the receiver turns out to ignore RTX packets.
    var parameters: SenderParameters
    let ntpEpoch: NTPTimestamp
    let epoch: MediaInstant
    var history: PacketHistory
    var packetizer: VP8Packetizer?
    var videoReport = SenderReportState()
    var tracks: [AudioTrack]
    var resends = RingBuffer<Int64>(capacity: 512, filler: 0)
    var rtxSequence: SequenceNumber
    var sent: SentPacketHistory
    var sentRate = SentBitrateMeter()
    /// Of requested retransmissions.
    var retransmissionRate = SentBitrateMeter()
    /// Of unrequested duplicates.
    var duplicateRate = SentBitrateMeter()
    var audioRate = SentBitrateMeter()
    var pathLoss = LossEstimator()
    var duplicates = PacketDuplicationSchedule()
    var bandwidth: BandwidthEstimator
    var pacer: Pacer
    var probe = ProbeController()
    var counters = SenderStatistics()

    var isKeyframeNeeded = false
    var longTermReferences = LongTermReferenceTracker()
    /// The receiver reference time (RFC 3611 section 4.4) that waits for its answer: SSRC, the middle 32 bits, and when
    /// it came.
    var receiverTime: (ssrc: UInt32, middle: UInt32, arrival: MediaInstant)?
    /// The long-term reference that a requested recovery frame is to be predicted from.
    var recoveryNeeded: UInt32?
    /// The long-term reference that an RPSI in the present datagram named; a PLI after it then asks for a recovery
    /// frame.
    var offeredReference: UInt32?
    /// The present datagram contained transport-wide feedback already.
    var hasFeedbackInDatagram = false
    var controlBudget: RTCPWorkLimiter
    var repairsPreferredSince: MediaInstant?
    /// NACKs for packets whose RTX packet had been acknowledged, and when the last one came.
    var uselessRetransmissions = 0
    var lastUselessRetransmission: MediaInstant?
    var lastKeyframe: MediaInstant?
    var keyframeLastSequence: Int64 = 0
    var signalledEstimate: Bitrate
    var reportTime: MediaDuration?
    var feedbackTime: MediaDuration?
    var nextReport: MediaInstant
    var lastReport: MediaInstant?
    var lastHeard: MediaInstant
    var lastVideo: MediaInstant?
    var isStalled = false
    var stalledSince = MediaInstant(nanoseconds: 0)
    var nextStallProbe = MediaInstant(nanoseconds: .min)
    var tail = TailLossProbe()
    /// nil: the viewer does not need it.
    var keepAlive: VideoKeepAlive?
    /// The packet that `poll` returned last, if its protected form is to be stored for retransmission.
    var unprotected: Int64?
    /// The extended highest sequence number received of the video stream, by the last receiver report.
    var reportedHighest: UInt32?
    /// The transport-wide number of the newest video packet's last transmission.
    var tailTransport: Int64 = -1
    var bye = ByeState.none
    /// Whether the BYE is to be sent, or was sent.
    enum ByeState { case none, due, sent }

    /// - Parameters:
    ///   - seed: for initial sequence numbers, timestamps and PictureIDs.
    ///   - ntpEpoch: the wall clock at `now`, for sender reports.
    public init(_ parameters: SenderParameters, seed: UInt64, ntpEpoch: NTPTimestamp, now: MediaInstant) {
        precondition((200...1_472).contains(parameters.maximumPacketSize), "packets of \(parameters.maximumPacketSize)")
        var random = SeededRandom(seed: seed)
        self.parameters = parameters
        self.ntpEpoch = ntpEpoch
        epoch = now
        // RFC 3711 recommends initial sequence numbers below 2^15, so that loss of the first packets cannot confuse the
        // roll-over counter.
        history = PacketHistory(
            capacity: parameters.video == nil ? 1 : parameters.historyCapacity,
            slotBytes: parameters.maximumPacketSize &+ Self.protectionRoom,
            first: Int64(UInt16.random(in: 1...0x7FFF, using: &random)))
        rtxSequence = SequenceNumber(UInt16.random(in: 1...0x7FFF, using: &random))
        packetizer = parameters.video.map { VP8Packetizer(parameters, $0, epoch: now, random: &random) }
        // Our own viewers negotiate long-term references, and do not ask for key frames while nothing changes.
        if parameters.video != nil, parameters.extensions[.frameReferences] == nil { keepAlive = VideoKeepAlive() }
        tracks = parameters.audio.map {
            AudioTrack($0, slotBytes: parameters.maximumPacketSize, epoch: now, random: &random)
        }
        sent = SentPacketHistory(capacity: 8_192, first: 1)
        bandwidth = BandwidthEstimator(
            start: parameters.startBitrate, minimum: parameters.minimumBitrate, maximum: parameters.maximumBitrate,
            now: now)
        signalledEstimate = bandwidth.estimate
        pacer = Pacer(rate: Bitrate(bitsPerSecond: parameters.startBitrate.bitsPerSecond / 2 &* 5), now: now)
        controlBudget = RTCPWorkLimiter(now: now)
        nextReport = now
        lastHeard = now
    }

    // MARK: Input

    /// Takes in an encoded frame: it is packetized and waits for the pacer.
    ///
    /// A key frame replaces whatever still waits. A frame that does not fit into the history beside what waits is
    /// refused; if it is of the base layer, a key frame is requested.
    /// - Parameters:
    ///   - bytes: copied.
    ///   - layer: temporal layer; 0 is the base.
    ///   - captured: when the pixels were captured; becomes the RTP timestamp.
    ///   - references: the frame's use of long-term references. A recovery frame from a reference that the receiver has
    ///     acknowledged replaces whatever still waits, too.
    public func handleFrame(
        _ bytes: UnsafeRawBufferPointer, isKeyframe: Bool, layer: UInt8, captured: MediaInstant, now: MediaInstant,
        references: FrameReferences = FrameReferences()
    ) {
        guard bye == .none, packetizer != nil, !bytes.isEmpty else { return }
        let source = isKeyframe || !hasReferences ? nil : references.recovered.flatMap { longTermReferences.source($0) }
        let replacesAll = isKeyframe || source?.isAcknowledged == true
        if replacesAll {
            counters.packetsReplaced &+= history.waitingCount
            history.dropWaiting()
            history.beginKeyframe()
            resends.removeAll()
            duplicates.removeAll()
        }
        let cut = packetizer?.append(
            bytes, layer: layer, captured: captured, references: element(references, isKeyframe, source), to: &history)
        guard let cut else {
            counters.framesRefused &+= 1
            // No frame refers to one above the base layer.
            guard layer == 0 else { return }
            isKeyframeNeeded = true
            hasGap = true
            longTermReferences.removeAll()
            return
        }
        counters.frames &+= 1
        lastVideo = now
        keepAlive?.note(bytes, isKeyframe: isKeyframe, layer: layer)
        let duplicateCount = affordableDuplicates(cut.packets, bytes: cut.payloadBytes, now)
        history.setDuplicateCount(duplicateCount, from: history.nextToWrite &- Int64(cut.packets))
        if replacesAll {
            lastKeyframe = now
            keyframeLastSequence = history.nextToWrite &- 1
            recoveryNeeded = nil
        }
        if isKeyframe {
            counters.keyframes &+= 1
            isKeyframeNeeded = false
            hasGap = false
            longTermReferences.noteKeyframe(references.number, pictureID: cut.pictureID, now: now)
        } else {
            if source?.isAcknowledged == true { counters.recoveries &+= 1 }
            if let slot = references.stored {
                longTermReferences.noteStored(references.number, in: slot, pictureID: cut.pictureID, now: now)
            }
        }
        noteActivity(now)
    }

    /// Bytes that the transport may add to a packet: the longest SRTP tag (16) and some more.
    public static let protectionRoom = 20

    /// Stores the packet that `poll` returned last in its protected form. Without RTX these very bytes are sent on a
    /// NACK; with RTX the call is ignored.
    /// - Parameter bytes: copied; at most `protectionRoom` longer than the packet.
    public func keepProtected(_ bytes: UnsafeRawBufferPointer) {
        guard let sequence = unprotected else { return }
        unprotected = nil
        history.noteProtected(sequence, bytes)
    }

    /// The header extension for the frame's first packet; nil for a frame without long-term references, and if not
    /// negotiated.
    private func element(
        _ references: FrameReferences, _ isKeyframe: Bool, _ source: LongTermReferenceTracker.Reference?
    ) -> FrameReferencesElement? {
        guard hasReferences, !isKeyframe, references.stored != nil || source != nil else { return nil }
        let from = references.recovered.flatMap { recovery in
            source.map { FrameReferencesElement.Source(slot: recovery.slot, pictureID: $0.pictureID) }
        }
        return FrameReferencesElement(stored: references.stored, source: from)
    }

    /// The number of frames whose last packet was sent.
    public internal(set) var framesSent = 0

    /// A base layer frame was refused, and no key frame has followed yet. The receiver cannot detect that one is
    /// missing.
    public private(set) var hasGap = false

    /// Packets of frames wait for the pacer.
    public var hasFramesWaiting: Bool { !history.isEmpty }

    /// Long-term references were negotiated.
    public var hasReferences: Bool { parameters.extensions[.frameReferences] != nil }

    /// The receiver has acknowledged a frame.
    public private(set) var hasAcknowledged = false

    func noteAcknowledged() { hasAcknowledged = true }

    /// The newest long-term reference is not acknowledged yet, so none should be overwritten.
    public func awaitsAcknowledgement(now: MediaInstant) -> Bool {
        hasReferences && longTermReferences.isPending(now: now)
    }

    /// Takes in one Opus packet; it is sent without pacing.
    /// - Parameter track: index into the parameters' audio streams.
    public func handleAudio(_ bytes: UnsafeRawBufferPointer, track: Int, captured: MediaInstant, now: MediaInstant) {
        guard bye == .none, tracks.indices.contains(track) else { return }
        let distances = redundancy(of: bytes, track)
        if tracks[track].append(bytes, captured: captured, ids: parameters.extensions, distances: distances) {
            noteActivity(now)
        } else {
            counters.audioDropped &+= 1
        }
    }

    /// Ends the session: the next `poll` returns a BYE, and nothing is sent after it. May be called twice.
    public func end(now: MediaInstant) {
        if bye == .none { bye = .due }
    }

    // MARK: State

    /// The bandwidth estimate for all media.
    public var estimate: Bitrate { bandwidth.estimate }

    /// The bitrate for video frames: 97 % of the estimate (the rest is headers) after audio and retransmissions, which
    /// are counted up to half of the estimate.
    public func videoEstimate(now: MediaInstant) -> Bitrate {
        let other = retransmissionRate.rate(now: now).bitsPerSecond &+ audioRate.rate(now: now).bitsPerSecond
        let side = min(other, estimate.bitsPerSecond / 2)
        return Bitrate(bitsPerSecond: (estimate.bitsPerSecond &- side) / 100 &* 97)
    }

    /// From receiver reports, else from transport-wide feedback; nil until the receiver has answered.
    public var roundTripTime: MediaDuration? { reportTime ?? feedbackTime }

    /// The bitrate for all audio: a third of the estimate.
    public var audioEstimate: Bitrate { Bitrate(bitsPerSecond: estimate.bitsPerSecond / 3) }

    /// How long the video packets and retransmissions that wait need at the pacing rate. Over about 40 ms no new frame
    /// should be made.
    public var backlog: MediaDuration { pacer.rate.duration(ofBytes: backlogBytes) }

    private var backlogBytes: Int { history.waitingBytes &+ resends.count &* parameters.maximumPacketSize }

    /// What limits the bitrate at present.
    public var limit: QualityLimitationReason {
        if bandwidth.isLimitedByLoss, !bandwidth.isAtMaximum { return .loss }
        if isStalled || backlog > .milliseconds(40) { return .bandwidth }
        let isFull = bandwidth.hasFeedback && !bandwidth.isAtMaximum && !bandwidth.isApplicationLimited
        return isFull ? .bandwidth : .nothing
    }

    public var statistics: SenderStatistics {
        var result = counters
        result.audioDropped &+= tracks.reduce(0) { $0 &+ $1.dropped }
        result.backlogBytes = backlogBytes
        result.backlog = backlog
        result.isAudioRedundant =
            !tracks.isEmpty && tracks.allSatisfy { $0.stream.redundantPayloadType != nil }
        result.queueDelay = bandwidth.queueDelay
        result.acknowledgedRate = bandwidth.acknowledgedRate
        return result
    }

    /// The round trip time; 100 ms before it is known.
    var roundTrip: MediaDuration { roundTripTime ?? .milliseconds(100) }

    func ntp(at instant: MediaInstant) -> NTPTimestamp { ntpEpoch.advanced(by: instant - epoch) }

    /// Ends the longer report interval of an idle sender.
    private func noteActivity(_ now: MediaInstant) {
        guard let lastReport else { return }
        nextReport = min(nextReport, lastReport + .seconds(1))
    }
}
