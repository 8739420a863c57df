import MediaCore
import RTPWire

/// Answers NACKs (RFC 4585 section 6.2.1): decides which packets are sent again, and writes them, as RTX (RFC 4588) if
/// negotiated, else with the very bytes that were sent before.
struct Retransmitter {
    /// Retransmissions of one packet at most. At 50 % loss, one packet in a thousand is then still missing.
    private static let maximumRetransmissions = 10

    /// Requested packets that wait to be sent again. Overflow: the request is ignored.
    private var waiting = BoundedQueue<Int64>(capacity: 512, filler: 0)
    private var rtxSequence: SequenceNumber
    private var ignoredRTX = IgnoredRTXDetector()
    private var budget = RetransmissionBudget()
    /// The bitrate of requested retransmissions.
    private var rate = SentBitrateMeter()
    /// The oldest packet that is requested at present, and when it was last.
    private var oldest: (sequence: Int64, at: MediaInstant)?
    private(set) var nacks = 0
    private(set) var nackedPackets = 0
    /// Packets in NACKs that were not retransmitted.
    private(set) var nacksIgnored = 0
    /// Packets sent again, requested or not, and their bytes.
    private(set) var packets = 0
    private(set) var bytes = 0

    /// - Parameter first: the first sequence number of RTX packets.
    init(first: SequenceNumber) { rtxSequence = first }

    // MARK: Requests

    /// How many requested packets wait.
    var waitingCount: Int { waiting.count }
    var isEmpty: Bool { waiting.isEmpty }

    mutating func removeAll() {
        waiting.removeAll()
        oldest = nil
    }

    /// The bitrate of requested retransmissions over the last second.
    mutating func sentBitrate(now: MediaInstant) -> Bitrate { rate.rate(now: now) }

    /// Queues the packets of a NACK that are worth sending again.
    /// - Parameters:
    ///   - detectsIgnoredRTX: RTX was negotiated with a receiver that may ignore it.
    ///   - sent: in which the RTX packets are looked up.
    ///   - hasFeedback: the receiver has reported on packets, so the estimate is one of its path.
    /// - Returns: true if the receiver turned out to ignore RTX packets.
    mutating func handle(
        _ nack: Nack, detectsIgnoredRTX: Bool, maximumPacketSize: Int, path: PathConditions,
        sent: TransportSequenceHistory, hasFeedback: Bool,
        history: inout PacketHistory, now: MediaInstant
    ) -> Bool {
        nacks &+= 1
        let patience =
            max(MediaDuration(nanoseconds: path.roundTrip.nanoseconds / 10 &* 7), .milliseconds(10)) + path.queueDelay
        // A quarter of a second of retransmissions may wait. A receiver that has used half of the estimate for
        // retransmissions in the last second gets only recent packets again, twice at most; more would stall the video.
        let room = max(32, path.estimate.bitsPerSecond / 8 / 4 / maximumPacketSize)
        let isGreedy = rate.rate(now: now).bitsPerSecond > path.estimate.bitsPerSecond / 2
        let unacknowledged = history.unacknowledgedBytes(now: now)
        let fill = hasFeedback ? path.estimate : Bitrate(bitsPerSecond: 0)
        var isIgnored = false
        for number in nack {
            nackedPackets &+= 1
            let sequence =
                history.nextToSend &+ Int64(SequenceNumber(truncating: history.nextToSend).distance(to: number))
            let entry = history.sent(sequence)
            if entry?.isAcknowledged == false { noteRequested(sequence, path.roundTrip, history, now) }
            if detectsIgnoredRTX, !isIgnored { isIgnored = isRTXIgnored(sequence, sent, &history, now) }
            guard waiting.count < room, let entry, !entry.isQueued, !entry.isAcknowledged,
                entry.retransmissionCount < Self.maximumRetransmissions,
                !isGreedy || entry.retransmissionCount < 2 && now - entry.firstSent < .seconds(1) + path.roundTrip * 2,
                entry.retransmissionCount == 0 || now - entry.lastSent >= patience, now - entry.lastSent < .seconds(10),
                budget.take(entry.length, unacknowledged: unacknowledged, estimate: fill, now: now),
                waiting.append(sequence)
            else {
                nacksIgnored &+= 1
                continue
            }
            history.noteQueued(sequence, true)
        }
        return isIgnored
    }

    private mutating func noteRequested(
        _ sequence: Int64, _ roundTrip: MediaDuration, _ history: borrowing PacketHistory, _ now: MediaInstant
    ) {
        if let oldest, oldest.sequence < sequence, now - oldest.at < Self.memory(roundTrip),
            history.sent(oldest.sequence)?.isAcknowledged == false
        {
            return
        }
        oldest = (sequence, now)
    }

    /// The oldest packet that the receiver is known to lack, as it requests each again after a round trip.
    func oldestRequested(roundTrip: MediaDuration, now: MediaInstant) -> Int64? {
        guard let oldest, now - oldest.at < Self.memory(roundTrip) else { return nil }
        return oldest.sequence
    }

    private static func memory(_ roundTrip: MediaDuration) -> MediaDuration { roundTrip * 2 + .milliseconds(50) }

    /// Whether the request shows that the receiver ignores RTX packets: the packet's RTX packet was acknowledged.
    private mutating func isRTXIgnored(
        _ sequence: Int64, _ sent: TransportSequenceHistory, _ history: inout PacketHistory, _ now: MediaInstant
    ) -> Bool {
        guard let entry = history.sent(sequence), sent.isAcknowledged(entry.rtxTransportSequence) else {
            return false
        }
        history.noteRTXSequence(sequence, transportSequence: -1)
        return ignoredRTX.note(now: now)
    }

    // MARK: Packets

    /// The next requested packet that waits; nil if none does.
    mutating func takeNext(_ history: inout PacketHistory) -> Int64? {
        guard let sequence = waiting.popFirst() else { return nil }
        history.noteQueued(sequence, false)
        return sequence
    }

    /// A requested packet was sent again.
    mutating func noteSent(bytes: Int, now: MediaInstant) { rate.note(bytes: bytes, now: now) }

    /// Writes a packet again.
    /// - Parameter isRequested: false for a duplicate that was not requested; it does not count against the limit of
    ///   retransmissions.
    mutating func send(
        _ sequence: Int64, isRequested: Bool, _ parameters: SenderParameters, history: inout PacketHistory,
        egress: inout PacketEgress, into buffer: UnsafeMutableRawBufferPointer, now: MediaInstant
    ) -> SenderOutput? {
        guard let stream = parameters.video else { return nil }
        guard let ssrc = stream.rtxSSRC, let payloadType = stream.rtxPayloadType else {
            return sendProtected(sequence, &history, &egress, buffer, now)
        }
        guard let entry = history.sent(sequence), let bytes = history.bytes(entry) else { return nil }
        let length: Int
        do {
            length = try RTX.wrap(
                RTPPacketView(bytes), of: bytes, ssrc: ssrc, payloadType: payloadType,
                sequenceNumber: rtxSequence, mid: parameters.extensions[.mid].map { ($0, stream.mid) }, into: buffer)
        } catch {
            return nil
        }
        rtxSequence = rtxSequence.next
        if isRequested { history.noteRetransmitted(sequence, now: now) }
        if entry.layout.hasTransportSequence {
            history.noteRTXSequence(sequence, transportSequence: egress.sent.nextSequence)
        }
        packets &+= 1
        self.bytes &+= length
        return .rtp(egress.finish(length, entry.layout, buffer, video: sequence, now: now))
    }

    /// Sends the stored protected bytes, as protecting the same sequence number again would use a nonce twice.
    private mutating func sendProtected(
        _ sequence: Int64, _ history: inout PacketHistory, _ egress: inout PacketEgress,
        _ buffer: UnsafeMutableRawBufferPointer, _ now: MediaInstant
    ) -> SenderOutput? {
        guard let (bytes, entry) = history.protected(sequence) else { return nil }
        buffer.copyMemory(from: bytes)
        history.noteRetransmitted(sequence, now: now)
        if entry.layout.hasTransportSequence { egress.sent.noteRetransmitted(entry.transportSequence) }
        packets &+= 1
        self.bytes &+= entry.length
        egress.count(entry.length, now: now)
        return .protected(bytes.count)
    }
}
