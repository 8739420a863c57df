/// The descriptor before the VP9 data of each RTP packet: RFC 9628 section 4.2.
public struct VP9PayloadDescriptor: Hashable, Sendable {
    /// P: the frame is predicted from others.
    public var isInterPredicted: Bool
    /// B: the first packet of a frame.
    public var isFrameStart: Bool
    /// 7 or 15 bits.
    public var pictureID: UInt16?
    /// TID, 0...7.
    public var temporalLayer: UInt8?
    /// U: pictures of higher temporal layers that follow depend on no picture of theirs before this one.
    public var isSwitchingUpPoint = false
    /// SID, 0...7.
    public var spatialLayer: UInt8?

    //       0 1 2 3 4 5 6 7
    //      +-+-+-+-+-+-+-+-+
    //      |I|P|L|F|B|E|V|Z|
    //      +-+-+-+-+-+-+-+-+
    // I:   |M| PICTURE ID  |
    // M:   | EXTENDED PID  |
    // L:   | TID |U| SID |D|
    //      |   TL0PICIDX   |   unless F
    // F&P: | P_DIFF      |N|   up to 3
    // V:   | SS ...        |

    /// Parses the descriptor at the start of an RTP payload.
    /// - Returns: the descriptor and the VP9 data after it, at least one byte.
    /// - Throws: `.payloadFormat` if the payload ends before the data, or there are more than three references.
    public static func parse(
        _ payload: UnsafeRawBufferPointer
    ) throws(RTPMalformed) -> (descriptor: VP9PayloadDescriptor, data: UnsafeRawBufferPointer) {
        do throws(RTPMalformed) {
            var reader = ByteReader(payload)
            let descriptor = try VP9PayloadDescriptor(&reader)
            guard reader.remaining > 0 else { throw RTPMalformed(.payloadFormat) }
            return (descriptor, reader.rest())
        } catch {
            throw RTPMalformed(.payloadFormat)
        }
    }

    private init(_ reader: inout ByteReader) throws(RTPMalformed) {
        let flags = try reader.uint8()
        isInterPredicted = flags & 0x40 != 0
        isFrameStart = flags & 0x08 != 0
        let isFlexible = flags & 0x10 != 0
        if flags & 0x80 != 0 {
            let high = try reader.uint8()
            pictureID = UInt16(high & 0x7F)
            if high & 0x80 != 0 { pictureID = UInt16(high & 0x7F) << 8 | UInt16(try reader.uint8()) }
        }
        if flags & 0x20 != 0 {
            let layers = try reader.uint8()
            temporalLayer = layers >> 5
            isSwitchingUpPoint = layers & 0x10 != 0
            spatialLayer = layers >> 1 & 0x07
            if !isFlexible { try reader.skip(1) }
        }
        if isFlexible, isInterPredicted {
            for count in 1... {
                guard count <= 3 else { throw RTPMalformed(.payloadFormat) }
                if try reader.uint8() & 1 == 0 { break }
            }
        }
        if flags & 0x02 != 0 { try Self.skipScalabilityStructure(&reader) }
    }

    /// RFC 9628 section 4.2.1.
    private static func skipScalabilityStructure(_ reader: inout ByteReader) throws(RTPMalformed) {
        let head = try reader.uint8()
        if head & 0x10 != 0 { try reader.skip((Int(head >> 5) + 1) * 4) }
        guard head & 0x08 != 0 else { return }
        for _ in 0..<(try reader.uint8()) {
            let picture = try reader.uint8()
            try reader.skip(Int(picture >> 2 & 0x03))
        }
    }
}
