/// The supported SRTP protection profiles (RFC 5764 section 4.1.2, RFC 7714 section 14.2).
public enum SRTPProfile: String, Sendable, CaseIterable {
    case aes128GCM = "SRTP_AEAD_AES_128_GCM"
    case aes256GCM = "SRTP_AEAD_AES_256_GCM"
    case aes128CMSHA1 = "SRTP_AES128_CM_SHA1_80"

    public var keyLength: Int { self == .aes256GCM ? 32 : 16 }
    public var saltLength: Int { self == .aes128CMSHA1 ? 14 : 12 }
    /// Bytes that protection adds to an RTP packet.
    public var tagLength: Int { self == .aes128CMSHA1 ? 10 : 16 }
}

/// The SRTP keying material of a DTLS handshake (RFC 5764 section 4.2): for each direction master key and salt,
/// concatenated.
public struct SRTPKeys: Sendable {
    public var profile: SRTPProfile
    /// `keyLength + saltLength` bytes; protects outgoing packets.
    public var local: [UInt8]
    /// `keyLength + saltLength` bytes; protects incoming packets.
    public var remote: [UInt8]

    public init(profile: SRTPProfile, local: [UInt8], remote: [UInt8]) {
        self.profile = profile
        self.local = local
        self.remote = remote
    }
}
