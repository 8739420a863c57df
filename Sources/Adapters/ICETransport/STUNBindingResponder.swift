internal import CNice
internal import Glibc
internal import MediaCore

/// Answers Binding requests of those who want to know their public address, as a STUN server does (RFC 8489 sections 5,
/// 6.3.1 and 11). Confined to its loop.
///
/// It differs from the RFC: a request with an attribute that has to be understood gets no error response, so that
/// nothing but an answer is ever sent to a stranger. The answer is 12 bytes (IPv4) or 24 (IPv6) longer than the
/// shortest request, has nothing but the address, and is sent within limits for each address and in all.
struct STUNBindingResponder {
    private var total: TokenBucket
    /// Addresses share them by their hash, whose seed is this process's own. The first row is that of addresses; the
    /// /56 and the /48 of an IPv6 address have theirs, with four and sixteen times as much.
    private var buckets: [TokenBucket]

    /// Answers a second: of an address (IPv6: a /64), and of all together. Networks count while less than half of all
    /// is left.
    static let addressRate = (burst: 20.0, perSecond: 5.0)
    static let totalRate = (burst: 1_000.0, perSecond: 1_000.0)
    private static let bucketCount = 1_024
    /// Bytes that the answer has room in.
    static let longestResponse = 44
    /// Longer requests are none that a client without credentials sends.
    private static let longestRequest = 548

    private static let headerLength = 20
    private static let cookie: [UInt8] = [0x21, 0x12, 0xA4, 0x42]
    private static let (mappedAddress, xorMappedAddress): (UInt8, UInt8) = (0x01, 0x20)

    init(now: MediaInstant) {
        total = TokenBucket(burst: Self.totalRate.burst, rate: Self.totalRate.perSecond, now: now)
        buckets = Self.shares.flatMap { shares in
            Array(
                repeating: TokenBucket(
                    burst: Self.addressRate.burst * shares, rate: Self.addressRate.perSecond * shares, now: now),
                count: Self.bucketCount)
        }
    }

    /// Of the rows: an address, a /56, a /48.
    private static let shares = [1.0, 4, 16]

    /// - Parameters:
    ///   - source: where the request came from.
    ///   - room: `longestResponse` bytes.
    /// - Returns: the length of the answer in `room`; nil: none is sent. Allocates: never.
    mutating func respond(
        to request: UnsafeRawBufferPointer, from source: UnsafePointer<sockaddr_storage>,
        into room: UnsafeMutableRawBufferPointer, now: MediaInstant
    ) -> Int? {
        guard Self.isPlainRequest(request), room.count >= Self.longestResponse else { return nil }
        let isIPv6 = Int32(source.pointee.ss_family) == AF_INET6
        // The port in bytes 2 and 3, the address from byte 4 (IPv4) or 8 (IPv6) on.
        let peer = UnsafeRawBufferPointer(start: source, count: isIPv6 ? 24 : 8)
        guard peer[2] | peer[3] != 0 else { return nil }
        let address = UnsafeRawBufferPointer(rebasing: peer[(isIPv6 ? 8 : 4)...])
        guard take(UnsafeRawBufferPointer(rebasing: address.prefix(8)), now) else { return nil }
        return Self.write(request, port: (peer[2], peer[3]), address, into: room)
    }

    /// - Parameter prefix: the whole IPv4 address, or a /64 in eight bytes.
    private mutating func take(_ prefix: UnsafeRawBufferPointer, _ now: MediaInstant) -> Bool {
        total.refill(now)
        guard total.has() else { return false }
        let rows = prefix.count == 8 ? Self.shares.count : 1
        let isCrowded = !total.has(beside: 0.5)
        for row in 0..<rows {
            let index = index(of: prefix, row)
            buckets[index].refill(now)
            guard buckets[index].has() || (row > 0 && !isCrowded) else { return false }
        }
        for row in 0..<rows {
            let index = index(of: prefix, row)
            if buckets[index].has() { buckets[index].take() }
        }
        total.take()
        return true
    }

    private func index(of prefix: UnsafeRawBufferPointer, _ row: Int) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: prefix.dropLast(row)))
        return row * Self.bucketCount + Int(UInt(bitPattern: hasher.finalize()) % UInt(Self.bucketCount))
    }

    /// Whether a datagram is a Binding request without anything that has to be understood. Credentials belong to the
    /// sessions of the port.
    static func isPlainRequest(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard (headerLength...longestRequest).contains(bytes.count), bytes[0] == 0, bytes[1] == 1,
            Int(bytes[2]) << 8 | Int(bytes[3]) == bytes.count - headerLength, bytes.count % 4 == 0
        else { return false }
        var rest = bytes[headerLength...]
        while let first = rest.first {
            // Bit 15 of the type: the attribute may be ignored.
            guard rest.count >= 4, first & 0x80 != 0 else { return false }
            let length = Int(rest[rest.startIndex + 2]) << 8 | Int(rest[rest.startIndex + 3])
            let padded = 4 + (length + 3) / 4 * 4
            guard rest.count >= padded else { return false }
            rest = rest.dropFirst(padded)
        }
        return true
    }

    /// A success response with the address, under the transaction of the request. A client of RFC 3489 sends no magic
    /// cookie, and gets the address as it is.
    private static func write(
        _ request: UnsafeRawBufferPointer, port: (UInt8, UInt8), _ address: UnsafeRawBufferPointer,
        into room: UnsafeMutableRawBufferPointer
    ) -> Int {
        let isXored = request[4..<8].elementsEqual(cookie)
        let length = headerLength + 8 + address.count
        (room[0], room[1], room[2], room[3]) = (0x01, 0x01, 0, UInt8(8 + address.count))
        for index in 4..<headerLength { room[index] = request[index] }
        (room[20], room[21]) = (0, isXored ? xorMappedAddress : mappedAddress)
        (room[22], room[23], room[24], room[25]) = (0, UInt8(4 + address.count), 0, address.count == 4 ? 1 : 2)
        // The mask is the cookie and the transaction, which follow each other in the header.
        (room[26], room[27]) = (port.0 ^ (isXored ? request[4] : 0), port.1 ^ (isXored ? request[5] : 0))
        for (index, byte) in address.enumerated() { room[28 + index] = byte ^ (isXored ? request[4 + index] : 0) }
        return length
    }
}
