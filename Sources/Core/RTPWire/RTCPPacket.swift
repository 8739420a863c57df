/// The common header of RTCP packets, and the body after it. Borrows the bytes.
struct RTCPBody {
    //   0                   1                   2                   3
    //   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    //  |V=2|P| count   |  packet type  |   length in words, minus one  |
    //  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
    static let headerLength = 4

    /// Report count, source count or feedback message type: 0...31.
    let count: UInt8
    let type: UInt8
    /// The bytes after the header, without padding.
    let bytes: UnsafeRawBufferPointer
}

/// RTCP packet types (RFC 3550 section 12.1, RFC 4585 section 6.1).
enum RTCPType {
    static let senderReport: UInt8 = 200
    static let receiverReport: UInt8 = 201
    static let sourceDescription: UInt8 = 202
    static let goodbye: UInt8 = 203
    static let transportLayerFeedback: UInt8 = 205
    static let payloadSpecificFeedback: UInt8 = 206
    /// RFC 3611 section 2.
    static let extendedReport: UInt8 = 207
}

/// One RTCP packet of a supported type. Borrows the bytes.
public enum RTCPPacket {
    case senderReport(SenderReport)
    case receiverReport(ReceiverReport)
    case sourceDescription(SourceDescription)
    case goodbye(Goodbye)
    case nack(Nack)
    case pictureLoss(PictureLossIndication)
    case fullIntraRequest(FullIntraRequest)
    case referenceSelection(ReferencePictureSelectionIndication)
    case transportFeedback(TransportFeedback)
    case remb(REMB)
    case extendedReport(ExtendedReport)
    /// Well-formed, but of another type: `format` is the count or feedback message type.
    case other(type: UInt8, format: UInt8)

    init(_ body: RTCPBody) throws(RTPMalformed) {
        switch (body.type, body.count) {
        case (RTCPType.senderReport, _): self = .senderReport(try SenderReport(body))
        case (RTCPType.receiverReport, _): self = .receiverReport(try ReceiverReport(body))
        case (RTCPType.sourceDescription, _): self = .sourceDescription(try SourceDescription(body))
        case (RTCPType.goodbye, _): self = .goodbye(try Goodbye(body))
        case (RTCPType.transportLayerFeedback, Nack.format): self = .nack(try Nack(body))
        case (RTCPType.transportLayerFeedback, TransportFeedback.format):
            self = .transportFeedback(try TransportFeedback(body))
        case (RTCPType.payloadSpecificFeedback, PictureLossIndication.format):
            self = .pictureLoss(try PictureLossIndication(body))
        case (RTCPType.payloadSpecificFeedback, FullIntraRequest.format):
            self = .fullIntraRequest(try FullIntraRequest(body))
        case (RTCPType.payloadSpecificFeedback, ReferencePictureSelectionIndication.format):
            self = .referenceSelection(try ReferencePictureSelectionIndication(body))
        case (RTCPType.payloadSpecificFeedback, REMB.format):
            if let estimate = try REMB(body) {
                self = .remb(estimate)
            } else {
                self = .other(type: body.type, format: body.count)
            }
        case (RTCPType.extendedReport, _): self = .extendedReport(try ExtendedReport(body))
        default: self = .other(type: body.type, format: body.count)
        }
    }
}

/// Iterates over the packets of one RTCP datagram: compound (RFC 3550 section 6.1) or reduced-size (RFC 5506).
///
///     var packets = RTCPIterator(bytes)
///     while let packet = try packets.next() { ... }
///
/// Borrows the bytes. Allocates: never.
public struct RTCPIterator {
    private var reader: ByteReader

    public init(_ bytes: UnsafeRawBufferPointer) { reader = ByteReader(bytes) }

    /// - Returns: nil at the end, and after an error that ended the iteration.
    /// - Throws: `.version`, `.truncated`, `.rtcpLength` end the iteration, as the position of later packets is
    ///   unknown. After any other reason, which concerns one packet only, the next call continues with the following
    ///   packet.
    public mutating func next() throws(RTPMalformed) -> RTCPPacket? {
        if reader.remaining == 0 { return nil }
        let body: RTCPBody
        let isPadded: Bool
        do throws(RTPMalformed) {
            (body, isPadded) = try nextBody()
        } catch {
            _ = reader.rest()
            throw error
        }
        return try RTCPPacket(try Self.withoutPadding(body, isPadded))
    }

    private mutating func nextBody() throws(RTPMalformed) -> (body: RTCPBody, isPadded: Bool) {
        let first = try reader.uint8()
        guard first >> 6 == 2 else { throw RTPMalformed(.version) }
        let type = try reader.uint8()
        let length = Int(try reader.uint16()) &* 4
        guard length <= reader.remaining else { throw RTPMalformed(.rtcpLength) }
        return (RTCPBody(count: first & 0x1F, type: type, bytes: try reader.bytes(length)), first & 0x20 != 0)
    }

    private static func withoutPadding(_ body: RTCPBody, _ isPadded: Bool) throws(RTPMalformed) -> RTCPBody {
        guard isPadded else { return body }
        // RFC 3550 requires whole words; Chromium pads transport feedback by 1 to 3 bytes.
        guard let count = body.bytes.last, count > 0, Int(count) <= body.bytes.count else {
            throw RTPMalformed(.padding)
        }
        return RTCPBody(
            count: body.count, type: body.type, bytes: body.bytes.part(0, body.bytes.count &- Int(count)))
    }
}

extension ByteReader {
    /// Reads the SSRC of the feedback's sender and that of the media source: RFC 4585 section 6.1.
    mutating func feedbackSources() throws(RTPMalformed) -> (sender: UInt32, media: UInt32) {
        guard remaining >= 8 else { throw RTPMalformed(.rtcpCount) }
        return (try uint32(), try uint32())
    }
}

extension ByteWriter {
    /// Starts an RTCP packet; `closeRTCP` sets its length.
    mutating func openRTCP(type: UInt8, count: UInt8, bodyLength: Int) throws(BufferFull) -> Int {
        try require(RTCPBody.headerLength &+ bodyLength)
        let start = position
        try write(uint8: 0x80 | count & 0x1F)
        try write(uint8: type)
        try write(uint16: 0)
        return start
    }

    /// Sets the length of the packet that began at `start` and ends at the present position, a multiple of four bytes.
    func closeRTCP(_ start: Int) {
        precondition((position &- start) & 3 == 0 && position > start, "RTCP packet of \(position &- start) bytes")
        patch(uint16: UInt16(truncatingIfNeeded: (position &- start) / 4 &- 1), at: start &+ 2)
    }
}
