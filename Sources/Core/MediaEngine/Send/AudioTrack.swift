import MediaCore
import RTPWire

/// Sends one Opus stream to a receiver (RFC 7587), with RED (RFC 2198) where negotiated: packets of its own, or those
/// of a forwarded stream under its own sequence numbers. Audio is not paced. At most 16 packets wait, or 64 of a
/// forwarded stream: then the oldest is dropped.
struct AudioTrack {
    let stream: AudioStreamParameters
    private static let capacity = 16
    /// Nearly all Opus packets fit.
    private static let usualPacket = 512
    /// Bytes of a packet's header at most.
    private let headerRoom: Int
    /// A longer gap between the packets of a forwarded stream is not passed on: receivers take a packet that follows
    /// more than 2^15 missing ones for an old one (RFC 3711 section 3.3.1). None that is missing longer is sent late.
    private static let longestGap: Int64 = 64
    private let forwarded: ForwardedAudio?
    private let packets: OpusPacketRing
    private let largestPacket: Int
    /// Those of the ring that wait, in the order in which they were stored.
    private var waiting: Range<Int64>
    private var numbering: Numbering?
    private var nextSequence: Int64
    private let epoch: MediaInstant
    private let timestampOffset: RTPTimestamp
    /// What follows the last packet that was appended.
    private var followingTimestamp: RTPTimestamp?
    private(set) var dropped = 0
    var report = SenderReportState()

    /// How positions become sequence numbers.
    private struct Numbering {
        /// Nothing before it is sent.
        var first: Int64
        var shift: Int64
    }

    /// A packet that is to be sent.
    struct Packet {
        fileprivate let content: OpusPacketRing.Packet
        fileprivate let sequence: Int64
        /// The position before which the receiver has got nothing.
        fileprivate let first: Int64
        /// The Opus packet, valid until the next one is taken in.
        let bytes: UnsafeRawBufferPointer
    }

    /// - Parameter source: what is sent; nil: what is appended.
    init(
        _ stream: AudioStreamParameters, forwarding source: ForwardedAudio? = nil, slotBytes: Int, epoch: MediaInstant,
        random: inout SeededRandom
    ) {
        self.stream = stream
        self.epoch = epoch
        forwarded = source
        packets =
            source?.packets
            ?? OpusPacketRing(capacity: Self.capacity, slotBytes: min(Self.usualPacket, slotBytes))
        largestPacket = slotBytes
        headerRoom = max(64, 40 &+ stream.mid.utf8.count)
        waiting = packets.end..<packets.end
        timestampOffset = RTPTimestamp(UInt32.random(in: .min ... .max, using: &random))
        nextSequence = Int64(UInt16.random(in: 0...0x7FFF, using: &random))
    }

    /// RTP timestamp of an instant, 48 kHz; nil if it is not known yet.
    func timestamp(at instant: MediaInstant) -> RTPTimestamp? {
        forwarded.map { $0.timestamp(at: instant) }
            ?? timestampOffset.advanced(by: instant - epoch, clockRate: AudioFormat.sampleRate)
    }

    // MARK: Input

    /// Appends an Opus packet.
    /// - Parameter packet: copied.
    /// - Returns: false if it is empty or too long, or the stream is forwarded.
    mutating func append(_ packet: UnsafeRawBufferPointer, captured: MediaInstant) -> Bool {
        guard forwarded == nil, !packet.isEmpty, fits(packet.count) else { return false }
        if packet.count > packets.slotBytes { packets.enlarge(to: largestPacket) }
        let (stamp, follows) = nextTimestamp(captured, samplesPerChannel: OpusPacket.samplesPerChannel(packet))
        packets.store(packet, at: packets.end, timestamp: stamp, isMarked: !follows)
        take()
        return true
    }

    /// Has the packets of the forwarded stream sent that have come since.
    /// - Returns: false if there are none.
    mutating func takeForwarded() -> Bool {
        guard forwarded != nil, packets.end > waiting.upperBound else { return false }
        take()
        return true
    }

    private mutating func take() {
        let oldest = max(waiting.lowerBound, packets.end &- Int64(packets.capacity))
        dropped &+= Int(oldest &- waiting.lowerBound)
        waiting = oldest..<packets.end
    }

    /// Leaves out what the forwarded stream has got: the receiver cannot be reached. Sequence numbers go on without a
    /// gap afterwards.
    mutating func skipForwarded() {
        guard forwarded != nil, packets.end > waiting.lowerBound else { return }
        waiting = packets.end..<packets.end
        numbering = nil
    }

    private func fits(_ length: Int) -> Bool { length &+ headerRoom <= largestPacket }

    /// The RTP timestamp of the next packet. Within a talk spurt it advances by the packet's samples, so that jitter of
    /// the capture clock (up to 40 ms) is inaudible. After a gap it follows the capture clock, and the marker bit is
    /// set (RFC 3551 section 4.1).
    private mutating func nextTimestamp(
        _ captured: MediaInstant, samplesPerChannel: Int
    ) -> (RTPTimestamp, follows: Bool) {
        let clock = timestampOffset.advanced(by: captured - epoch, clockRate: AudioFormat.sampleRate)
        var stamp = clock
        var follows = false
        if let last = followingTimestamp, abs(last.distance(to: clock)) < AudioFormat.sampleRate / 25 {
            stamp = last
            follows = true
        }
        followingTimestamp = stamp.advanced(by: samplesPerChannel)
        return (stamp, follows)
    }

    // MARK: Output

    /// No packet waits.
    var isEmpty: Bool { waiting.isEmpty }

    /// The packet that is to be sent next; nil if none waits.
    mutating func takeNext() -> Packet? {
        while let number = waiting.first {
            waiting = (number &+ 1)..<waiting.upperBound
            guard let content = packets.packet(stored: number) else { continue }
            let numbering = numbering(at: content.position)
            self.numbering = numbering
            guard content.position >= numbering.first else { continue }
            let sequence = content.position &+ numbering.shift
            nextSequence = max(nextSequence, sequence &+ 1)
            return Packet(
                content: content, sequence: sequence, first: numbering.first, bytes: packets.bytes(content))
        }
        return nil
    }

    private func numbering(at position: Int64) -> Numbering {
        if let numbering, position &+ numbering.shift <= nextSequence &+ Self.longestGap { return numbering }
        return Numbering(first: position, shift: nextSequence &- position)
    }

    /// Writes the RTP packet of an Opus packet.
    /// - Parameters:
    ///   - distances: which earlier packets to carry again in RED. Those that do not fit are left out, and those with a
    ///     pause between them and this packet.
    /// - Returns: its length, and where its header extensions lie; nil if it is too long.
    func write(
        _ packet: Packet, _ distances: RedundancyDistances, ids: HeaderExtensionMap,
        into buffer: UnsafeMutableRawBufferPointer
    ) -> (length: Int, layout: WrittenPacketLayout)? {
        guard fits(packet.bytes.count) else { return nil }
        let count = stream.redundantPayloadType == nil ? 0 : fitting(distances, packet)
        let type = count > 0 ? stream.redundantPayloadType ?? stream.payloadType : stream.payloadType
        let header = RTPHeader(
            marker: packet.content.isMarked || packet.content.position == packet.first, payloadType: type,
            sequenceNumber: SequenceNumber(truncating: packet.sequence), timestamp: packet.content.timestamp,
            ssrc: stream.ssrc)
        let extensions = HeaderExtensionValues(
            transportSequence: SequenceNumber(0), absSendTime: AbsoluteSendTime(rawValue: 0),
            mid: stream.mid)
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(largestPacket, buffer.count)])
        do throws(BufferFull) {
            let layout = try WrittenPacketLayout.write(header, extensions: extensions, ids: ids, into: room)
            var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: room[layout.headerLength...]))
            if count > 0 { try writeOlder(distances.prefix(count), packet, into: &writer) }
            try writer.write(packet.bytes)
            return (layout.headerLength &+ writer.position, layout)
        } catch {
            return nil
        }
    }

    // MARK: RED

    /// How many of the packets at these distances can be carried again: adjacent in time, and within the limits of RED.
    private func fitting(_ distances: RedundancyDistances, _ packet: Packet) -> Int {
        var left = largestPacket &- headerRoom &- packet.bytes.count &- RedundantPayload.lastHeaderLength
        var count = 0
        while count < distances.count {
            let distance = distances[count]
            guard distance > 0, let old = older(distance, packet) else { break }
            let offset = old.timestamp.distance(to: packet.content.timestamp)
            left &-= RedundantPayload.headerLength &+ old.length
            guard offset == distance &* packet.content.samplesPerChannel, left >= 0,
                offset <= RedundantPayload.farthestOffset, old.length <= RedundantPayload.longestBlock
            else { break }
            count &+= 1
        }
        return count
    }

    /// The packet `distance` before this one; nil if it is missing.
    private func older(_ distance: Int, _ packet: Packet) -> OpusPacketRing.Packet? {
        let position = packet.content.position &- Int64(distance)
        return position >= packet.first ? packets.packet(position) : nil
    }

    /// Writes the RED headers and blocks of the earlier packets, oldest first.
    private func writeOlder(
        _ distances: RedundancyDistances, _ packet: Packet, into writer: inout ByteWriter
    ) throws(BufferFull) {
        for index in stride(from: distances.count &- 1, through: 0, by: -1) {
            guard let old = older(distances[index], packet) else { continue }
            try RedundantPayload.write(
                payloadType: stream.payloadType, timestampOffset: old.timestamp.distance(to: packet.content.timestamp),
                length: old.length, into: &writer)
        }
        try RedundantPayload.write(payloadType: stream.payloadType, into: &writer)
        for index in stride(from: distances.count &- 1, through: 0, by: -1) {
            guard let old = older(distances[index], packet) else { continue }
            try writer.write(packets.bytes(old))
        }
    }
}
