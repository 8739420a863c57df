public import MediaCore
import RTPWire

/// The packets of a video stream that is forwarded without being decoded, in order, kept once for all receivers.
///
/// A `MediaReceiver` puts them in, and any number of `MediaSender`s take them out and answer NACKs from here. A packet
/// behind a gap waits until the gap is filled, or a key frame begins: no receiver could decode it before. The memory is
/// a ring; its oldest packets are overwritten.
/// - Isolation: confined to one thread, but for `MediaSender.handleForwarded` and `pollBurst`, which only read it:
///   several threads may call them, each for other senders, while nothing is put in. Allocates only in `init`.
public final class ForwardedVideo {
    /// A packet of the stream.
    struct Packet {
        /// Counts the packets of the stream; consecutive, unlike sequence numbers.
        var position: Int64 = -1
        /// When it could be sent.
        var available = MediaInstant(nanoseconds: 0)
        /// Of the payload, 0 if the packet is to be left out.
        var length = 0
        var timestamp = RTPTimestamp(0)
        var isMarked = false
        /// The packet is the first of a frame.
        var isFrameStart = false
        /// The packet is the first of a key frame; before it is available: it has the parameter sets of one.
        var isKeyframe = false
        /// The packet holds nothing of the picture itself; see `DepacketizedVideo`.
        var isNonVCL = false
        /// Temporal layer; 0 is the base.
        var layer: UInt8 = 0
        var layerSwitch = LayerSwitch.none
        /// No other frame refers to it.
        var isNonReference = false
        /// Where in the payload the picture ID lies; 0: there is none.
        var pictureIDOffset = 0
        /// The picture ID has 15 bits, not 7.
        var isPictureIDLong = false
        /// From the source's header extension.
        var colorSpace: ColorSpace?
    }

    /// Which packets can be sent.
    private struct Order {
        /// The position of sequence number 0 in the stream's first round.
        var shift: Int64?
        var highest: Int64 = -1
        /// The position of the next packet; those before it can be sent.
        var end: Int64 = 0
        /// The key frame after the last gap that was given up; nothing before it is sent any more.
        var resumption: Int64 = 0
        /// Nothing is sent before the next key frame.
        var waitsForKeyframe = true
    }

    /// The frame of which packets come.
    private struct OpenFrame {
        var isOpen = false
        /// It is a key frame, and its packets so far hold nothing of its picture.
        var isHeader = false
    }

    /// What came from the newest key frame on.
    struct Group {
        /// The first packet of the key frame; nil before the first one.
        var start: Int64?
        var bytes = 0
        var frames = 0
    }

    public let codec: VideoCodec
    private let slab: PacketSlab
    private var packets: [Packet]
    private let mask: Int64
    private var order = Order()
    private var frame = OpenFrame()
    private(set) var group = Group()
    private var layerMeter = LayerMeter()
    /// The bitrate of the base layer's payloads over the last second, as of the newest frame of another layer.
    private(set) var baseBitrate = Bitrate(bitsPerSecond: 0)
    /// Of the newest frame; nil before the first.
    private(set) var lastTimestamp: RTPTimestamp?
    private var clock: (timestamp: RTPTimestamp, instant: MediaInstant)?
    /// From when packets could be sent until they were given to the senders' transports, of all receivers.
    public private(set) var delays = DelayHistogram()
    /// Counts the sources; see ``ForwardedInput``.
    fileprivate var sources = 0
    /// For packets that are written again; see `ForwardedPacketWriter.scratch`.
    let scratch = PacketSlab(capacity: 1, slotBytes: 2_048)
    /// Called when packets can be sent. The callee must not call the `MediaReceiver`, which is taking a packet in.
    public var onPackets: (() -> Void)?

    /// The most frames that a receiver that joins gets at once.
    public static let replayedFrames = 240
    /// The longest payload in bytes: more than an Ethernet packet can bring, with the headers of IP, UDP and RTP and
    /// SRTP's tag. A receiver's header may be longer than the source's; IP fragments a datagram that exceeds the path's
    /// MTU then.
    public static let largestPayload = 1_472
    /// Packets that may stand before the parameter sets of a key frame.
    private static let mostPacketsBefore = 16
    /// With the header and the protection of a receiver.
    static let largestPacket = largestPayload + 128

    /// - Parameter capacity: of the ring, in packets; a power of two.
    public init(_ codec: VideoCodec, capacity: Int = 2_048) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "a ring of \(capacity) packets")
        self.codec = codec
        slab = PacketSlab(capacity: capacity, slotBytes: Self.largestPayload)
        packets = Array(repeating: Packet(), count: capacity)
        mask = Int64(capacity - 1)
    }

    var end: Int64 { order.end }
    var resumption: Int64 { order.resumption }

    // MARK: The source

    /// Takes in a packet.
    /// - Parameters:
    ///   - sequence: the unwrapped sequence number.
    ///   - part: of the same packet.
    ///   - colorSpace: of the packet's header extension.
    /// - Returns: false if the payload is too long. No receiver could use what is left of its frame, so a key frame is
    ///   needed.
    @discardableResult
    func insert(
        _ sequence: Int64, _ packet: RTPPacketView, _ part: DepacketizedVideo, colorSpace: ColorSpace? = nil,
        now: MediaInstant
    ) -> Bool {
        let shift = order.shift ?? order.highest &+ 1 &- sequence
        order.shift = shift
        let position = sequence &+ shift
        guard position >= order.end, packets[Int(position & mask)].position < position else { return true }
        guard packet.payload.count <= Self.largestPayload else {
            order.waitsForKeyframe = true
            return false
        }
        store(position, packet, part, colorSpace)
        if position &- order.end >= Int64(packets.count) { order.waitsForKeyframe = true }
        if part.isKeyframe, order.waitsForKeyframe || position > order.end { resume(at: firstPacket(before: position)) }
        guard !order.waitsForKeyframe, packets[Int(order.end & mask)].position == order.end else { return true }
        if advance(now) { onPackets?() }
        return true
    }

    /// Goes on with a key frame, unless nothing is missing before it.
    private func resume(at start: Int64) {
        guard order.waitsForKeyframe || start > order.end else { return }
        (order.end, order.resumption) = (start, start)
        order.waitsForKeyframe = false
        frame.isOpen = false
    }

    /// The first packet of the frame of parameter sets at this position.
    private func firstPacket(before position: Int64) -> Int64 {
        let timestamp = packets[Int(position & mask)].timestamp
        var first = position
        for _ in 0..<Self.mostPacketsBefore where first > order.end {
            let packet = packets[Int((first &- 1) & mask)]
            guard packet.position == first &- 1, packet.isNonVCL, packet.timestamp == timestamp, !packet.isMarked else {
                break
            }
            first &-= 1
        }
        return first
    }

    fileprivate func beginSource() -> Int {
        sources += 1
        restart()
        return sources
    }

    /// The source's sequence numbers and picture IDs begin anew, with a key frame.
    func restart() {
        order.shift = nil
        order.waitsForKeyframe = true
        order.end = order.highest &+ 1
    }

    private func store(
        _ position: Int64, _ packet: RTPPacketView, _ part: DepacketizedVideo, _ colorSpace: ColorSpace?
    ) {
        let index = Int(position & mask)
        slab[index].copyMemory(from: packet.payload)
        packets[index] = Packet(
            position: position, length: part.isPadding ? 0 : packet.payload.count, timestamp: packet.timestamp,
            isMarked: packet.marker, isFrameStart: part.isFrameStart, isKeyframe: part.isKeyframe,
            isNonVCL: part.isNonVCL, layer: part.layer, layerSwitch: part.layerSwitch,
            isNonReference: part.isNonReference, colorSpace: colorSpace)
        (packets[index].pictureIDOffset, packets[index].isPictureIDLong) = pictureID(packet.payload)
        order.highest = max(order.highest, position)
    }

    /// Where the picture ID lies: RFC 7741 section 4.2, RFC 9628 section 4.2.
    private func pictureID(_ payload: UnsafeRawBufferPointer) -> (offset: Int, isLong: Bool) {
        guard payload.count > 3 else { return (0, false) }
        switch codec {
        case .vp8 where payload[0] & 0x80 != 0 && payload[1] & 0x80 != 0: return (2, payload[2] & 0x80 != 0)
        case .vp9 where payload[0] & 0x80 != 0: return (1, payload[1] & 0x80 != 0)
        default: return (0, false)
        }
    }

    /// Makes the packets without a gap before them available. The beginning of a frame waits until it is known whether
    /// it is a key frame.
    /// - Returns: false if there are none.
    private func advance(_ now: MediaInstant) -> Bool {
        let first = order.end
        while packets[Int(order.end & mask)].position == order.end {
            let index = Int(order.end & mask)
            let packet = packets[index]
            guard packet.length > 0 else {
                order.end &+= 1
                continue
            }
            let isStart = isFrameStart(packet)
            // The other packets of a key frame may have parameter sets, too.
            var isKeyframe = false
            if isStart {
                guard let isKnown = isKeyframeStart(packet) else { break }
                isKeyframe = isKnown
            }
            packets[index].available = now
            packets[index].isFrameStart = isStart
            packets[index].isKeyframe = isKeyframe
            note(packets[index], now)
            order.end &+= 1
        }
        return order.end > first
    }

    /// Not all codecs mark the first packet of a frame, and not all senders the last one.
    private func isFrameStart(_ packet: Packet) -> Bool {
        packet.isFrameStart || !frame.isOpen || packet.timestamp != lastTimestamp
            || packet.isKeyframe && !frame.isHeader
    }

    /// Whether a frame that begins with this packet is a key frame: whatever stands before its parameter sets.
    /// - Returns: nil if that is not known yet.
    private func isKeyframeStart(_ first: Packet) -> Bool? {
        var packet = first
        for _ in 0..<Self.mostPacketsBefore {
            if packet.isKeyframe { return true }
            guard packet.isNonVCL || packet.length == 0, !packet.isMarked else { return false }
            let next = packets[Int((packet.position &+ 1) & mask)]
            guard next.position == packet.position &+ 1 else { return nil }
            guard next.timestamp == first.timestamp else { return false }
            packet = next
        }
        return false
    }

    private func note(_ packet: Packet, _ now: MediaInstant) {
        frame.isOpen = !packet.isMarked
        frame.isHeader = packet.isNonVCL && (packet.isFrameStart ? packet.isKeyframe : frame.isHeader)
        if packet.isKeyframe {
            group = Group(start: packet.position)
        }
        if packet.isFrameStart {
            group.frames &+= 1
            lastTimestamp = packet.timestamp
        }
        group.bytes &+= packet.length
        layerMeter.note(bytes: packet.length, layer: packet.layer, isFrameStart: packet.isFrameStart, now: now)
        if packet.layer > 0, packet.isFrameStart { baseBitrate = layerMeter.baseBitrate(now: now) }
    }

    /// The present temporal layers, by their payloads, without sizes.
    public func layers(now: MediaInstant) -> [VideoLayer] {
        layerMeter.layers(count: layerMeter.count(now: now), now: now)
    }

    // MARK: The clock

    /// Takes in when the frame of this timestamp was captured, on the clock of the senders.
    public func note(rtpTimestamp: UInt32, captured: MediaInstant) { clock = (RTPTimestamp(rtpTimestamp), captured) }

    /// The RTP timestamp of an instant, for sender reports; nil before the first frame.
    func timestamp(at instant: MediaInstant) -> RTPTimestamp? {
        clock.map { $0.timestamp.advanced(by: instant - $0.instant, clockRate: 90_000) }
    }

    // MARK: The receivers

    /// A packet before `end`; nil if it was overwritten.
    func packet(_ position: Int64) -> Packet? {
        let packet = packets[Int(position & mask)]
        return packet.position == position ? packet : nil
    }

    /// The payload of a packet, valid until the next one is taken in.
    func payload(_ packet: Packet) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: slab[Int(packet.position & mask)][..<packet.length])
    }

    /// For how long a packet could have been sent, when it is sent to one receiver for the first time. Nil for packets
    /// that a receiver gets later because it has come later; they have another timestamp.
    func delay(of entry: PacketHistory.Entry, now: MediaInstant) -> MediaDuration? {
        let index = Int(entry.position & mask)
        guard packets[index].position == entry.position, packets[index].timestamp == entry.timestamp else { return nil }
        return now - packets[index].available
    }

    /// Takes in the delays of packets that were sent.
    public func note(_ sent: DelayHistogram) { delays.add(sent) }

    /// Takes note that a packet is sent to one receiver for the first time.
    func noteSent(_ entry: PacketHistory.Entry, now: MediaInstant) {
        if let delay = delay(of: entry, now: now) { delays.note(delay) }
    }

    /// Adds to the picture ID of a payload, modulo its range.
    func patchPictureID(_ packet: Packet, in payload: UnsafeMutableRawBufferPointer, by difference: UInt16) {
        let offset = packet.pictureIDOffset
        guard offset > 0 else { return }
        if packet.isPictureIDLong {
            let old = UInt16(payload[offset] & 0x7F) << 8 | UInt16(payload[offset &+ 1])
            let new = old &+ difference
            payload[offset] = 0x80 | UInt8(truncatingIfNeeded: new >> 8) & 0x7F
            payload[offset &+ 1] = UInt8(truncatingIfNeeded: new)
        } else {
            payload[offset] = (payload[offset] &+ UInt8(truncatingIfNeeded: difference)) & 0x7F
        }
    }
}

/// What one source puts into a ``ForwardedVideo``. When another one begins, what this one still sends is ignored.
struct ForwardedInput {
    private let video: ForwardedVideo
    private let number: Int

    /// Begins as the source, with a key frame.
    init(_ video: ForwardedVideo) {
        self.video = video
        number = video.beginSource()
    }

    private var isCurrent: Bool { video.sources == number }

    /// See `ForwardedVideo.insert`.
    @discardableResult
    func insert(
        _ sequence: Int64, _ packet: RTPPacketView, _ part: DepacketizedVideo, colorSpace: ColorSpace? = nil,
        now: MediaInstant
    ) -> Bool {
        isCurrent ? video.insert(sequence, packet, part, colorSpace: colorSpace, now: now) : true
    }

    /// See `ForwardedVideo.restart`.
    func restart() { if isCurrent { video.restart() } }
}
