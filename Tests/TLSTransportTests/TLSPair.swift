import Foundation
import TestSupport
import Testing

@testable import TLSTransport

/// A client and a server that hand each other what they send.
struct TLSPair {
    let client: TLSSession
    let server: TLSSession
    /// The number of bytes that are handed over at once.
    var piece = Int.max

    struct Outcome: Equatable {
        var client = TLSSession.Progress.open
        var server = TLSSession.Progress.open
        var toClient: [UInt8] = []
        var toServer: [UInt8] = []
    }

    init(_ client: TLSSession, _ server: TLSSession, piece: Int = .max) {
        (self.client, self.server, self.piece) = (client, server, piece)
    }

    /// Hands over all that both send, until neither has anything more.
    func run() -> Outcome {
        var outcome = Outcome()
        outcome.client = client.receive([]).0
        while true {
            let forward = client.takeOutgoing()
            for piece in pieces(forward) { Self.note(server.receive(piece), &outcome.server, &outcome.toServer) }
            let back = server.takeOutgoing()
            for piece in pieces(back) { Self.note(client.receive(piece), &outcome.client, &outcome.toClient) }
            if forward.isEmpty, back.isEmpty { return outcome }
        }
    }

    private static func note(
        _ result: (TLSSession.Progress, [UInt8]), _ progress: inout TLSSession.Progress, _ bytes: inout [UInt8]
    ) {
        // The first reason is the real one.
        if progress == .open { progress = result.0 }
        bytes += result.1
    }

    private func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: min(piece, max(bytes.count, 1))).map {
            Array(bytes[$0..<min($0 + min(piece, bytes.count), bytes.count)])
        }
    }
}

extension TLSSession {
    func receive(_ bytes: [UInt8]) -> (Progress, [UInt8]) {
        var plaintext: [UInt8] = []
        let progress = bytes.withUnsafeBytes { bytes in receive(bytes) { plaintext += $0 } }
        return (progress, plaintext)
    }

    func send(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try send($0) } }
}

extension CertificateAuthority.Certificate {
    func context() throws -> TLSContext { try TLSContext(server: certificates(), privateKey()) }

    func certificates() throws -> [TLSCertificate] {
        TLSCertificate.chain(pem: Array(try Data(contentsOf: URL(fileURLWithPath: chain))))
    }

    func privateKey() throws -> TLSPrivateKey {
        try #require(TLSPrivateKey(pem: Array(Data(contentsOf: URL(fileURLWithPath: key)))))
    }
}
