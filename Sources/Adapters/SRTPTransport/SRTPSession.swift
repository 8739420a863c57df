internal import CSRTP
public import MediaCore

/// Protects outgoing and unprotects incoming SRTP and SRTCP packets in place (RFC 3711, RFC 7714), with libsrtp2;
/// outgoing RTP packets with AES-GCM by ``OutboundGCMContext``.
///
/// It never protects a sequence number twice for one SSRC: two tags under the same GCM nonce reveal the authentication
/// key. Retransmit over RTX (RFC 4588), or send the protected bytes again.
/// - Isolation: confined to one thread. Allocates: in `init`, and at the first packet of an SSRC.
public final class SRTPSession {
    /// The room in bytes that a slot needs behind the packet, for the largest tag and the SRTCP index.
    public static let trailerRoom = 20
    /// The most SSRCs that the peer may use. Each takes memory, which a peer with valid keys could exhaust otherwise.
    public static let streamLimit = 64
    /// The size of the replay window in packets (RFC 3711 section 3.3.2).
    static let replayWindow = 1_024

    public let profile: SRTPProfile
    private let tagLength: Int
    private let local: srtp_t
    /// Protects RTP packets in place of `local`; nil: the profile is not one of AES-GCM.
    private let outbound: OutboundGCMContext?
    private let remote: srtp_t
    private var remoteSSRCs: [UInt32] = []
    private var lastSSRC: UInt32?

    /// - Throws: `.keys` if a length differs from the profile's, `.library` if libsrtp2 refuses.
    public init(keys: SRTPKeys) throws(SRTPFailure) {
        guard Self.libraryStatus == srtp_err_status_ok else { throw .library(Int32(Self.libraryStatus.rawValue)) }
        let length = keys.profile.keyLength + keys.profile.saltLength
        guard keys.local.count == length, keys.remote.count == length else { throw .keys }
        profile = keys.profile
        tagLength = keys.profile.tagLength
        outbound = keys.profile == .aes128CMSHA1 ? nil : try OutboundGCMContext(keys)
        local = try Self.context(keys.profile, keys.local, ssrc_any_outbound)
        do throws(SRTPFailure) {
            remote = try Self.context(keys.profile, keys.remote, ssrc_any_inbound)
        } catch {
            srtp_dealloc(local)
            throw error
        }
        remoteSSRCs.reserveCapacity(Self.streamLimit)
    }

    deinit {
        srtp_dealloc(local)
        srtp_dealloc(remote)
    }

    /// Does what the first session would do: libsrtp2's modules and self tests, and those of the cipher. The next calls
    /// do nothing.
    public static func initializeLibrary() {
        _ = libraryStatus
        _ = try? GCMSealingKey([UInt8](repeating: 0, count: 16))
    }

    private static let libraryStatus = {
        NSSLibrary.keepOpen()
        let status = srtp_init()
        return status == srtp_err_status_ok ? GCMCipher.install() : status
    }()

    private static func context(
        _ profile: SRTPProfile, _ key: [UInt8], _ direction: srtp_ssrc_type_t
    ) throws(SRTPFailure) -> srtp_t {
        var policy = srtp_policy_t()
        switch profile {
        case .aes128GCM:
            srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtp)
            srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtcp)
        case .aes256GCM:
            srtp_crypto_policy_set_aes_gcm_256_16_auth(&policy.rtp)
            srtp_crypto_policy_set_aes_gcm_256_16_auth(&policy.rtcp)
        case .aes128CMSHA1:
            srtp_crypto_policy_set_rtp_default(&policy.rtp)
            srtp_crypto_policy_set_rtcp_default(&policy.rtcp)
        }
        policy.ssrc.type = direction
        policy.window_size = UInt(replayWindow)
        policy.allow_repeat_tx = 0
        var key = key
        var session: srtp_t?
        // libsrtp2 copies the key.
        let status = key.withUnsafeMutableBufferPointer { key in
            policy.key = key.baseAddress
            return srtp_create(&session, &policy)
        }
        guard status == srtp_err_status_ok, let session else { throw .library(Int32(status.rawValue)) }
        return session
    }

    // MARK: RTP

    /// Adds SRTP protection in place.
    /// - Parameter slot: one packet of `length` bytes, 4-byte aligned, with `trailerRoom` behind it.
    /// - Returns: the length with the tag (10 or 16 bytes more).
    /// - Throws: `.malformed`, `.replay`.
    /// RFC 3711 section 3.3; RFC 7714 section 8 for GCM.
    public func protectRTP(_ slot: UnsafeMutableRawPointer, length: Int) throws(SRTPFailure) -> Int {
        guard let header = Self.headerLength(slot, length: length, behind: 0) else { throw .malformed }
        if let outbound { return try outbound.protect(slot, length: length, headerLength: header) }
        var count = Int32(length)
        try Self.check(srtp_protect(local, slot, &count))
        return Int(count)
    }

    /// Adds SRTP protection to the first packets of the slots in place, as `protectRTP` does to each. One that is
    /// malformed or repeated is left out, and those behind it move up.
    /// - Parameter slots: 4-byte aligned, with `trailerRoom` behind each packet. The lengths become those with the
    ///   tags.
    /// - Returns: how many are protected.
    public func protectRTP(_ slots: PacketSlots, count: Int) -> Int {
        var done = 0
        for index in 0..<count {
            let length = slots.lengths[index]
            if done < index { slots[done].copyMemory(from: slots[index], byteCount: length) }
            guard let protected = try? protectRTP(slots[done], length: length) else { continue }
            slots.lengths[done] = protected
            done += 1
        }
        return done
    }

    /// Adds the memory that `protectRTP` is going to use.
    public func addMemory(to list: inout PrefetchList) {
        list.add(self, bytes: 64)
        outbound?.addMemory(to: &list)
    }

    /// Removes SRTP protection in place.
    /// - Parameter slot: one packet of `length` bytes from the network, 4-byte aligned.
    /// - Returns: the length without the tag.
    /// - Throws: `.replay`, `.authentication`, `.malformed`, `.tooManyStreams`; the bytes are then unspecified.
    public func unprotectRTP(_ slot: UnsafeMutableRawPointer, length: Int) throws(SRTPFailure) -> Int {
        guard Self.headerLength(slot, length: length, behind: tagLength) != nil else { throw .malformed }
        let ssrc = try admit(slot.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        var count = Int32(length)
        try Self.check(srtp_unprotect(remote, slot, &count))
        remember(ssrc)
        return Int(count)
    }

    // MARK: RTCP

    /// Adds SRTCP protection in place (RFC 3711 section 3.4), with encryption.
    /// - Parameter slot: one compound packet of `length` bytes, 4-byte aligned, with `trailerRoom` behind it.
    /// - Returns: the length with the index and the tag (14 or 20 bytes more).
    public func protectRTCP(_ slot: UnsafeMutableRawPointer, length: Int) throws(SRTPFailure) -> Int {
        guard length >= 8, length <= Self.largestPacket else { throw .malformed }
        var count = Int32(length)
        try Self.check(srtp_protect_rtcp(local, slot, &count))
        return Int(count)
    }

    /// Removes SRTCP protection in place.
    /// - Throws: as `unprotectRTP`.
    public func unprotectRTCP(_ slot: UnsafeMutableRawPointer, length: Int) throws(SRTPFailure) -> Int {
        guard length >= 8 + 4 + tagLength, length <= Self.largestPacket,
            slot.load(as: UInt8.self) >> 6 == 2
        else { throw .malformed }
        let ssrc = try admit(slot.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        var count = Int32(length)
        try Self.check(srtp_unprotect_rtcp(remote, slot, &count))
        remember(ssrc)
        return Int(count)
    }

    // MARK: Validation before libsrtp2

    /// The largest UDP datagram, in bytes.
    private static let largestPacket = 65_535

    /// The length of the header with its CSRCs and extension (RFC 3550 section 5.1); nil if that does not leave
    /// `behind` bytes for the tag.
    private static func headerLength(_ slot: UnsafeMutableRawPointer, length: Int, behind: Int) -> Int? {
        guard length >= 12 + behind, length <= largestPacket else { return nil }
        let first = slot.load(as: UInt8.self)
        guard first >> 6 == 2 else { return nil }
        var header = 12 + 4 * Int(first & 0x0f)
        if first & 0x10 != 0 {
            guard length >= header + 4 + behind else { return nil }
            let words = UInt16(bigEndian: slot.loadUnaligned(fromByteOffset: header + 2, as: UInt16.self))
            header += 4 + 4 * Int(words)
        }
        return length >= header + behind ? header : nil
    }

    private func admit(_ ssrc: UInt32) throws(SRTPFailure) -> UInt32 {
        if ssrc != lastSSRC, remoteSSRCs.count >= Self.streamLimit, !remoteSSRCs.contains(ssrc) {
            throw .tooManyStreams
        }
        return ssrc
    }

    /// Records an SSRC after its first authentic packet, as libsrtp2 allocates a stream for it then.
    private func remember(_ ssrc: UInt32) {
        guard ssrc != lastSSRC else { return }
        if !remoteSSRCs.contains(ssrc) { remoteSSRCs.append(ssrc) }
        lastSSRC = ssrc
    }

    private static func check(_ status: srtp_err_status_t) throws(SRTPFailure) {
        switch status {
        case srtp_err_status_ok: return
        case srtp_err_status_replay_fail, srtp_err_status_replay_old, srtp_err_status_pkt_idx_old: throw .replay
        case srtp_err_status_auth_fail: throw .authentication
        case srtp_err_status_parse_err, srtp_err_status_bad_param: throw .malformed
        default: throw .library(Int32(status.rawValue))
        }
    }
}
