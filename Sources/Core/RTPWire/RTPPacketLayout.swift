/// The header extensions that a packet is to carry.
public struct OutgoingExtensions: Hashable, Sendable {
    public var transportSequence: SequenceNumber?
    public var playoutDelay: PlayoutDelay?
    public var absSendTime: AbsoluteSendTime?
    /// 1...255 bytes of UTF-8; up to 15 cost no reference count.
    public var mid: String?
    public var references: FrameReferencesElement?

    public init(
        transportSequence: SequenceNumber? = nil, playoutDelay: PlayoutDelay? = nil,
        absSendTime: AbsoluteSendTime? = nil, mid: String? = nil, references: FrameReferencesElement? = nil
    ) {
        self.transportSequence = transportSequence
        self.playoutDelay = playoutDelay
        self.absSendTime = absSendTime
        self.mid = mid
        self.references = references
    }
}

/// Where in a packet that we wrote the payload starts, and where the fields lie that are only known when it is sent.
public struct RTPPacketLayout: Hashable, Sendable {
    /// Bytes before the payload.
    public private(set) var headerLength = 0
    /// The packet's marker bit.
    public private(set) var isMarked = false
    // 0: the packet has none.
    private var transportSequenceOffset: UInt16 = 0
    private var absSendTimeOffset: UInt16 = 0

    /// Of no packet yet: what an empty slot of a history holds.
    public init() {}

    public var hasTransportSequence: Bool { transportSequenceOffset != 0 }
    public var hasAbsSendTime: Bool { absSendTimeOffset != 0 }

    /// Writes the header and the extensions that have both an id and a value; the payload goes behind them.
    ///
    /// The one-byte form of RFC 8285 is used if all ids and lengths allow it, else the two-byte form.
    /// - Parameter buffer: one packet, from its first byte on.
    /// - Throws: `BufferFull`; the buffer's bytes are then unspecified.
    public static func write(
        _ header: RTPHeader, extensions: OutgoingExtensions, ids: HeaderExtensionIDs,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(BufferFull) -> RTPPacketLayout {
        var layout = RTPPacketLayout()
        layout.isMarked = header.marker
        var writer = ByteWriter(buffer)
        let transport = usable(ids.transportSequence, extensions.transportSequence)
        let delay = usable(ids.playoutDelay, extensions.playoutDelay)
        let sent = usable(ids.absSendTime, extensions.absSendTime)
        let mid = usable(ids.mid, extensions.mid).flatMap { (1...255).contains($0.value.utf8.count) ? $0 : nil }
        let references = usable(ids.references, extensions.references)
        let hasExtension = transport != nil || delay != nil || sent != nil || mid != nil || references != nil
        try header.write(into: &writer, hasExtension: hasExtension)
        if hasExtension {
            let isLong =
                max(transport?.id ?? 0, delay?.id ?? 0, sent?.id ?? 0, mid?.id ?? 0, references?.id ?? 0) > 14
                || (mid?.value.utf8.count ?? 0) > 16
            try writer.write(uint16: isLong ? 0x1000 : 0xBEDE)
            try writer.write(uint16: 0)
            let start = writer.position
            if let transport {
                try writeElementHeader(transport.id, 2, isLong, into: &writer)
                layout.transportSequenceOffset = UInt16(truncatingIfNeeded: writer.position)
                try writer.write(uint16: transport.value.rawValue)
            }
            if let delay {
                try writeElementHeader(delay.id, 3, isLong, into: &writer)
                try writer.write(uint24: delay.value.bits)
            }
            if let sent {
                try writeElementHeader(sent.id, 3, isLong, into: &writer)
                layout.absSendTimeOffset = UInt16(truncatingIfNeeded: writer.position)
                try writer.write(uint24: sent.value.rawValue)
            }
            if let mid {
                try writeElementHeader(mid.id, mid.value.utf8.count, isLong, into: &writer)
                try writer.write(mid.value)
            }
            if let references {
                try writeElementHeader(references.id, FrameReferencesElement.length, isLong, into: &writer)
                try writer.write(uint24: references.value.bits)
            }
            try writer.write(zeros: (start &- writer.position) & 3)
            writer.patch(uint16: UInt16(truncatingIfNeeded: (writer.position &- start) / 4), at: start &- 2)
        }
        layout.headerLength = writer.position
        return layout
    }

    /// Sets the transport-wide sequence number in place; does nothing if the packet carries none.
    /// - Parameter packet: the packet as written, or its RTX copy.
    public func patch(_ number: SequenceNumber, in packet: UnsafeMutableRawBufferPointer) {
        let offset = Int(transportSequenceOffset)
        guard offset != 0, offset &+ 2 <= packet.count else { return }
        packet.storeBytes(of: number.rawValue.bigEndian, toByteOffset: offset, as: UInt16.self)
    }

    /// Sets the send time in place; does nothing if the packet carries none.
    public func patch(_ time: AbsoluteSendTime, in packet: UnsafeMutableRawBufferPointer) {
        let offset = Int(absSendTimeOffset)
        guard offset != 0, offset &+ 3 <= packet.count else { return }
        packet[offset] = UInt8(truncatingIfNeeded: time.rawValue >> 16)
        packet[offset &+ 1] = UInt8(truncatingIfNeeded: time.rawValue >> 8)
        packet[offset &+ 2] = UInt8(truncatingIfNeeded: time.rawValue)
    }

    private static func usable<Value>(_ id: UInt8?, _ value: Value?) -> (id: UInt8, value: Value)? {
        guard let id, id != 0, let value else { return nil }
        return (id, value)
    }

    static func writeElementHeader(
        _ id: UInt8, _ length: Int, _ isLong: Bool, into writer: inout ByteWriter
    ) throws(BufferFull) {
        if isLong {
            try writer.write(uint8: id)
            try writer.write(uint8: UInt8(truncatingIfNeeded: length))
        } else {
            try writer.write(uint8: id << 4 | UInt8(truncatingIfNeeded: length &- 1) & 0x0F)
        }
    }
}
