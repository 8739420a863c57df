import MediaCore
import RTPWire

/// Packetizes one Opus stream of a sender (RFC 7587), with RED (RFC 2198) where negotiated, and queues the packets, as
/// audio is not paced. Overflow of the 16 packets: the oldest is dropped.
struct AudioTrack {
    let stream: AudioStreamParameters
    private static let capacity = 16
    private var slab: PacketSlab
    private let largestPacket: Int
    /// Nearly all Opus packets fit, with RED, too.
    private static let usualPacket = 640
    private var lengths = [Int](repeating: 0, count: capacity)
    private var layouts = [RTPPacketLayout](repeating: RTPPacketLayout(), count: capacity)
    /// Where the Opus packet lies in each slot, for RED packets that carry it again.
    private var sentPackets = [SentOpusPacket](repeating: SentOpusPacket(), count: capacity)

    /// A sent Opus packet in its slot.
    private struct SentOpusPacket {
        var sequence: Int64 = -1
        var timestamp = RTPTimestamp(0)
        var offset = 0
        var length = 0
    }
    private var nextToSend: Int64
    private var nextToWrite: Int64
    private let epoch: MediaInstant
    private let timestampOffset: RTPTimestamp
    private var lastTimestamp: RTPTimestamp?
    private(set) var dropped = 0
    var report = SenderReportState()

    init(_ stream: AudioStreamParameters, slotBytes: Int, epoch: MediaInstant, random: inout SeededRandom) {
        self.stream = stream
        self.epoch = epoch
        slab = PacketSlab(capacity: Self.capacity, slotBytes: min(Self.usualPacket, slotBytes))
        largestPacket = slotBytes
        timestampOffset = RTPTimestamp(UInt32.random(in: .min ... .max, using: &random))
        nextToSend = Int64(UInt16.random(in: 0...0x7FFF, using: &random))
        nextToWrite = nextToSend
    }

    /// RTP timestamp of an instant, 48 kHz.
    func timestamp(at instant: MediaInstant) -> RTPTimestamp {
        timestampOffset.advanced(by: instant - epoch, clockRate: AudioFormat.sampleRate)
    }

    /// Appends the RTP packet of one Opus packet.
    /// - Parameters:
    ///   - packet: one Opus packet; copied.
    ///   - distances: which earlier packets to carry again in RED. Those that do not fit are left out, and those with a
    ///     pause between them and this packet.
    /// - Returns: false if the packet is empty or too long for a slot.
    mutating func append(
        _ packet: UnsafeRawBufferPointer, captured: MediaInstant, ids: HeaderExtensionMap,
        distances: RedundancyDistances = .none
    ) -> Bool {
        guard !packet.isEmpty, packet.count &+ 64 <= largestPacket else { return false }
        if slab.slotBytes < largestPacket, packet.count &* 3 &+ 128 > slab.slotBytes { enlarge() }
        if nextToWrite &- nextToSend == Int64(Self.capacity) {
            nextToSend &+= 1
            dropped &+= 1
        }
        let samplesPerChannel = OpusPacket.samplesPerChannel(packet)
        let (stamp, follows) = nextTimestamp(captured, samplesPerChannel: samplesPerChannel)
        let index = Int(nextToWrite % Int64(Self.capacity))
        let slot = slab[index]
        let room = slab.slotBytes &- 64 &- packet.count &- RedundantPayload.lastHeaderLength
        let older = stream.redundantPayloadType == nil ? 0 : fitting(distances, stamp, samplesPerChannel, room)
        let type = older > 0 ? stream.redundantPayloadType ?? stream.payloadType : stream.payloadType
        let header = RTPHeader(
            marker: !follows, payloadType: type, sequenceNumber: SequenceNumber(truncating: nextToWrite),
            timestamp: stamp, ssrc: stream.ssrc)
        let extensions = HeaderExtensionValues(
            transportSequence: SequenceNumber(0), absSendTime: AbsoluteSendTime(rawValue: 0),
            mid: stream.mid)
        do throws(BufferFull) {
            let layout = try RTPPacketLayout.write(header, extensions: extensions, ids: ids, into: slot)
            var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: slot[layout.headerLength...]))
            if older > 0 { try writeOlder(distances.prefix(older), stamp, into: &writer) }
            sentPackets[index] = SentOpusPacket(
                sequence: nextToWrite, timestamp: stamp, offset: layout.headerLength &+ writer.position,
                length: packet.count)
            try writer.write(packet)
            lengths[index] = layout.headerLength &+ writer.position
            layouts[index] = layout
        } catch {
            return false
        }
        nextToWrite &+= 1
        return true
    }

    /// Makes room for packets over the usual size, once.
    private mutating func enlarge() {
        let larger = PacketSlab(capacity: Self.capacity, slotBytes: largestPacket)
        for index in 0..<Self.capacity { larger[index].copyMemory(from: UnsafeRawBufferPointer(slab[index])) }
        slab = larger
    }

    /// Leaves out one packet that was lost before: the receiver conceals it.
    mutating func skip(samplesPerChannel: Int) {
        guard nextToSend == nextToWrite, let last = lastTimestamp else { return }
        nextToWrite &+= 1
        nextToSend = nextToWrite
        lastTimestamp = last.advanced(by: samplesPerChannel)
    }

    /// How many of the packets at these distances can be carried again: adjacent in time, and within the limits of RED.
    private func fitting(
        _ distances: RedundancyDistances, _ stamp: RTPTimestamp, _ samplesPerChannel: Int, _ room: Int
    ) -> Int {
        var left = room
        var count = 0
        while count < distances.count {
            let distance = distances[count]
            guard (1..<Self.capacity).contains(distance), nextToWrite >= Int64(distance) else { break }
            let old = sentPackets[place(behind: distance)]
            let offset = old.timestamp.distance(to: stamp)
            left &-= RedundantPayload.headerLength &+ old.length
            guard old.sequence == nextToWrite &- Int64(distance), offset == distance &* samplesPerChannel, left >= 0,
                offset <= RedundantPayload.farthestOffset, old.length <= RedundantPayload.longestBlock
            else { break }
            count &+= 1
        }
        return count
    }

    /// Slot of the packet `distance` before the next one.
    private func place(behind distance: Int) -> Int {
        Int((nextToWrite &- Int64(distance)) % Int64(Self.capacity))
    }

    /// Writes the RED headers and blocks of the earlier packets, oldest first.
    private func writeOlder(
        _ distances: RedundancyDistances, _ stamp: RTPTimestamp, into writer: inout ByteWriter
    ) throws(BufferFull) {
        for index in stride(from: distances.count &- 1, through: 0, by: -1) {
            let old = sentPackets[place(behind: distances[index])]
            try RedundantPayload.write(
                payloadType: stream.payloadType, timestampOffset: old.timestamp.distance(to: stamp), length: old.length,
                into: &writer)
        }
        try RedundantPayload.write(payloadType: stream.payloadType, into: &writer)
        for index in stride(from: distances.count &- 1, through: 0, by: -1) {
            let place = place(behind: distances[index])
            let old = sentPackets[place]
            try writer.write(
                UnsafeRawBufferPointer(rebasing: slab[place][old.offset..<(old.offset &+ old.length)]))
        }
    }

    /// The oldest packet that waits to be sent; nil if there is none.
    var next: (bytes: UnsafeRawBufferPointer, layout: RTPPacketLayout)? {
        guard nextToSend < nextToWrite else { return nil }
        let index = Int(nextToSend % Int64(Self.capacity))
        return (UnsafeRawBufferPointer(rebasing: slab[index][0..<lengths[index]]), layouts[index])
    }

    /// No packet waits.
    var isEmpty: Bool { nextToSend >= nextToWrite }

    mutating func popNext() { nextToSend &+= 1 }

    /// The RTP timestamp of the next packet. Within a talk spurt it advances by the packet's samples, so that jitter of
    /// the capture clock (up to 40 ms) is inaudible. After a gap it follows the capture clock, and the marker bit is
    /// set (RFC 3551 section 4.1).
    private mutating func nextTimestamp(
        _ captured: MediaInstant, samplesPerChannel: Int
    ) -> (RTPTimestamp, follows: Bool) {
        let clock = timestamp(at: captured)
        var stamp = clock
        var follows = false
        if let last = lastTimestamp, abs(last.distance(to: clock)) < AudioFormat.sampleRate / 25 {
            stamp = last
            follows = true
        }
        lastTimestamp = stamp.advanced(by: samplesPerChannel)
        return (stamp, follows)
    }
}

/// The duration of an Opus packet from its TOC byte (RFC 6716 section 3.1).
package enum OpusPacket {
    /// Samples of one channel at 48 kHz, 120...5760; 960 if the packet is malformed.
    package static func samplesPerChannel(_ packet: UnsafeRawBufferPointer) -> Int {
        guard let first = packet.first else { return 960 }
        let configuration = Int(first >> 3)
        let size: Int
        switch configuration {
        case 0..<12: size = configuration & 3 == 3 ? 2_880 : 480 << (configuration & 3)
        case 12..<16: size = configuration & 1 == 0 ? 480 : 960
        default: size = 120 << (configuration & 3)
        }
        let count: Int
        switch first & 3 {
        case 0: count = 1
        case 1, 2: count = 2
        default: count = packet.count > 1 ? Int(packet[1] & 0x3F) : 0
        }
        let samplesPerChannel = size &* count
        return (1...5_760).contains(samplesPerChannel) ? samplesPerChannel : 960
    }
}
