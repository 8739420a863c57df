import MediaCore
import RTPWire

/// The video stream of a sender: packetizes frames, and stores the packets until they are sent and then for
/// retransmission. Without negotiated video it stays empty.
struct VideoSendStream {
    var history: PacketHistory
    /// nil: no video was negotiated, or the stream is forwarded.
    private(set) var packetizer: VP8Packetizer?
    /// nil: the frames are packetized here. The two are not the cases of an enum, as the payload of an enum cannot be
    /// changed in place: it is copied, which takes longer than what is done with it.
    var forwarded: ForwardedStream?
    /// Packets carry the MID until one of them has arrived. Firefox binds the media section to the first SSRC that
    /// carries its MID, so an RTX packet must not be the first.
    private(set) var announcesMid = true
    var report = SenderReportState()
    var tail = TailLossProbe()
    /// nil: the viewer does not need it.
    private(set) var keepAlive: VideoKeepAlive?
    private var dueSkipFrame: [UInt8]?
    /// When the last frame was taken in.
    private(set) var lastFrame: MediaInstant?
    /// The number of frames whose last packet was sent.
    private(set) var framesSent = 0
    private(set) var skipFrames = 0
    /// The packet that was sent last, if its protected form is to be stored for retransmission.
    private var unprotected: Int64?
    /// The extended highest sequence number received, by the last receiver report.
    private(set) var reportedHighest: UInt32?
    var recoverySize = RecoverySizeEstimate()

    /// - Parameter first: the first sequence number.
    init(
        _ parameters: SenderParameters, first: SequenceNumber, forwarding source: ForwardedVideo?, epoch: MediaInstant,
        random: inout SeededRandom
    ) {
        if let source, let stream = parameters.video {
            history = PacketHistory(
                capacity: parameters.historyCapacity, slotBytes: ForwardedVideo.largestPacket,
                first: Int64(first.rawValue),
                writer: ForwardedPacketWriter(source, stream, ids: parameters.extensions))
            forwarded = ForwardedStream(source)
            return
        }
        history = PacketHistory(
            capacity: parameters.video == nil ? 1 : parameters.historyCapacity,
            slotBytes: parameters.maximumPacketSize &+ MediaSender.protectionRoom, first: Int64(first.rawValue))
        packetizer = parameters.video.map { VP8Packetizer(parameters, $0, epoch: epoch, random: &random) }
        // Our own viewers negotiate long-term references, and do not ask for key frames while nothing changes.
        if parameters.video != nil, parameters.extensions[.frameReferences] == nil { keepAlive = VideoKeepAlive() }
    }

    // MARK: Frames

    /// Packetizes a frame behind those that wait.
    /// - Returns: nil if the history has no room for it.
    mutating func append(
        _ frame: UnsafeRawBufferPointer, _ info: FrameInfo, references: LongTermReferencesElement?, now: MediaInstant
    ) -> VP8Packetizer.PacketizedFrame? {
        let packetized = packetizer?.append(
            frame, layer: info.layer, captured: info.captured, references: references, announcesMid: announcesMid,
            to: &history)
        guard let packetized else { return nil }
        lastFrame = now
        keepAlive?.note(info)
        return packetized
    }

    /// Appends the last frame again as a skip frame, if the viewer would otherwise ask for a key frame on a still
    /// screen.
    mutating func insertSkipFrame(now: MediaInstant) {
        guard prepareSkipFrame(now: now), let frame = takeSkipFrame() else { return }
        frame.withUnsafeBytes { appendSkipFrame($0, now: now) }
    }

    /// - Returns: whether a skip frame is due. It waits in `takeSkipFrame` then.
    mutating func prepareSkipFrame(now: MediaInstant) -> Bool {
        guard let frame = keepAlive?.takeDue(now: now), history.isEmpty else { return false }
        dueSkipFrame = frame
        return true
    }

    /// The skip frame that is due, before it is encrypted; nil: none is.
    mutating func takeSkipFrame() -> [UInt8]? {
        defer { dueSkipFrame = nil }
        return dueSkipFrame
    }

    /// - Parameter frame: `takeSkipFrame`, or what it has become by encryption.
    mutating func appendSkipFrame(_ frame: UnsafeRawBufferPointer, now: MediaInstant) {
        // The skip frame is of layer 1, so that no frame refers to it. It shows no change and does not count in the
        // statistics of frames.
        let packetized = packetizer?.append(
            frame, layer: 1, captured: now, announcesMid: announcesMid, to: &history)
        guard packetized != nil else { return }
        skipFrames &+= 1
        keepAlive?.noteMade(lastSequence: history.nextToWrite &- 1)
    }

    // MARK: Packets

    /// Copies the first packet that waits into the buffer, and counts it as sent.
    /// - Parameters:
    ///   - transportSequence: its transport-wide number.
    ///   - keepsProtected: its protected form is to be stored.
    mutating func takeNext(
        into buffer: UnsafeMutableRawBufferPointer, transportSequence: Int64, keepsProtected: Bool, now: MediaInstant
    ) -> PacketHistory.Entry? {
        guard let entry = history.next else { return nil }
        let isThere = history.copy(entry, into: buffer)
        history.noteSent(now: now, transportSequence: transportSequence)
        guard isThere else { return nil }
        forwarded?.source.noteSent(entry, now: now)
        if keepsProtected { unprotected = entry.sequence }
        report.note(payloadBytes: entry.length &- entry.layout.headerLength)
        if entry.layout.isMarked {
            if entry.sequence != keepAlive?.lastSequence { framesSent &+= 1 }
            if history.isEmpty { keepAlive?.noteIdle(now: now) }
        }
        return entry
    }

    /// Writes packets of a forwarded stream that wait, and counts them as sent; see `PacketHistory.takeBurst`.
    mutating func takeBurst(
        into slots: PacketSlots, limit: (packets: Int, bytes: Int), transportSequence: Int64, now: MediaInstant,
        delays: inout DelayHistogram
    ) -> PacketHistory.Burst {
        let burst = history.takeBurst(
            into: slots, limit: limit, transportSequence: transportSequence, now: now, delays: &delays)
        if burst.count > 0 { report.note(payloadBytes: burst.payloadBytes, packets: burst.count) }
        framesSent &+= burst.frames
        return burst
    }

    /// Stores the protected form of the packet that was sent last, if it is awaited.
    mutating func keepProtected(_ bytes: UnsafeRawBufferPointer) {
        guard let sequence = unprotected else { return }
        unprotected = nil
        history.noteProtected(sequence, bytes)
    }

    /// The packet that was sent last will not be stored in its protected form any more.
    mutating func forgetUnprotected() { unprotected = nil }

    /// A packet of the stream has arrived, so packets need not carry the MID any more.
    mutating func noteArrival() { announcesMid = false }

    /// The RTP timestamp of an instant; nil if it is not known yet.
    func timestamp(at instant: MediaInstant) -> RTPTimestamp? {
        packetizer?.timestamp(at: instant) ?? forwarded?.source.timestamp(at: instant)
    }

    /// A frame of the forwarded stream begins.
    mutating func noteFrame(now: MediaInstant) { lastFrame = now }

    /// The receiver reported this as the highest sequence number.
    mutating func noteHighestReceived(_ highest: UInt32) {
        reportedHighest = highest
        guard let last = tail.waitsFor else { return }
        let distance = SequenceNumber(truncating: last).distance(to: SequenceNumber(truncating: Int64(highest)))
        if distance >= 0 { tail.noteConfirmed() }
    }

    /// One of the last 64 packets sent that is large enough for a probe (over 400 bytes); the newest if there is none;
    /// nil if there is no packet to send again.
    var probePacket: Int64? {
        guard let newest = history.newestSent else { return nil }
        for sequence in stride(from: newest, to: newest &- 64, by: -1) {
            guard let entry = history.sent(sequence) else { break }
            if entry.length > 400 { return sequence }
        }
        return newest
    }
}
