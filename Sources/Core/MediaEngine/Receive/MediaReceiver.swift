public import MediaCore
public import RTPWire

/// The receiving side of an RTP session without I/O: RTP and RTCP packets go in; complete VP8 frames, Opus packets in
/// order, and RTCP packets come out.
///
/// Call a `handle` function, then `poll` until it returns `.wait`. Confined to one thread. Allocates only in `init`.
public final class MediaReceiver {
    private var state: ReceiverState

    /// - Parameters:
    ///   - seed: reserved for pseudorandom values.
    ///   - ntpEpoch: the wall clock at `now`.
    ///   - forwarded: gets the packets as they arrive. Video frames come out, too; of audio only the newest packet, at
    ///     once.
    public init(
        _ parameters: ReceiverParameters, seed: UInt64, ntpEpoch: NTPTimestamp, forwarded: ForwardedMedia? = nil,
        now: MediaInstant
    ) {
        state = ReceiverState(parameters, ntpEpoch: ntpEpoch, forwarded: forwarded, now: now)
    }

    // MARK: Input

    /// Takes in one RTP packet after SRTP unprotection. A malformed packet is counted and dropped.
    /// - Parameter arrival: when it reached the socket, for feedback and jitter; nil: `now`. Packets that are missing
    ///   are waited for from `now` on, as they may have arrived behind it.
    public func handleRTP(_ bytes: UnsafeRawBufferPointer, arrival: MediaInstant? = nil, now: MediaInstant) {
        state.handleRTP(bytes, arrival: arrival ?? now, now: now)
    }

    /// Takes in one RTCP datagram, compound or reduced-size (RFC 5506), after SRTCP unprotection.
    public func handleRTCP(_ bytes: UnsafeRawBufferPointer, now: MediaInstant) { state.handleRTCP(bytes, now: now) }

    /// Requests a key frame: because the decoder could not use a frame, and no frame is returned before that key frame,
    /// or because one is wanted.
    public func requestKeyframe(_ request: KeyframeRequest = .cannotContinue, now: MediaInstant) {
        state.requestKeyframe(request, now: now)
    }

    /// Limits what the sender sends, if it understands REMB; nil: not any more, after 5 s.
    public func limitBitrate(_ limit: Bitrate?) { state.limitBitrate(limit) }

    // MARK: Output

    /// The next output; call until it is `.wait`.
    /// - Parameter buffer: gets an RTCP packet; at least 1,200 bytes.
    public func poll(now: MediaInstant, into buffer: UnsafeMutableRawBufferPointer) -> ReceiverOutput {
        state.poll(now: now, into: buffer)
    }

    // MARK: State

    /// By XR reports (RFC 3611), if the sender answers them; else from a NACK to the retransmission, which includes its
    /// wait in the sender's pacer. Nil before the first answer.
    public var roundTripTime: MediaDuration? { state.roundTripTime }

    /// The sender's bandwidth estimate for the path, by its last report; nil if it sends none.
    public var estimate: Bitrate? { state.estimate }

    public var statistics: ReceiverStatistics { state.statistics }

    /// Video packets that were dropped because they are too long; the frames that they belong to are missing.
    public var tooLongPackets: Int { state.counters.drops.tooLong }
}
