/// Decides which records reach OpenSSL. Everything else is dropped as if the network had lost it: anybody can forge a
/// plaintext record with the peer's address, and a record that OpenSSL refuses ends its association.
struct DTLSRecordFilter: Sendable {
    /// What a cipher adds to a fragment: the explicit nonce and the tag (RFC 5288 section 3, RFC 7905 section 2).
    enum Cipher: Int, CaseIterable, Sendable { case chaCha20Poly1305 = 16, gcm = 24 }

    /// The longest certificate message, as OpenSSL is configured.
    static let certificateLimit = 16_384
    private static let messageLimit = 4_096

    /// Whether the filter is that of a DTLS server, which reads a client's messages.
    let isServer: Bool

    /// Whether a record may be read before the peer's keys are known.
    func admitsPlaintext(_ record: DTLSRecord, in datagram: UnsafeRawBufferPointer) -> Bool {
        guard record.epoch == 0 else { return false }
        switch record.content {
        // Nothing proves who has sent them.
        case .alert: return false
        case .changeCipherSpec: return record.fragment.count == 1 && datagram[record.fragment.lowerBound] == 1
        case .handshake:
            return HandshakeFragment.fragments(of: record, in: datagram)?.allSatisfy { admits($0) } ?? false
        }
    }

    /// OpenSSL keeps messages that come too early, so only those that a handshake has are admitted, at the places where
    /// it has them: behind a HelloVerifyRequest a server's messages come one later. This side's server requests none.
    private func admits(_ fragment: HandshakeFragment) -> Bool {
        let places: ClosedRange<Int>
        switch (fragment.message, isServer) {
        case (.clientHello, true): places = 0...0
        case (.certificate, true): places = 1...1
        case (.clientKeyExchange, true): places = 2...2
        case (.certificateVerify, true): places = 3...3
        case (.helloVerifyRequest, false): places = 0...0
        case (.serverHello, false): places = 0...1
        case (.certificate, false): places = 1...2
        case (.serverKeyExchange, false): places = 2...3
        case (.certificateRequest, false): places = 3...4
        case (.serverHelloDone, false): places = 3...5
        default: return false
        }
        let limit = fragment.message == .certificate ? Self.certificateLimit : Self.messageLimit
        return places.contains(fragment.sequence) && fragment.length <= limit
    }

    /// Whether a record can be the peer's Finished, in the first epoch with keys: a header of 12 bytes and 12 bytes
    /// (RFC 5246 section 7.4.9).
    static func canBeFinished(_ record: DTLSRecord, with cipher: Cipher) -> Bool {
        record.content == .handshake && record.epoch == 1 && record.fragment.count == cipher.rawValue + 24
    }

    /// Whether a record can be an alert after the handshake: 2 bytes.
    static func canBeAlert(_ record: DTLSRecord, with cipher: Cipher) -> Bool {
        record.content == .alert && record.epoch == 1 && record.fragment.count == cipher.rawValue + 2
    }
}
