import Cryptography
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// A client that sends requests which `SignalingClient` never would.
struct RawHTTPClient {
    let link: Link
    private let connector: PinnedConnector

    static func with(_ link: Link, _ body: (RawHTTPClient) async throws -> Void) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let connector = try PinnedConnector(to: PinnedServer(link), group: group, timeout: .seconds(5))
        let wire = RawHTTPClient(link: link, connector: connector)
        do { try await body(wire) } catch {
            try await group.shutdownGracefully()
            throw error
        }
        try await group.shutdownGracefully()
    }

    func connect() async throws -> any Channel { try await connector.connect() }

    /// Sends one request on a new connection.
    func ask(
        _ method: HTTPMethod, _ path: String, _ headers: [(String, String)] = [], body: String? = nil,
        over connection: (any Channel)? = nil
    ) async throws -> HTTPAnswer {
        let channel: any Channel
        if let connection { channel = connection } else { channel = try await connect() }
        let promise = channel.eventLoop.makePromise(of: HTTPAnswer.self)
        var fields = HTTPHeaders([("Host", "test")] + headers)
        if let body, !fields.contains(name: "Content-Length") {
            fields.add(name: "Content-Length", value: String(body.utf8.count))
        }
        let request = HTTPExchange.Request(
            head: HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: fields),
            body: body.map { ByteBuffer(string: $0) }, kind: .whole(promise))
        HTTPExchange.send(request, on: channel)
        let answer = try await promise.futureResult.get()
        if connection == nil { channel.close(promise: nil) }
        return answer
    }

    func knockBody(_ fingerprint: [UInt8], secret: [UInt8]? = nil, name: String = "x", key: [UInt8]? = nil) -> String {
        let proof = Proof(id: link.id, secret: secret ?? link.secret).viewer(fingerprint: fingerprint)
        let key = key.map { ",\"key\":\"\(Base64URL.encode($0))\"" } ?? ""
        return "{\"name\":\"\(name)\",\"fingerprint\":\"\(Base64URL.encode(fingerprint))\","
            + "\"proof\":\"\(Base64URL.encode(proof))\"\(key)}"
    }

    /// Knocks. Returns the path of the unsigned knock and its challenge.
    func knock(
        _ identity: ViewerIdentity, over connection: (any Channel)? = nil
    ) async throws -> (place: String, challenge: KnockChallenge) {
        let answer = try await ask(
            .POST, "/\(link.id.text)/knock", body: knockBody(identity.fingerprint, key: identity.key),
            over: connection)
        guard answer.status == 202 else { throw Unexpected(answer: answer) }
        let document = try JSONDecoder().decode(ChallengeDocument.self, from: Data(answer.text.utf8))
        let challenge = KnockChallenge(
            id: link.id, host: link.fingerprint, identity: identity,
            nonce: try #require(Base64URL.decode(document.nonce)))
        return (try #require(answer.headers.first(name: "Location")), challenge)
    }

    /// Sends the signature of a challenge.
    func sign(
        _ place: String, _ signature: [UInt8], certificate: [UInt8]? = nil, over connection: (any Channel)? = nil
    ) async throws -> HTTPAnswer {
        let certificate = certificate.map { ",\"certificate\":\"\(Base64URL.encode($0))\"" } ?? ""
        return try await ask(
            .PUT, place, body: "{\"signature\":\"\(Base64URL.encode(signature))\"\(certificate)}", over: connection)
    }

    struct Unexpected: Error {
        let answer: HTTPAnswer
    }

    /// Gets a token for this certificate from a host that accepts knocks.
    func token(_ fingerprint: [UInt8]) async throws -> String {
        let client = try SignalingClient(link: link)
        let ticket = try await client.knock(name: "x", fingerprint: fingerprint)
        let answer = try await client.waitForAnswer(ticket)
        await client.close()
        guard case .accepted(let token, _) = answer else { throw SignalingError(.refused, "not accepted") }
        return token
    }
}

/// A browser's identity: the certificate's fingerprint that it claims, and a key beside it.
struct BrowserKey: Sendable {
    let fingerprint: [UInt8]
    private let key = P256PrivateKey()

    init(_ fingerprint: [UInt8] = randomFingerprint()) { self.fingerprint = fingerprint }

    var identity: ViewerIdentity {
        get throws {
            try #require(ViewerIdentity(fingerprint: fingerprint, key: key.publicKey.point))
        }
    }

    func sign(_ bytes: [UInt8]) -> [UInt8] { key.signature(over: bytes) }
}

extension Identity {
    var asViewer: ViewerIdentity {
        get throws { try #require(ViewerIdentity(fingerprint: fingerprint)) }
    }
}

extension SignalingClient {
    /// Knocks as a browser with that key.
    func knock(name: String, as browser: BrowserKey) async throws -> KnockTicket {
        try await knock(name: name, identity: try browser.identity, certificate: nil) { challenge in
            browser.sign(challenge.signedBytes)
        }
    }

    /// Knocks as a browser with a new key.
    func knock(name: String, fingerprint: [UInt8]) async throws -> KnockTicket {
        try await knock(name: name, as: BrowserKey(fingerprint))
    }
}

let sdpType = ("Content-Type", "application/sdp")
func bearer(_ token: String) -> (String, String) { ("Authorization", "Bearer \(token)") }
