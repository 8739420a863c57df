import NIOCore
import NIOHTTP1
import Synchronization
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Signaling

/// A broadcast that takes no messages and says so on its viewers' WebSockets, and clients with a token of it.
struct SocketFixture: Sendable {
    let server: SignalingServer
    let broadcast: BroadcastResource
    let link: Link
    let http: PinnedHTTPClient
    let wire: RawHTTPClient
    let token: String

    var path: String { "/\(link.id.text)/messages" }

    static func with(
        configure: (inout SignalingFixture.Settings) -> Void = { _ in }, _ body: (SocketFixture) async throws -> Void
    ) async throws {
        try await SignalingFixture.with(configure: configure) { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let http = try PinnedHTTPClient(to: PinnedServer(stage.link), configuration: .init())
                do {
                    try await body(
                        SocketFixture(
                            server: stage.server, broadcast: stage.broadcast, link: stage.link, http: http, wire: wire,
                            token: try await wire.token(randomFingerprint())))
                } catch {
                    await http.close()
                    throw error
                }
                await http.close()
            }
        }
    }

    func open(token: String? = nil, limits: MessageSocket.Limits = .init()) async throws -> MessageSocket {
        let protocols = protocols(token: token ?? self.token)
        return try #require(try await http.webSocket(path, protocols: protocols, limits: limits))
    }

    func protocols(token: String) -> [String] {
        ["share.messages.1", "bearer.\(token)"]
    }

    /// Sends a text and waits for the next message. Whether it is the problem document of a text that is no JSON.
    func isAnswered(_ text: String, on socket: MessageSocket) async throws -> Bool {
        socket.send(text)
        for await message in socket.messages {
            guard case .text(let answer) = message else { return false }
            return answer.contains("urn:share:problem:malformed") && answer.contains("\"status\":400")
        }
        return false
    }

    func fields(token: String?) -> [String: String] {
        [
            "Connection": "keep-alive, Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAECAwQFBgcICQoLDA0ODw==",
            "Sec-WebSocket-Protocol": "share.messages.1" + (token.map { ", bearer.\($0)" } ?? ""),
        ]
    }

    /// The response to a request for a WebSocket, which is used no further.
    func ask(
        path: String? = nil, over connection: (any Channel)? = nil,
        _ change: (inout [String: String]) -> Void = { _ in }
    ) async throws -> HTTPAnswer {
        try await ask(token: token, path: path, over: connection, change)
    }

    func ask(
        token: String?, path: String? = nil, over connection: (any Channel)? = nil,
        _ change: (inout [String: String]) -> Void = { _ in }
    ) async throws -> HTTPAnswer {
        var fields = fields(token: token)
        change(&fields)
        return try await wire.ask(.GET, path ?? self.path, fields.map { ($0.key, $0.value) }, over: connection)
    }

    /// A connection on which the test writes frames itself, after the response 101.
    func upgraded(
        sending bytes: [UInt8] = [], _ change: (inout [String: String]) -> Void = { _ in }
    ) async throws -> RawConnection {
        let raw = try await RawConnection.open(link)
        var fields = fields(token: token)
        change(&fields)
        let lines = fields.map { "\($0.key): \($0.value)\r\n" }.joined()
        let request = "GET \(path) HTTP/1.1\r\nHost: x\r\n\(lines)\r\n"
        raw.channel.writeAndFlush(ByteBuffer(bytes: Array(request.utf8) + bytes), promise: nil)
        return raw
    }
}

/// The bytes of a frame (RFC 6455 section 5.2) of 125 bytes at most.
func socketFrame(_ opcode: UInt8, _ payload: [UInt8], isLast: Bool = true, isMasked: Bool = true) -> [UInt8] {
    let mask: [UInt8] = isMasked ? [1, 2, 3, 4] : []
    let bytes = isMasked ? payload.enumerated().map { $1 ^ mask[$0 % 4] } : payload
    return [(isLast ? 0x80 : 0) | opcode, (isMasked ? 0x80 : 0) | UInt8(payload.count)] + mask + bytes
}
