internal import COpenSSL
internal import MediaCore

/// The cryptographic context of outgoing SRTP packets with AES-GCM (RFC 3711 section 3.2, RFC 7714 section 8).
///
/// A relay protects each packet anew for each viewer. libsrtp2 takes 0.3 us for that beside the cipher, for a replay
/// list and a policy that a sender does not need: here each SSRC has its highest index, and which of the last 64 were
/// used.
/// - Isolation: confined to one thread. Allocates: in `init`, and at the first packet of an SSRC.
final class OutboundGCMContext {
    static let tagLength = 16

    private let cipher: GCMSealingKey
    private let salt: (high: UInt64, low: UInt32)
    private var streams: [Stream] = []
    /// The place of the last packet's stream.
    private var recent = 0

    private struct Stream {
        let ssrc: UInt32
        /// The highest packet index: 65,536 x the rollover counter + the sequence number (RFC 3711 section 3.3.1).
        var highest: Int64
        /// Bit n: the index n before the highest was used, or precedes the first packet.
        var used = UInt64.max

        /// Takes an index, if it is higher than all before it, or one of the last 64 and was not used.
        mutating func take(_ index: Int64) -> Bool {
            let step = index &- highest
            guard step <= 0 else {
                used = (step < 64 ? used << UInt64(step) : 0) | 1
                highest = index
                return true
            }
            guard step > -64 else { return false }
            let bit = UInt64(1) << UInt64(-step)
            guard used & bit == 0 else { return false }
            used |= bit
            return true
        }
    }

    /// - Parameter keys: `local` has the master key and a master salt of 12 bytes.
    /// - Throws: `.library` if OpenSSL refuses.
    init(_ keys: SRTPKeys) throws(SRTPFailure) {
        let master = Array(keys.local.prefix(keys.profile.keyLength))
        let masterSalt = Array(keys.local.suffix(keys.profile.saltLength))
        let key = try Self.derive(0, count: master.count, master, masterSalt)
        let salt = try Self.derive(2, count: 12, master, masterSalt)
        cipher = try GCMSealingKey(key)
        self.salt = salt.withUnsafeBytes {
            ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        }
    }

    /// The AES-CM key derivation function with a key derivation rate of 0 (RFC 3711 section 4.3.3, RFC 7714 section
    /// 11).
    private static func derive(
        _ label: UInt8, count: Int, _ master: [UInt8], _ masterSalt: [UInt8]
    ) throws(SRTPFailure) -> [UInt8] {
        var counter = masterSalt + [UInt8](repeating: 0, count: 16 - masterSalt.count)
        counter[7] ^= label
        guard let context = EVP_CIPHER_CTX_new() else { throw .library(0) }
        defer { EVP_CIPHER_CTX_free(context) }
        var derived = [UInt8](repeating: 0, count: count)
        var written: Int32 = 0
        let type = master.count == 16 ? EVP_aes_128_ctr() : EVP_aes_256_ctr()
        guard EVP_EncryptInit_ex(context, type, nil, master, counter) == 1,
            EVP_EncryptUpdate(context, &derived, &written, [UInt8](repeating: 0, count: count), Int32(count)) == 1,
            Int(written) == count
        else { throw .library(0) }
        return derived
    }

    /// Encrypts a packet in place and appends the tag.
    /// - Parameters:
    ///   - slot: `length` bytes, of which the header has `headerLength`, with room for the tag behind them.
    /// - Returns: the length with the tag.
    /// - Throws: `.replay` unless the sequence number follows those of the SSRC before it, or was left out among the
    ///   last 64: two packets under one nonce reveal the authentication key.
    func protect(_ slot: UnsafeMutableRawPointer, length: Int, headerLength: Int) throws(SRTPFailure) -> Int {
        let sequence = slot.loadUnaligned(fromByteOffset: 2, as: UInt16.self)
        let ssrc = slot.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
        let counter = try advance(ssrc, UInt16(bigEndian: sequence))
        // 00 00, SSRC, rollover counter, sequence number (RFC 7714 section 8.1): in memory order, as the salt is.
        let high = UInt64(ssrc) << 16 | UInt64(counter.bigEndian & 0xffff) << 48
        let low = counter.bigEndian >> 16 | UInt32(sequence) << 16
        var nonce = (salt.high ^ high, salt.low ^ low)
        let bytes = slot.assumingMemoryBound(to: UInt8.self)
        try cipher.seal(&nonce, header: bytes, headerLength, bytes + headerLength, length &- headerLength)
        return length &+ Self.tagLength
    }

    func addMemory(to list: inout PrefetchList) {
        list.add(self, bytes: 96)
        list.add(streams, from: 0, count: 1)
        cipher.addMemory(to: &list)
    }

    /// Takes a sequence number of an SSRC.
    /// - Returns: the rollover counter of the packet (RFC 3711 section 3.3.1).
    private func advance(_ ssrc: UInt32, _ sequence: UInt16) throws(SRTPFailure) -> UInt32 {
        if recent >= streams.count || streams[recent].ssrc != ssrc {
            guard let known = streams.firstIndex(where: { $0.ssrc == ssrc }) else {
                recent = streams.count
                streams.append(Stream(ssrc: ssrc, highest: Int64(sequence)))
                return 0
            }
            recent = known
        }
        let highest = streams[recent].highest
        let step = Int16(bitPattern: sequence &- UInt16(truncatingIfNeeded: highest))
        let index = highest &+ Int64(step)
        guard index >= 0, index >> 16 <= UInt32.max, streams[recent].take(index) else { throw .replay }
        return UInt32(truncatingIfNeeded: index >> 16)
    }
}
