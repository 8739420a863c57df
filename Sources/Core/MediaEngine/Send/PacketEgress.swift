import MediaCore
import RTPWire

/// The last step before a packet leaves (compare libwebrtc's `rtp_sender_egress.cc`): fills in the header extensions
/// that depend on the send time, and records the packet for feedback, pacing and bitrates.
struct PacketEgress {
    /// The sent packets, in which transport-wide feedback is looked up.
    var sent: TransportSequenceHistory
    var pacer: Pacer
    /// The receiver is on this machine, and has sent no feedback yet.
    var startsUnpaced = false
    var stall: StallDetector
    /// The bitrate of all RTP packets.
    private(set) var rate = SentBitrateMeter()
    private(set) var audioRate = SentBitrateMeter()
    /// RTP packets of all streams, and their bytes.
    private(set) var packets = 0
    private(set) var bytes = 0

    /// - Parameter historyGrows: as for `TransportSequenceHistory`.
    init(historyGrows: Bool, pacingRate: Bitrate, now: MediaInstant) {
        sent = TransportSequenceHistory(capacity: 8_192, grows: historyGrows, first: 1)
        pacer = Pacer(rate: pacingRate, now: now)
        stall = StallDetector(now: now)
    }

    /// Fills in the header extensions of the packet in the buffer, and counts it.
    /// - Parameter video: the sequence number of the video packet that it has; -1: none.
    /// - Returns: the packet's length.
    mutating func finish(
        _ length: Int, _ layout: WrittenPacketLayout, _ buffer: UnsafeMutableRawBufferPointer, isAudio: Bool = false,
        video: Int64 = -1, now: MediaInstant
    ) -> Int {
        let packet = UnsafeMutableRawBufferPointer(rebasing: buffer[0..<length])
        if layout.hasTransportSequence {
            let number = sent.note(
                bytes: length, now: now, isDuringStall: stall.isStalled, isAudio: isAudio,
                video: SequenceNumber(truncating: video))
            layout.patch(number, in: packet)
        }
        if layout.hasAbsSendTime { layout.patch(AbsoluteSendTime(now), in: packet) }
        if isAudio { audioRate.note(bytes: length, now: now) }
        count(length, now: now)
        return length
    }

    /// Counts a packet that is sent again with the very bytes of its first transmission.
    mutating func count(_ length: Int, now: MediaInstant) {
        pacer.note(bytes: length, now: now)
        rate.note(bytes: length, now: now)
        packets &+= 1
        bytes &+= length
    }

    /// Counts video packets that are sent together.
    mutating func note(
        _ burst: PacketHistory.Burst, _ slots: PacketSlots, hasTransportSequence: Bool, now: MediaInstant
    ) {
        if hasTransportSequence {
            let first = burst.last &- Int64(burst.count) &+ 1
            for index in 0..<burst.count {
                _ = sent.note(
                    bytes: slots.lengths[index], now: now, isDuringStall: false,
                    video: SequenceNumber(truncating: first &+ Int64(index)))
            }
        }
        pacer.note(bytes: burst.bytes, packets: burst.count, now: now)
        rate.note(bytes: burst.bytes, now: now)
        packets &+= burst.count
        bytes &+= burst.bytes
    }

    /// The bitrate sent over the last second.
    mutating func sentBitrate(now: MediaInstant) -> Bitrate { rate.rate(now: now) }

    /// The bitrate of audio sent over the last second.
    mutating func sentAudioBitrate(now: MediaInstant) -> Bitrate { audioRate.rate(now: now) }
}
