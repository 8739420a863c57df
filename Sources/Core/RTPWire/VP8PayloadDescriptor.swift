/// The descriptor before the VP8 data of each RTP packet: RFC 7741 section 4.2.
public struct VP8PayloadDescriptor: Hashable, Sendable {
    /// Bytes of the longest descriptor.
    public static let maximumLength = 6

    /// N: no other frame refers to this one.
    public var isNonReference: Bool
    /// S: the first packet of a partition.
    public var isPartitionStart: Bool
    /// PID, 0...7.
    public var partitionIndex: UInt8
    /// 7 or 15 bits.
    public var pictureID: UInt16?
    /// M: the picture ID has 15 bits.
    public var isPictureIDLong: Bool
    /// TL0PICIDX.
    public var baseLayerIndex: UInt8?
    /// TID, 0...3.
    public var temporalLayer: UInt8?
    /// Y: refers to the base layer only. Undefined without a temporal layer.
    public var isLayerSync: Bool
    /// KEYIDX, 0...31.
    public var keyIndex: UInt8?

    public init(
        isNonReference: Bool = false, isPartitionStart: Bool, partitionIndex: UInt8 = 0, pictureID: UInt16? = nil,
        isPictureIDLong: Bool = true, baseLayerIndex: UInt8? = nil, temporalLayer: UInt8? = nil,
        isLayerSync: Bool = false, keyIndex: UInt8? = nil
    ) {
        self.isNonReference = isNonReference
        self.isPartitionStart = isPartitionStart
        self.partitionIndex = partitionIndex
        self.pictureID = pictureID
        self.isPictureIDLong = isPictureIDLong
        self.baseLayerIndex = baseLayerIndex
        self.temporalLayer = temporalLayer
        self.isLayerSync = isLayerSync
        self.keyIndex = keyIndex
    }

    /// Whether this is the first packet of a frame: the start of partition 0.
    public var isFrameStart: Bool { isPartitionStart && partitionIndex == 0 }

    //       0 1 2 3 4 5 6 7
    //      +-+-+-+-+-+-+-+-+
    //      |X|R|N|S|R| PID |
    //      +-+-+-+-+-+-+-+-+
    //  X:  |I|L|T|K|  RSV  |
    //      +-+-+-+-+-+-+-+-+
    //  I:  |M| PictureID   |
    //      +-+-+-+-+-+-+-+-+
    //  M:  |   PictureID   |
    //      +-+-+-+-+-+-+-+-+
    //  L:  |   TL0PICIDX   |
    //      +-+-+-+-+-+-+-+-+
    // T/K: |TID|Y| KEYIDX  |
    //      +-+-+-+-+-+-+-+-+

    /// Parses the descriptor at the start of an RTP payload.
    /// - Returns: the descriptor and the VP8 data after it, at least one byte.
    /// - Throws: `.vp8Descriptor` if the payload ends before the data.
    public static func parse(
        _ payload: UnsafeRawBufferPointer
    ) throws(RTPMalformed) -> (descriptor: VP8PayloadDescriptor, data: UnsafeRawBufferPointer) {
        do throws(RTPMalformed) {
            var reader = ByteReader(payload)
            let descriptor = try VP8PayloadDescriptor(&reader)
            guard reader.remaining > 0 else { throw RTPMalformed(.vp8Descriptor) }
            return (descriptor, reader.rest())
        } catch {
            throw RTPMalformed(.vp8Descriptor)
        }
    }

    private init(_ reader: inout ByteReader) throws(RTPMalformed) {
        let first = try reader.uint8()
        self.init(
            isNonReference: first & 0x20 != 0, isPartitionStart: first & 0x10 != 0, partitionIndex: first & 0x07)
        guard first & 0x80 != 0 else { return }
        let flags = try reader.uint8()
        if flags & 0x80 != 0 {
            let high = try reader.uint8()
            isPictureIDLong = high & 0x80 != 0
            pictureID = UInt16(high & 0x7F)
            if isPictureIDLong { pictureID = UInt16(high & 0x7F) << 8 | UInt16(try reader.uint8()) }
        }
        if flags & 0x40 != 0 { baseLayerIndex = try reader.uint8() }
        if flags & 0x30 != 0 {
            let layer = try reader.uint8()
            if flags & 0x20 != 0 {
                temporalLayer = layer >> 6
                isLayerSync = layer & 0x20 != 0
            }
            if flags & 0x10 != 0 { keyIndex = layer & 0x1F }
        }
    }

    private var flags: UInt8 {
        (pictureID != nil ? 0x80 : 0) | (baseLayerIndex != nil ? 0x40 : 0) | (temporalLayer != nil ? 0x20 : 0)
            | (keyIndex != nil ? 0x10 : 0)
    }

    /// Bytes that `write` needs, 1...6.
    public var length: Int {
        let flags = self.flags
        if flags == 0 { return 1 }
        return 2 &+ (pictureID == nil ? 0 : isPictureIDLong ? 2 : 1) &+ (baseLayerIndex == nil ? 0 : 1)
            &+ (flags & 0x30 == 0 ? 0 : 1)
    }

    /// - Throws: `BufferFull`; nothing was written then.
    public func write(into writer: inout ByteWriter) throws(BufferFull) {
        try writer.require(length)
        let flags = self.flags
        try writer.write(
            uint8: (flags == 0 ? 0 : 0x80) | (isNonReference ? 0x20 : 0) | (isPartitionStart ? 0x10 : 0)
                | partitionIndex & 0x07)
        guard flags != 0 else { return }
        try writer.write(uint8: flags)
        if let pictureID {
            if isPictureIDLong {
                try writer.write(uint16: 0x8000 | pictureID & 0x7FFF)
            } else {
                try writer.write(uint8: UInt8(truncatingIfNeeded: pictureID & 0x7F))
            }
        }
        if let baseLayerIndex { try writer.write(uint8: baseLayerIndex) }
        if flags & 0x30 != 0 {
            try writer.write(
                uint8: (temporalLayer ?? 0) << 6 | (temporalLayer != nil && isLayerSync ? 0x20 : 0)
                    | (keyIndex ?? 0) & 0x1F)
        }
    }
}
