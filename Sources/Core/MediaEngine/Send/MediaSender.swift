public import MediaCore
public import RTPWire

/// The sending side of an RTP session without I/O: encoded frames and Opus packets go in, RTP and RTCP packets come
/// out.
///
/// Call a `handle` function, then `poll` until it returns `.wait`. Confined to one thread. Allocates only in `init`;
/// with a forwarded source also when the bitrate has risen.
public final class MediaSender {
    private var state: SenderState

    /// - Parameters:
    ///   - source: the media that is sent; nil: that of `handleFrame` and `handleAudio`.
    ///   - seed: for initial sequence numbers, timestamps and PictureIDs.
    ///   - ntpEpoch: the wall clock at `now`, for sender reports.
    public init(
        _ parameters: SenderParameters, forwarding source: ForwardedMedia? = nil, seed: UInt64, ntpEpoch: NTPTimestamp,
        now: MediaInstant
    ) {
        state = SenderState(parameters, forwarding: source, seed: seed, ntpEpoch: ntpEpoch, now: now)
    }

    // MARK: Input

    /// Takes in an encoded frame: it is packetized and waits for the pacer.
    ///
    /// A key frame replaces whatever still waits. A frame that does not fit into the history beside what waits is
    /// refused; if it is of the base layer, a key frame is requested.
    /// - Parameters:
    ///   - bytes: copied.
    ///   - info: a recovery frame from a reference that the receiver has acknowledged replaces whatever still waits,
    ///     too.
    public func handleFrame(_ bytes: UnsafeRawBufferPointer, _ info: FrameInfo, now: MediaInstant) {
        state.handleFrame(bytes, info, now: now)
    }

    /// The frame that repeats the last one on a still screen, after `SenderEvent.skipFrameDue`; nil: none is due.
    public func takeSkipFrame() -> [UInt8]? { state.video.takeSkipFrame() }

    /// Takes in what `takeSkipFrame` has become by encryption; copied.
    public func handleSkipFrame(_ bytes: UnsafeRawBufferPointer, now: MediaInstant) {
        state.video.appendSkipFrame(bytes, now: now)
    }

    /// Takes in what the forwarded source has got; video waits for the pacer.
    public func handleForwarded(now: MediaInstant) { state.handleForwarded(now: now) }

    /// Sends no temporal layers of the forwarded video above this one.
    public func limitForwardedLayers(to layer: UInt8) { state.video.forwarded?.filter.maximumLayer = layer }

    /// Sends the forwarded video from the newest key frame on, to a receiver that has got nothing yet.
    /// - Returns: false if that is too much, or there is none.
    public func rewindForwarded(now: MediaInstant) -> Bool {
        guard state.video.forwarded?.rewind() == true else { return false }
        state.handleForwarded(now: now)
        return true
    }

    /// The receiver got nothing for a while, and can only go on with a key frame.
    public func resetForwarded() { state.video.forwarded?.reset() }

    /// Leaves out the audio that the forwarded source has got: the receiver cannot be reached.
    public func skipForwardedAudio() {
        for index in state.tracks.indices { state.tracks[index].skipForwarded() }
    }

    /// Takes in one Opus packet; it is sent without pacing.
    /// - Parameter track: index into the parameters' audio streams.
    public func handleAudio(_ bytes: UnsafeRawBufferPointer, track: Int, captured: MediaInstant, now: MediaInstant) {
        state.handleAudio(bytes, track: track, captured: captured, now: now)
    }

    /// Takes in one RTCP datagram, compound or reduced-size (RFC 5506), after SRTCP unprotection.
    ///
    /// Its processing is bounded by `RTCPWorkLimiter`, whatever counts the messages claim; what exceeds the limit is
    /// counted and dropped. Only the first transport-wide feedback message of a datagram is used.
    public func handleRTCP(_ bytes: UnsafeRawBufferPointer, now: MediaInstant) { state.handleRTCP(bytes, now: now) }

    /// Ends the session: the next `poll` returns a BYE, and nothing is sent after it. May be called twice.
    public func end(now: MediaInstant) { state.rtcp.end() }

    /// The key frame of `SenderEvent.keyframeNeeded` is not made at present. The event comes again, unless the receiver
    /// repeats its requests, has by then all that it lacked, or gets another key frame.
    public func postponeKeyframe(now: MediaInstant) { state.postponeKeyframe(now) }

    // MARK: Output

    /// Bytes that the transport may add to a packet: the longest SRTP tag (16) and some more.
    public static let protectionRoom = 20

    /// The next output; call until it is `.wait`.
    /// - Parameter buffer: gets the packet; at least the maximum packet size (or 1,200 if that is more) and
    ///   `protectionRoom` bytes.
    public func poll(now: MediaInstant, into buffer: UnsafeMutableRawBufferPointer) -> SenderOutput {
        state.poll(now: now, into: buffer)
    }

    /// Whether `poll` has anything to return after a `handleRTCP`. If not, the deadline of the last `poll` still holds.
    public func isPollDue(now: MediaInstant) -> Bool { state.isPollDue(now: now) }

    /// Writes several RTP packets of audio, or of forwarded video, at once: protect and send them in order, then call
    /// `poll`.
    /// - Parameter slots: as the buffer of `poll`.
    /// - Parameter delays: gets for how long each packet could have been sent; for `ForwardedVideo.note`.
    /// - Returns: how many; 0 if there are none, or if `poll` has other packets to return first.
    public func pollBurst(now: MediaInstant, into slots: PacketSlots, delays: inout DelayHistogram) -> Int {
        state.pollBurst(now: now, into: slots, delays: &delays)
    }

    /// Adds the memory that `handleForwarded` and `pollBurst` are going to use.
    public func addMemory(to list: inout PrefetchList) {
        list.add(self, bytes: MemoryLayout<SenderState>.size &+ 16)
        state.addMemory(to: &list)
    }

    /// Stores the packet that `poll` returned last in its protected form. Without RTX these very bytes are sent on a
    /// NACK; with RTX the call is ignored.
    /// - Parameter bytes: copied; at most `protectionRoom` longer than the packet.
    public func keepProtected(_ bytes: UnsafeRawBufferPointer) { state.video.keepProtected(bytes) }

    // MARK: Frames

    /// The RTP timestamp of a frame that was captured then; nil if it is not known yet.
    public func videoTimestamp(at instant: MediaInstant) -> RTPTimestamp? { state.video.timestamp(at: instant) }

    /// The number of frames whose last packet was sent.
    public var framesSent: Int { state.video.framesSent }

    /// A base layer frame was refused, and no key frame has followed yet. The receiver cannot detect that one is
    /// missing.
    public var hasGap: Bool { state.keyframeRequests.hasGap }

    /// Packets of frames wait for the pacer.
    public var hasFramesWaiting: Bool { !state.video.history.isEmpty }

    /// Long-term references were negotiated.
    public var hasReferences: Bool { state.hasReferences }

    /// The receiver has acknowledged a frame.
    public var hasAcknowledged: Bool { state.keyframeRequests.hasAcknowledged }

    /// The newest long-term reference is not acknowledged yet, so none should be overwritten.
    public func awaitsAcknowledgement(now: MediaInstant) -> Bool {
        hasReferences && state.keyframeRequests.awaitsAcknowledgement(now: now)
    }

    // MARK: Bandwidth

    /// The receiver is on this machine. There is no queue to fill on the way to it, so that packets leave as they come
    /// until it sends feedback; `Pacer` still limits how many leave together.
    public func startUnpaced() { state.egress.startsUnpaced = true }

    /// The bandwidth estimate for all media.
    public var estimate: Bitrate { state.bandwidth.estimate }

    /// The bitrate for video frames: 97 % of the estimate (the rest is headers) after audio and retransmissions, which
    /// are counted up to half of the estimate.
    public func videoEstimate(now: MediaInstant) -> Bitrate { state.videoEstimate(now: now) }

    /// The bitrate for all audio: a third of the estimate.
    public var audioEstimate: Bitrate { Bitrate(bitsPerSecond: estimate.bitsPerSecond / 3) }

    /// From receiver reports, else from transport-wide feedback; nil until the receiver has answered.
    public var roundTripTime: MediaDuration? { state.roundTripTimes.time }

    /// The bitrate of all RTP packets sent over the last second.
    public func sentBitrate(now: MediaInstant) -> Bitrate { state.egress.sentBitrate(now: now) }

    /// How long the video packets and retransmissions that wait need at the pacing rate. Over about 40 ms no new frame
    /// should be made.
    public var backlog: MediaDuration { state.backlog }

    /// What limits the bitrate at present.
    public var limit: QualityLimitationReason { state.limit }

    public var statistics: SenderStatistics { state.statistics }
}
