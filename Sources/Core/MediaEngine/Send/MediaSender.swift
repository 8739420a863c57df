public import MediaCore
public import RTPWire

/// The sending half of a session, without any I/O: frames and sound packets go in, RTP and RTCP packets come out.
///
/// Call a `handle` function, then `poll` until it says `.wait`. Confined to one thread. Allocates only when made.
public final class MediaSender {
    /// Its retransmission stream is given up where the other side makes nothing of it.
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
    /// Of what was asked for again.
    var repeatRate = SentBitrateMeter()
    /// Of what was repeated unasked.
    var repetitionRate = SentBitrateMeter()
    var soundRate = SentBitrateMeter()
    var pathLoss = LossEstimator()
    var repetitions = PacketDuplicationSchedule()
    var controller: BandwidthEstimator
    var pacer: Pacer
    var probe = ProbeController()
    var counters = SenderStatistics()

    var isKeyframeNeeded = false
    var ledger = LongTermReferenceTracker()
    /// The other side's clock by its last report, which waits for an answer: whose, the middle 32 bits, and when it came.
    var receiverTime: (ssrc: UInt32, middle: UInt32, arrival: MediaInstant)?
    /// The kept frame that the other side wants to go on from.
    var recoveryNeeded: UInt32?
    /// What the datagram at hand has named before it asks for a key frame.
    var offeredReference: UInt32?
    /// The datagram at hand had transport-wide feedback already.
    var hasFeedbackInDatagram = false
    var controlBudget: RTCPWorkLimiter
    var repairsPreferredSince: MediaInstant?
    /// Packets that were asked for again although their retransmission had arrived, and when the last one was.
    var uselessRetransmissions = 0
    var lastUselessRetransmission: MediaInstant?
    var lastKeyframe: MediaInstant?
    var keyframeLastSequence: Int64 = 0
    var toldEstimate: Bitrate
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
    /// nil: the other side does without.
    var keepAlive: VideoKeepAlive?
    /// The packet that `poll` gave out last, if it is to be sent again only as the transport has protected it.
    var unprotected: Int64?
    /// Extended highest sequence number in the other side's last report on the video stream.
    var reportedHighest: UInt32?
    /// The transport-wide number that the newest video packet was last sent with.
    var tailTransport: Int64 = -1
    var goodbye = Farewell.none
    enum Farewell { case none, due, said }

    /// - Parameters:
    ///   - seed: of everything that has to look random: first sequence numbers, time stamps, PictureIDs.
    ///   - ntpEpoch: the wall clock at `now`, for sender reports.
    public init(_ parameters: SenderParameters, seed: UInt64, ntpEpoch: NTPTimestamp, now: MediaInstant) {
        precondition((200...1_472).contains(parameters.maximumPacketSize), "packets of \(parameters.maximumPacketSize)")
        var random = SeededRandom(seed: seed)
        self.parameters = parameters
        self.ntpEpoch = ntpEpoch
        epoch = now
        // RFC 3711 wants first sequence numbers below 2^15, so that loss before the first packet cannot confuse the roll-over count.
        history = PacketHistory(
            capacity: parameters.video == nil ? 1 : parameters.historyCapacity,
            slotBytes: parameters.maximumPacketSize &+ Self.protectionRoom,
            first: Int64(UInt16.random(in: 1...0x7FFF, using: &random)))
        rtxSequence = SequenceNumber(UInt16.random(in: 1...0x7FFF, using: &random))
        packetizer = parameters.video.map { VP8Packetizer(parameters, $0, epoch: now, random: &random) }
        // A viewer of ours waits for as long as nothing changes.
        if parameters.video != nil, parameters.extensions.references == nil { keepAlive = VideoKeepAlive() }
        tracks = parameters.audio.map {
            AudioTrack($0, slotBytes: parameters.maximumPacketSize, epoch: now, random: &random)
        }
        sent = SentPacketHistory(capacity: 8_192, first: 1)
        controller = BandwidthEstimator(
            start: parameters.startBitrate, minimum: parameters.minimumBitrate, maximum: parameters.maximumBitrate,
            now: now)
        toldEstimate = controller.estimate
        pacer = Pacer(rate: Bitrate(bitsPerSecond: parameters.startBitrate.bitsPerSecond / 2 &* 5), now: now)
        controlBudget = RTCPWorkLimiter(now: now)
        nextReport = now
        lastHeard = now
    }

    // MARK: Input

    /// Takes an encoded frame in: cut into packets, it waits for the pacer.
    ///
    /// A key frame replaces whatever still waits. A frame that does not fit beside what waits is refused, and if it is of
    /// the base a key frame asked for.
    /// - Parameters:
    ///   - bytes: copied.
    ///   - layer: temporal layer, 0 is the base.
    ///   - captured: the moment that the pixels belong to; becomes the RTP time stamp.
    ///   - references: how it stands to frames that are kept; one that refers to a kept frame which the other side has replaces whatever
    ///     still waits, too.
    public func handleFrame(
        _ bytes: UnsafeRawBufferPointer, isKeyframe: Bool, layer: UInt8, captured: MediaInstant, now: MediaInstant,
        references: FrameReferences = FrameReferences()
    ) {
        guard goodbye == .none, packetizer != nil, !bytes.isEmpty else { return }
        let source = isKeyframe || !hasReferences ? nil : references.recovered.flatMap { ledger.source($0) }
        let replacesAll = isKeyframe || source?.isAcknowledged == true
        if replacesAll {
            counters.packetsReplaced &+= history.waitingCount
            history.dropWaiting()
            history.beginKeyframe()
            resends.removeAll()
            repetitions.removeAll()
        }
        let cut = packetizer?.append(
            bytes, layer: layer, captured: captured, references: element(references, isKeyframe, source), to: &history)
        guard let cut else {
            counters.framesRefused &+= 1
            // Nothing refers to a frame above the base.
            guard layer == 0 else { return }
            isKeyframeNeeded = true
            hasGap = true
            ledger.removeAll()
            return
        }
        counters.frames &+= 1
        lastVideo = now
        keepAlive?.note(bytes, isKeyframe: isKeyframe, layer: layer)
        let repetitions = affordableRepetitions(cut.packets, bytes: cut.payloadBytes, now)
        history.setRepetitions(repetitions, from: history.nextToWrite &- Int64(cut.packets))
        if replacesAll {
            lastKeyframe = now
            keyframeLastSequence = history.nextToWrite &- 1
            recoveryNeeded = nil
        }
        if isKeyframe {
            counters.keyframes &+= 1
            isKeyframeNeeded = false
            hasGap = false
            ledger.noteKeyframe(references.number, pictureID: cut.pictureID, now: now)
        } else {
            if source?.isAcknowledged == true { counters.recoveries &+= 1 }
            if let slot = references.stored {
                ledger.noteStored(references.number, in: slot, pictureID: cut.pictureID, now: now)
            }
        }
        noteActivity(now)
    }

    /// Bytes that the transport may add to a packet: SRTP's largest tag, and some.
    public static let protectionRoom = 20

    /// Takes the packet that `poll` gave out last as the transport has protected it. Where no retransmission stream was agreed, these very
    /// bytes are what is sent again; ignored otherwise.
    /// - Parameter bytes: copied; at most `protectionRoom` longer than the packet was.
    public func keepProtected(_ bytes: UnsafeRawBufferPointer) {
        guard let sequence = unprotected else { return }
        unprotected = nil
        history.noteProtected(sequence, bytes)
    }

    /// What the frame's first packet says of it; nil for an ordinary frame, and where nothing was agreed.
    private func element(
        _ references: FrameReferences, _ isKeyframe: Bool, _ source: LongTermReferenceTracker.Kept?
    ) -> FrameReferencesElement? {
        guard hasReferences, !isKeyframe, references.stored != nil || source != nil else { return nil }
        let from = references.recovered.flatMap { recovery in
            source.map { FrameReferencesElement.Source(slot: recovery.slot, pictureID: $0.pictureID) }
        }
        return FrameReferencesElement(stored: references.stored, source: from)
    }

    /// Frames of which the last packet has left.
    public internal(set) var framesLeft = 0

    /// A frame of the base was refused, and no key frame has followed yet: the other side cannot know that one is missing.
    public private(set) var hasGap = false

    /// Packets of frames wait for the pacer.
    public var hasFramesWaiting: Bool { !history.isEmpty }

    /// Both sides know about kept frames.
    public var hasReferences: Bool { parameters.extensions.references != nil }

    /// The other side has said that it has a picture.
    public private(set) var hasAcknowledged = false

    func noteAcknowledged() { hasAcknowledged = true }

    /// The other side has not said yet that it has the newest of the kept frames: none of them should be overwritten.
    public func awaitsAcknowledgement(now: MediaInstant) -> Bool { hasReferences && ledger.isPending(now: now) }

    /// Takes one Opus packet in; it leaves at once.
    /// - Parameter track: index into the parameters' audio streams.
    public func handleAudio(_ bytes: UnsafeRawBufferPointer, track: Int, captured: MediaInstant, now: MediaInstant) {
        guard goodbye == .none, tracks.indices.contains(track) else { return }
        let distances = redundancy(of: bytes, track)
        if tracks[track].append(bytes, captured: captured, ids: parameters.extensions, distances: distances) {
            noteActivity(now)
        } else {
            counters.audioDropped &+= 1
        }
    }

    /// Says goodbye with the next `poll`; nothing else is sent after that. Twice is fine.
    public func end(now: MediaInstant) {
        if goodbye == .none { goodbye = .due }
    }

    // MARK: State

    /// How much may be sent in all.
    public var estimate: Bitrate { controller.estimate }

    /// What frames may take: the estimate without sound, repetitions and headers.
    public func videoEstimate(now: MediaInstant) -> Bitrate {
        let other = repeatRate.rate(now: now).bitsPerSecond &+ soundRate.rate(now: now).bitsPerSecond
        let side = min(other, estimate.bitsPerSecond / 2)
        return Bitrate(bitsPerSecond: (estimate.bitsPerSecond &- side) / 100 &* 97)
    }

    /// nil until the other side has answered.
    public var roundTripTime: MediaDuration? { reportTime ?? feedbackTime }

    /// What all sound together may take of the estimate: a third.
    public var audioEstimate: Bitrate { Bitrate(bitsPerSecond: estimate.bitsPerSecond / 3) }

    /// How long it takes until the video and the repetitions that wait for the pacer have left. Over about 40 ms a new frame should not be made.
    public var backlog: MediaDuration { pacer.rate.duration(ofBytes: backlogBytes) }

    private var backlogBytes: Int { history.waitingBytes &+ resends.count &* parameters.maximumPacketSize }

    public var limit: QualityLimitationReason {
        if controller.isLimitedByLoss, !controller.isAtMaximum { return .loss }
        if isStalled || backlog > .milliseconds(40) { return .bandwidth }
        let isFull = controller.hasFeedback && !controller.isAtMaximum && !controller.isApplicationLimited
        return isFull ? .bandwidth : .nothing
    }

    public var statistics: SenderStatistics {
        var result = counters
        result.audioDropped &+= tracks.reduce(0) { $0 &+ $1.dropped }
        result.backlogBytes = backlogBytes
        result.backlog = backlog
        result.isSoundRedundant =
            !tracks.isEmpty && tracks.allSatisfy { $0.stream.redundantPayloadType != nil }
        result.queueDelay = controller.queueDelay
        result.acknowledgedRate = controller.acknowledgedRate
        return result
    }

    /// The round trip time, or what is assumed before it is known.
    var roundTrip: MediaDuration { roundTripTime ?? .milliseconds(100) }

    func ntp(at instant: MediaInstant) -> NTPTimestamp { ntpEpoch.advanced(by: instant - epoch) }

    /// Something is about to be sent: reports are due more often than at rest.
    private func noteActivity(_ now: MediaInstant) {
        guard let lastReport else { return }
        nextReport = min(nextReport, lastReport + .seconds(1))
    }
}
