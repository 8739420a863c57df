/// A parsed RTP packet in the caller's buffer, without a copy.
///
/// Borrows the bytes: valid for as long as the caller's buffer. Allocates: never.
public struct RTPPacketView {
    public private(set) var header: RTPHeader
    /// Contributing sources, 0...15.
    public let csrcCount: Int
    /// Fixed header, CSRCs and extension, in bytes.
    public let headerLength: Int
    public let extensions: HeaderExtensionElements
    /// Without padding; may be empty.
    public private(set) var payload: UnsafeRawBufferPointer
    /// Bytes of padding at the end, with the count itself.
    public let paddingLength: Int

    //   0                   1                   2                   3
    //   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |V=2|P|X|  CC   |M|     PT      |       sequence number         |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |                           timestamp                           |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |           synchronization source (SSRC) identifier            |
    //  +=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+
    //  |            contributing source (CSRC) identifiers, CC x       |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |      defined by profile       |      length in words          |  if X
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+

    /// Parses a packet whose SRTP protection has been removed.
    /// - Throws: `.truncated`, `.version`, `.extensionLength`, `.padding`.
    /// RFC 3550 section 5.1 and 5.3.1.
    public init(_ bytes: UnsafeRawBufferPointer) throws(RTPMalformed) {
        var reader = ByteReader(bytes)
        let first = try reader.uint8()
        guard first >> 6 == 2 else { throw RTPMalformed(.version) }
        let second = try reader.uint8()
        header = RTPHeader(
            marker: second & 0x80 != 0, payloadType: second & 0x7F,
            sequenceNumber: SequenceNumber(try reader.uint16()), timestamp: RTPTimestamp(try reader.uint32()),
            ssrc: try reader.uint32())
        csrcCount = Int(first & 0x0F)
        try reader.skip(csrcCount &* 4)
        if first & 0x10 != 0 {
            let profile = try reader.uint16()
            let length = Int(try reader.uint16()) &* 4
            guard length <= reader.remaining else { throw RTPMalformed(.extensionLength) }
            extensions = HeaderExtensionElements(profile: profile, bytes: try reader.bytes(length))
        } else {
            extensions = HeaderExtensionElements(profile: 0, bytes: bytes.part(0, 0))
        }
        headerLength = reader.position
        let rest = reader.rest()
        if first & 0x20 != 0 {
            guard let count = rest.last, count > 0, Int(count) <= rest.count else { throw RTPMalformed(.padding) }
            paddingLength = Int(count)
        } else {
            paddingLength = 0
        }
        payload = rest.part(0, rest.count &- paddingLength)
    }

    public var marker: Bool { header.marker }
    public var payloadType: UInt8 { header.payloadType }
    public var sequenceNumber: SequenceNumber { header.sequenceNumber }
    public var timestamp: RTPTimestamp { header.timestamp }
    public var ssrc: UInt32 { header.ssrc }

    /// Returns the packet with another header and payload, for RTX unwrapping.
    func replacing(header: RTPHeader, payload: UnsafeRawBufferPointer) -> RTPPacketView {
        var copy = self
        copy.header = header
        copy.payload = payload
        return copy
    }
}
