internal import Cryptography
package import Identifiers

/// Makes and checks the marks by which the page of another server of a broadcast knows that a server has sent its
/// viewer there. Only then it begins without a click; any site could make the rest of the address.
///
///     time (8 bytes, big-endian, seconds since 1970) | nonce (16) | HMAC-SHA256(key, "share v1 move" | ID | time |
///     nonce)
///
/// Only the servers have the key, which is that of the passes.
package struct MoveMark: Sendable {
    /// The lifetime of a mark in seconds. The server that has made it may have gone by then.
    package static let lifetime: UInt64 = 120
    /// By how much the clocks of the servers may differ, in seconds.
    private static let skew: UInt64 = 30
    private static let nonceLength = 16
    private static let length = 8 + nonceLength + 32

    private let id: BroadcastID
    private let key: HMACKey

    /// - Parameter key: 32 bytes.
    package init(_ id: BroadcastID, key: [UInt8]) {
        self.id = id
        self.key = HMACKey(key)
    }

    /// - Parameters:
    ///   - nonce: 16 new random bytes.
    ///   - seconds: since 1970.
    /// - Returns: base64url.
    package func text(nonce: [UInt8], at seconds: UInt64) -> String {
        let head = (0..<8).map { UInt8(truncatingIfNeeded: seconds >> UInt64(56 - 8 * $0)) } + nonce
        return Base64URL.encode(head + key.code(for: message(head)))
    }

    /// Returns the nonce of a valid mark, by which it is known when it comes again; nil if it is none.
    /// - Parameter seconds: since 1970.
    package func nonce(of text: String, at seconds: UInt64) -> [UInt8]? {
        guard text.utf8.count <= 128, let bytes = Base64URL.decode(text, count: Self.length) else { return nil }
        let head = Array(bytes.prefix(8 + Self.nonceLength))
        guard key.isValid(Array(bytes.dropFirst(head.count)), for: message(head)) else { return nil }
        let made = head.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        guard made <= 1 << 40, made <= seconds &+ Self.skew, seconds <= made + Self.lifetime else { return nil }
        return Array(head.dropFirst(8))
    }

    private func message(_ head: [UInt8]) -> [UInt8] {
        Array("share v1 move".utf8) + Array(id.text.utf8) + head
    }
}

/// The marks that were shown to a server, as a value without a clock. Bounded: when it is full, no mark is valid.
package struct UsedMoveMarks: Sendable {
    private var nonces: [[UInt8]: ContinuousClock.Instant] = [:]
    private let capacity: Int

    package init(capacity: Int = 8_192) { self.capacity = capacity }

    /// - Returns: false if the mark was used before.
    package mutating func use(_ nonce: [UInt8], now: ContinuousClock.Instant) -> Bool {
        if nonces.count >= capacity { nonces = nonces.filter { $0.value > now } }
        guard nonces.count < capacity, nonces[nonce].map({ $0 <= now }) ?? true else { return false }
        // Longer than a mark is valid, with both clocks' difference.
        nonces[nonce] = now + .seconds(Int64(MoveMark.lifetime * 2))
        return true
    }
}
