public import MediaCore

/// The layout of a packet that was written: the start of the payload, and the offsets of fields that are set when it is
/// sent.
public struct WrittenPacketLayout: Hashable, Sendable {
    private var storedHeaderLength: UInt16 = 0
    // 0: the packet has no such field.
    private var transportSequenceOffset: UInt16 = 0
    private var absSendTimeOffset: UInt16 = 0
    private var colorSpaceOffset: UInt16 = 0
    /// The packet's marker bit.
    public var isMarked = false

    /// The layout of an empty slot in a packet history.
    public init() {}

    /// Bytes before the payload.
    public var headerLength: Int { Int(storedHeaderLength) }
    public var hasTransportSequence: Bool { transportSequenceOffset != 0 }
    public var hasAbsSendTime: Bool { absSendTimeOffset != 0 }
    public var hasColorSpace: Bool { colorSpaceOffset != 0 }

    /// Writes the header and the extensions that have both an id and a value. The payload is written after them.
    ///
    /// The one-byte form of RFC 8285 is used if all ids and lengths allow it, else the two-byte form.
    /// - Parameter buffer: one packet, from its first byte on.
    /// - Throws: `BufferFull`; the buffer's bytes are then unspecified.
    public static func write(
        _ header: RTPHeader, extensions: HeaderExtensionValues, ids: HeaderExtensionMap,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(BufferFull) -> WrittenPacketLayout {
        var layout = WrittenPacketLayout()
        layout.isMarked = header.marker
        var writer = ByteWriter(buffer)
        var hasExtension = false
        var isLong = false
        HeaderExtension.forEach { kind in
            guard let id = ids[kind], let length = extensions.length(of: kind) else { return }
            hasExtension = true
            if HeaderExtensionMap.needsTwoByteForm(id: id, length: length) { isLong = true }
        }
        try header.write(into: &writer, hasExtension: hasExtension)
        if hasExtension {
            try writer.write(uint16: isLong ? 0x1000 : 0xBEDE)
            try writer.write(uint16: 0)
            let start = writer.position
            try HeaderExtension.forEach { kind throws(BufferFull) in
                guard let id = ids[kind], let length = extensions.length(of: kind) else { return }
                try writeElementHeader(id, length, isLong, into: &writer)
                layout.note(kind, at: writer.position)
                try extensions.write(kind, into: &writer)
            }
            try writer.write(zeros: (start &- writer.position) & 3)
            writer.patch(uint16: UInt16(truncatingIfNeeded: (writer.position &- start) / 4), at: start &- 2)
        }
        layout.storedHeaderLength = UInt16(clamping: writer.position)
        return layout
    }

    /// Returns the largest number of bytes before the payload, for a packet with all these extensions and for its
    /// retransmission.
    public static func maximumHeaderLength(_ ids: HeaderExtensionMap, mid: String) -> Int {
        let perElement = 2
        var elements = 0
        HeaderExtension.forEach { kind in
            guard kind != .mid, ids[kind] != nil else { return }
            elements &+= perElement &+ kind.longestWritten
        }
        // A retransmission has the mid as its last extension.
        let mid = ids[.mid] == nil ? 0 : perElement &+ mid.utf8.count
        return RTPHeader.length &+ (elements &+ mid == 0 ? 0 : 4 &+ (elements &+ 3) & ~3 &+ (mid &+ 3) & ~3)
    }

    private mutating func note(_ kind: HeaderExtension, at position: Int) {
        switch kind {
        case .transportSequence: transportSequenceOffset = UInt16(truncatingIfNeeded: position)
        case .absSendTime: absSendTimeOffset = UInt16(truncatingIfNeeded: position)
        case .colorSpace: colorSpaceOffset = UInt16(truncatingIfNeeded: position)
        default: break
        }
    }

    /// Sets the transport-wide sequence number in place; does nothing if the packet has none.
    /// - Parameter packet: the packet as written, or its RTX copy.
    public func patch(_ number: SequenceNumber, in packet: UnsafeMutableRawBufferPointer) {
        let offset = Int(transportSequenceOffset)
        guard offset != 0, offset &+ 2 <= packet.count else { return }
        packet.storeBytes(of: number.rawValue.bigEndian, toByteOffset: offset, as: UInt16.self)
    }

    /// Sets the send time in place; does nothing if the packet has none.
    public func patch(_ time: AbsoluteSendTime, in packet: UnsafeMutableRawBufferPointer) {
        let offset = Int(absSendTimeOffset)
        guard offset != 0, offset &+ 3 <= packet.count else { return }
        packet[offset] = UInt8(truncatingIfNeeded: time.rawValue >> 16)
        packet[offset &+ 1] = UInt8(truncatingIfNeeded: time.rawValue >> 8)
        packet[offset &+ 2] = UInt8(truncatingIfNeeded: time.rawValue)
    }

    /// Sets the colour space in place; does nothing if the packet has none.
    public func patch(_ space: ColorSpace, in packet: UnsafeMutableRawBufferPointer) {
        let offset = Int(colorSpaceOffset)
        guard offset != 0, offset &+ ColorSpace.length <= packet.count else { return }
        packet.storeBytes(of: space.bits.bigEndian, toByteOffset: offset, as: UInt32.self)
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
