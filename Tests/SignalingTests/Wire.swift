import NIOCore
import NIOHTTP1
import NIOPosix

@testable import Signaling

/// A connection that sends what the real client never would.
struct Wire {
    let link: Link
    private let connector: PinnedConnector

    static func with(_ link: Link, _ body: (Wire) async throws -> Void) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let wire = Wire(link: link, connector: try PinnedConnector(link: link, group: group, timeout: .seconds(5)))
        do { try await body(wire) } catch {
            try await group.shutdownGracefully()
            throw error
        }
        try await group.shutdownGracefully()
    }

    func connect() async throws -> any Channel { try await connector.connect() }

    /// One request over a connection of its own.
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

    func knockBody(_ fingerprint: [UInt8], secret: [UInt8]? = nil, name: String = "x") -> String {
        let proof = Proof(id: link.id, secret: secret ?? link.secret).viewer(fingerprint: fingerprint)
        return
            "{\"name\":\"\(name)\",\"fingerprint\":\"\(Base64URL.encode(fingerprint))\",\"proof\":\"\(Base64URL.encode(proof))\"}"
    }

    /// A token for this certificate, from a host that accepts.
    func token(_ fingerprint: [UInt8]) async throws -> String {
        let client = try SignalingClient(link: link)
        let ticket = try await client.knock(name: "x", fingerprint: fingerprint)
        let answer = try await client.waitForAnswer(ticket)
        await client.close()
        guard case .accepted(let token, _) = answer else { throw SignalingError(.refused, "not accepted") }
        return token
    }
}

let sdpType = ("Content-Type", "application/sdp")
func bearer(_ token: String) -> (String, String) { ("Authorization", "Bearer \(token)") }
