/// The SRTP protection profiles that we speak (RFC 5764 section 4.1.2, RFC 7714 section 14.2).
public enum SRTPProfile: String, Sendable, CaseIterable {
    case aes128GCM = "SRTP_AEAD_AES_128_GCM"
    case aes256GCM = "SRTP_AEAD_AES_256_GCM"
    case aes128CMSHA1 = "SRTP_AES128_CM_SHA1_80"

    public var keyLength: Int { self == .aes256GCM ? 32 : 16 }
    public var saltLength: Int { self == .aes128CMSHA1 ? 14 : 12 }
    /// Bytes that protection adds to an RTP packet.
    public var tagLength: Int { self == .aes128CMSHA1 ? 10 : 16 }
}

/// What a DTLS handshake yields (RFC 5764 section 4.2): key and salt for each direction, concatenated key first.
public struct SRTPKeys: Sendable {
    public var profile: SRTPProfile
    /// `keyLength + saltLength` bytes, protects what we send.
    public var local: [UInt8]
    /// `keyLength + saltLength` bytes, protects what we receive.
    public var remote: [UInt8]

    public init(profile: SRTPProfile, local: [UInt8], remote: [UInt8]) {
        self.profile = profile
        self.local = local
        self.remote = remote
    }
}
