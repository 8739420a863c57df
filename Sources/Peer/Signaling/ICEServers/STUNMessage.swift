internal import Cryptography
import MediaCore
import NIOCore

/// Encodes and decodes the STUN messages that a check of a server needs (RFC 8489 section 5, RFC 8656 section 18).
struct STUNMessage {
    enum Method: UInt16 { case binding = 1, allocate = 3, refresh = 4 }
    enum Class: UInt16 { case request = 0, indication = 0x010, success = 0x100, error = 0x110 }
    enum Attribute: UInt16 {
        case username = 0x0006, messageIntegrity = 0x0008, errorCode = 0x0009, lifetime = 0x000D, realm = 0x0014
        case nonce = 0x0015, relayedAddress = 0x0016, requestedTransport = 0x0019, mappedAddress = 0x0020
    }
    static let cookie: UInt32 = 0x2112_A442

    var type: UInt16
    /// 12 bytes.
    var transaction: [UInt8]
    private var attributes: [(type: UInt16, value: [UInt8])] = []

    /// - Parameter transaction: 12 bytes; random ones if nil, as RFC 8489 section 5 asks.
    init(request method: Method, transaction: [UInt8]? = nil) {
        type = method.rawValue
        self.transaction = transaction ?? (0..<12).map { _ in UInt8.random(in: .min ... .max) }
    }

    /// Parses untrusted bytes. Returns nil unless they are exactly one STUN message.
    init?(_ bytes: some Sequence<UInt8>) {
        var reader = ByteBuffer(bytes: bytes)
        guard let type = reader.readInteger(as: UInt16.self), type < 0x4000,
            let length = reader.readInteger(as: UInt16.self), length % 4 == 0,
            reader.readInteger(as: UInt32.self) == Self.cookie, let transaction = reader.readBytes(length: 12),
            reader.readableBytes == Int(length)
        else { return nil }
        self.type = type
        self.transaction = transaction
        while reader.readableBytes > 0 {
            guard attributes.count < 64, let name = reader.readInteger(as: UInt16.self),
                let size = reader.readInteger(as: UInt16.self), let value = reader.readBytes(length: Int(size)),
                reader.readBytes(length: (4 - Int(size) % 4) % 4) != nil
            else { return nil }
            attributes.append((name, value))
        }
    }

    var isSuccess: Bool { type & 0x110 == Class.success.rawValue }

    subscript(_ attribute: Attribute) -> [UInt8]? {
        get { attributes.first { $0.type == attribute.rawValue }?.value }
        set {
            attributes.removeAll { $0.type == attribute.rawValue }
            if let newValue { attributes.append((attribute.rawValue, newValue)) }
        }
    }

    /// The code and reason phrase of ERROR-CODE (RFC 8489 section 14.8).
    var error: (code: Int, reason: String)? {
        guard type & 0x110 == Class.error.rawValue, let value = self[.errorCode], value.count >= 4 else { return nil }
        let reason = UntrustedText.clean(
            String(decoding: value[4...], as: UTF8.self), limit: 64, fallback: "no reason given")
        return (Int(value[2] & 7) * 100 + Int(min(value[3], 99)), reason)
    }

    /// Decodes XOR-MAPPED-ADDRESS or XOR-RELAYED-ADDRESS to `address:port` (RFC 8489 section 14.2).
    func address(_ attribute: Attribute) -> String? {
        guard let value = self[attribute], value.count == 8 || value.count == 20, value[1] == (value.count == 8 ? 1 : 2)
        else { return nil }
        let mask = [0x21, 0x12, 0xA4, 0x42] + transaction
        let port = Int(value[2] ^ 0x21) << 8 | Int(value[3] ^ 0x12)
        let bytes = zip(value[4...], mask).map { $0 ^ $1 }
        let address = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: port)
        guard let text = address?.ipAddress else { return nil }
        return (text.contains(":") ? "[\(text)]" : text) + ":\(port)"
    }

    /// Encodes the message.
    /// - Parameter key: adds MESSAGE-INTEGRITY with this key (RFC 8489 section 14.5).
    func encoded(key: [UInt8]? = nil) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeInteger(type)
        buffer.writeInteger(UInt16(0))
        buffer.writeInteger(Self.cookie)
        buffer.writeBytes(transaction)
        for (type, value) in attributes {
            buffer.writeInteger(type)
            buffer.writeInteger(UInt16(truncatingIfNeeded: value.count))
            buffer.writeBytes(value)
            buffer.writeRepeatingByte(0, count: (4 - value.count % 4) % 4)
        }
        if let key {
            buffer.setInteger(UInt16(truncatingIfNeeded: buffer.readableBytes - 20 + 24), at: 2)
            let code = HMACKey(key, .sha1).code(for: Array(buffer.readableBytesView))
            buffer.writeInteger(Attribute.messageIntegrity.rawValue)
            buffer.writeInteger(UInt16(20))
            buffer.writeBytes(code)
        }
        buffer.setInteger(UInt16(truncatingIfNeeded: buffer.readableBytes - 20), at: 2)
        return buffer
    }

    /// The key of the long-term credential mechanism (RFC 8489 section 9.2.2).
    static func key(username: String, realm: [UInt8], password: String) -> [UInt8] {
        LegacyDigest.md5.hash(of: Array(username.utf8) + [0x3A] + realm + [0x3A] + Array(password.utf8))
    }
}
