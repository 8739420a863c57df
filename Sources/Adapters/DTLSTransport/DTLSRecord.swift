/// One record of a datagram (RFC 6347 section 4.1), as its header describes it.
///
///      0        1           3        5                11       13
///     +--------+-----------+--------+-----------------+--------+----------
///     | type   | version   | epoch  | sequence number | length | fragment
///     +--------+-----------+--------+-----------------+--------+----------
struct DTLSRecord: Equatable, Sendable {
    enum Content: UInt8, Sendable { case changeCipherSpec = 20, alert, handshake }

    static let headerLength = 13
    /// The most that DTLS 1.2 allows a fragment, with what a cipher adds (RFC 5246 section 6.2.3).
    static let fragmentLimit = 16_384 + 2_048

    let content: Content
    let epoch: UInt16
    /// Where the record lies in its datagram, with its header.
    let range: Range<Int>

    var fragment: Range<Int> { range.lowerBound + Self.headerLength..<range.upperBound }

    /// The records of a datagram up to the first malformed one. Records of other content types, which neither a
    /// handshake nor DTLS-SRTP needs, are left out.
    static func records(in datagram: UnsafeRawBufferPointer) -> [DTLSRecord] {
        var records: [DTLSRecord] = []
        var position = 0
        while datagram.count - position >= headerLength {
            let length = datagram.number(at: position + 11, bytes: 2)
            let end = position + headerLength + length
            guard datagram[position + 1] == 0xFE, length <= fragmentLimit, end <= datagram.count else { break }
            if let content = Content(rawValue: datagram[position]) {
                records.append(
                    DTLSRecord(
                        content: content, epoch: UInt16(datagram.number(at: position + 3, bytes: 2)),
                        range: position..<end))
            }
            position = end
        }
        return records
    }
}

extension UnsafeRawBufferPointer {
    /// A number of at most three bytes, the first of which is the highest. The range must be within the buffer.
    fileprivate func number(at position: Int, bytes: Int) -> Int {
        self[position..<position + bytes].reduce(0) { $0 << 8 | Int($1) }
    }
}

/// A handshake message or a part of one (RFC 6347 section 4.2.2).
///
///      0        1                 4          6                 9                 12
///     +--------+-----------------+----------+-----------------+-----------------+------
///     | type   | length          | sequence | fragment offset | fragment length | body
///     +--------+-----------------+----------+-----------------+-----------------+------
struct HandshakeFragment: Equatable, Sendable {
    enum Message: UInt8, Sendable {
        case clientHello = 1
        case serverHello, helloVerifyRequest
        case certificate = 11
        case serverKeyExchange, certificateRequest, serverHelloDone, certificateVerify, clientKeyExchange
    }

    static let headerLength = 12

    let message: Message
    /// Of the whole message, in bytes.
    let length: Int
    let sequence: Int
    let offset: Int
    /// Where the fragment's body lies in its datagram.
    let body: Range<Int>

    /// The handshake messages of a plaintext record; nil if one of them is malformed or of a type that DTLS-SRTP does
    /// not use, or if there are none.
    static func fragments(of record: DTLSRecord, in datagram: UnsafeRawBufferPointer) -> [HandshakeFragment]? {
        var fragments: [HandshakeFragment] = []
        var position = record.fragment.lowerBound
        let end = record.fragment.upperBound
        guard end <= datagram.count else { return nil }
        while position < end {
            guard end - position >= headerLength, let message = Message(rawValue: datagram[position]) else {
                return nil
            }
            let length = datagram.number(at: position + 1, bytes: 3)
            let offset = datagram.number(at: position + 6, bytes: 3)
            let count = datagram.number(at: position + 9, bytes: 3)
            let body = position + headerLength
            guard count <= end - body, offset + count <= length, count > 0 || length == 0 else { return nil }
            fragments.append(
                HandshakeFragment(
                    message: message, length: length, sequence: datagram.number(at: position + 4, bytes: 2),
                    offset: offset, body: body..<body + count))
            position = body + count
        }
        return fragments.isEmpty ? nil : fragments
    }

    /// The random of a hello, behind its version (RFC 5246 section 7.4.1.2); nil if the fragment does not hold it.
    func random(in datagram: UnsafeRawBufferPointer) -> [UInt8]? {
        guard message == .clientHello || message == .serverHello, offset == 0, body.count >= 34,
            body.upperBound <= datagram.count
        else { return nil }
        return Array(datagram[body.lowerBound + 2..<body.lowerBound + 34])
    }
}
