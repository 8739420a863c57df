import NIOCore
import Testing

@testable import HTTP
@testable import Identifiers
@testable import Signaling

/// Frames that the native client never sends, and the connection around them.
@Suite(.timeLimit(.minutes(1))) struct SocketFrameTests {
    private static let text: UInt8 = 1
    private static let close: UInt8 = 8
    private static let ping: UInt8 = 9

    /// What a connection reads ends with this close frame, as text: no byte above 127 is valid.
    private func end(_ code: MessageSocket.CloseCode) -> String {
        String(decoding: [0x88, 2, UInt8(code.rawValue >> 8), UInt8(code.rawValue & 255)], as: UTF8.self)
    }

    private func send(_ bytes: [UInt8], _ raw: RawConnection) {
        raw.channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }

    @Test func framesBehindTheRequestAreRead() async throws {
        try await SocketFixture.with { stage in
            let frames = socketFrame(Self.text, Array("early".utf8)) + socketFrame(Self.ping, Array("still".utf8))
            let raw = try await stage.upgraded(sending: frames + socketFrame(Self.close, [3, 0xE8]))
            let answer = await raw.rest()
            #expect(answer.hasPrefix("HTTP/1.1 101 "))
            #expect(answer.contains("Sec-WebSocket-Protocol: share.messages.1\r\n"))
            #expect(!answer.contains("bearer"))
            #expect(answer.contains("still") && answer.hasSuffix(end(.normal)))
        }
    }

    /// NIO's decoder does not take such a request for one to change protocols, and reads on.
    @Test func aRequestThatTheDecoderReadsOtherwiseEndsItsConnectionAlone() async throws {
        let configure: (inout SignalingFixture.Settings) -> Void = {
            $0.socketLimits.ping = .milliseconds(20)
            $0.socketLimits.silence = .milliseconds(400)
        }
        try await SocketFixture.with(configure: configure) { stage in
            let other = try await stage.open()
            for rest in ["", "GET / HTTP/1.1\r\nHo", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\u{1}\u{2}"] {
                let raw = try await stage.upgraded(sending: Array(rest.utf8)) { $0["Connection"] = "upgrade\t" }
                raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                let answer = await raw.rest()
                #expect(answer.hasPrefix("HTTP/1.1 "), "\(answer)")
            }
            #expect(try await stage.isAnswered("here", on: other))
        }
    }

    @Test func aMessageMayComeInPieces() async throws {
        try await SocketFixture.with { stage in
            let raw = try await stage.upgraded()
            let begin = "{\"messages\":[{\"type\":\"comment\",\"text\":\"gr"
            send(socketFrame(Self.text, Array(begin.utf8) + [0xC3], isLast: false), raw)
            send(socketFrame(Self.ping, []), raw)
            send(socketFrame(0, [0xBC] + Array("n\"}]}".utf8)), raw)
            let refusal = "this host takes no messages"
            #expect(await raw.read(until: refusal).contains(refusal))
            send(socketFrame(Self.close, []), raw)
            _ = await raw.rest()
        }
    }

    @Test(
        arguments: [
            (socketFrame(1, Array("x".utf8), isMasked: false), MessageSocket.CloseCode.protocolError),
            (socketFrame(3, []), .protocolError),
            (socketFrame(0, Array("x".utf8)), .protocolError),
            (socketFrame(0x41, Array("x".utf8)), .protocolError),
            (socketFrame(9, [], isLast: false), .protocolError),
            (socketFrame(1, Array("x".utf8), isLast: false) + socketFrame(1, Array("y".utf8)), .protocolError),
            (socketFrame(1, [0xC3, 0x28]), .invalidText),
            ([0x82, 0xFF, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4], .tooLarge),
            ([0x82, 0xFF, 0xFF, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4], .tooLarge),
            (
                socketFrame(2, [7], isLast: false)
                    + (0..<200).flatMap { _ in socketFrame(0, Array(repeating: 7, count: 125), isLast: false) },
                .tooLarge
            ),
        ] as [([UInt8], MessageSocket.CloseCode)])
    func aBrokenRuleEndsTheConnection(_ bytes: [UInt8], _ code: MessageSocket.CloseCode) async throws {
        try await SocketFixture.with(configure: { $0.socketLimits.frameRate.burst = 1_000 }) { stage in
            let other = try await stage.open()
            let raw = try await stage.upgraded()
            _ = await raw.read(until: "\r\n\r\n")
            send(bytes, raw)
            #expect(await raw.rest().hasSuffix(end(code)))
            #expect(try await stage.isAnswered("here", on: other))
        }
    }

    @Test func aPeerThatAnswersNoPingIsClosed() async throws {
        let configure: (inout SignalingFixture.Settings) -> Void = {
            $0.socketLimits.ping = .milliseconds(20)
            $0.socketLimits.silence = .milliseconds(400)
        }
        try await SocketFixture.with(configure: configure) { stage in
            let answering = try await stage.open()
            let raw = try await stage.upgraded()
            // Without a close frame, which nobody would read.
            #expect(await raw.rest().hasSuffix(String(decoding: [0x89, 0], as: UTF8.self)))
            #expect(try await stage.isAnswered("here", on: answering))
        }
    }

    /// The decoder of HTTP reads nothing behind a request that names another protocol.
    @Test func whatComesBehindAnUpgradeBeforeTheAnswerIsLimited() async throws {
        try await SocketFixture.with { stage in
            let raw = try await RawConnection.open(stage.link)
            raw.send(
                "GET /\(stage.link.id.text)/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(stage.token)\r\n"
                    + "Connection: Upgrade\r\nUpgrade: other\r\n\r\n")
            #expect(await raw.read(until: ":\n\n").hasPrefix("HTTP/1.1 200"))
            raw.send(String(repeating: "x", count: 65_536))
            _ = await raw.rest()
        }
    }

    @Test func aProtocolThatIsNotSpokenIsIgnoredAndTheConnectionEnds() async throws {
        try await SocketFixture.with { stage in
            let raw = try await RawConnection.open(stage.link)
            raw.send(
                "GET /\(stage.link.id.text) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(stage.token)\r\n"
                    + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n")
            let answer = await raw.rest()
            #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains("onnection: close"))
        }
    }
}
