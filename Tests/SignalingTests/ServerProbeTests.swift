import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Signaling

/// Results of checks of STUN and TURN servers that fail.
@Suite(.timeLimit(.minutes(1)))
struct ServerProbeTests {
    private static let credentials = (name: "alice", password: "secret")

    private func ask(
        _ kind: String = "turn", limit: Duration = .seconds(20), _ answer: @escaping @Sendable (STUNMessage) -> [UInt8]?
    ) async throws -> ServerFinding {
        let server = try await FakeServer(answer)
        let finding = await ServerProbe.ask(
            try ServerURL("\(kind):127.0.0.1:\(server.port)"),
            of: ICEServer(urls: [], username: Self.credentials.name, credential: Self.credentials.password),
            limit: limit)
        await server.close()
        return finding
    }

    @Test func aServerThatNeverAcceptsTheCredentialIsAskedTwice() async throws {
        let asked = Mutex(0)
        let finding = try await ask { request in
            asked.withLock { $0 += 1 }
            return request.refused(401, realm: true)
        }
        #expect(finding == .refused(code: 401, reason: "no"))
        #expect(asked.withLock { $0 } == 2)
        #expect(finding.words.contains("user name and credential") && finding.remedy.contains("SHARE_TURN_CREDENTIAL"))
    }

    @Test(arguments: [403, 486, 508, 300])
    func aRefusalIsExplained(_ code: Int) async throws {
        let finding = try await ask { $0.refused($0[.username] == nil ? 401 : code, realm: true) }
        #expect(finding == .refused(code: code, reason: "no"))
        #expect(!finding.remedy.isEmpty)
    }

    @Test func nonceAfterNonceComesToAnEnd() async throws {
        let asked = Mutex(0)
        let finding = try await ask { request in
            asked.withLock { $0 += 1 }
            return request.refused(request[.username] == nil ? 401 : 438, realm: true)
        }
        #expect(finding == .refused(code: 438, reason: "no"))
        #expect(asked.withLock { $0 } == 3)
    }

    @Test func aChallengeWithoutRealmIsARefusal() async throws {
        #expect(try await ask { $0.refused(401, realm: false) } == .refused(code: 401, reason: "no"))
    }

    @Test func garbageIsReported() async throws {
        #expect(try await ask { _ in [0, 1, 2, 3] } == .strange)
        #expect(try await ask("stun") { _ in Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8) } == .strange)
    }

    @Test func anAnswerToSomethingElseIsNone() async throws {
        let finding = try await ask("stun", limit: .milliseconds(300)) { request in
            var other = request
            other.transaction[0] ^= 1
            return other.refused(400, realm: false)
        }
        #expect(finding == .silent)
    }

    @Test func aSilentServerIsReported() async throws {
        #expect(try await ask(limit: .milliseconds(300)) { _ in nil } == .silent)
        #expect(try await ask("stun", limit: .milliseconds(300)) { _ in nil } == .silent)
    }

    @Test func aClosedPortIsUnreachable() async throws {
        let server = try await FakeServer { _ in nil }
        let port = server.port
        await server.close()
        let finding = await ServerProbe.ask(
            try ServerURL("turn:127.0.0.1:\(port)?transport=tcp"), of: ICEServer(urls: []))
        guard case .unreachable = finding else {
            Issue.record("\(finding)")
            return
        }
    }

    @Test func anAddressIsUnmasked() async throws {
        let finding = try await ask("stun") { request in
            var answer = STUNMessage(request: .binding, transaction: request.transaction)
            answer.type |= STUNMessage.Class.success.rawValue
            // 192.0.2.1:32853, RFC 5769 section 2.2.
            answer[.mappedAddress] = [0, 1, 0xA1, 0x47, 0xE1, 0x12, 0xA6, 0x43]
            return Array(answer.encoded().readableBytesView)
        }
        guard case .answers(let mapped, _) = finding else {
            Issue.record("\(finding)")
            return
        }
        #expect(mapped == "192.0.2.1:32853")
    }

    /// The request with long-term authentication of RFC 5769 section 2.4.
    @Test func theIntegrityIsTheRFCs() {
        let name: [UInt8] = [
            0xE3, 0x83, 0x9E, 0xE3, 0x83, 0x88, 0xE3, 0x83, 0xAA, 0xE3, 0x83, 0x83, 0xE3, 0x82, 0xAF, 0xE3, 0x82, 0xB9,
        ]
        var request = STUNMessage(
            request: .binding,
            transaction: [0x78, 0xAD, 0x34, 0x33, 0xC6, 0xAD, 0x72, 0xC0, 0x29, 0xDA, 0x41, 0x2E])
        request[.username] = name
        request[.nonce] = Array("f//499k954d6OL34oL9FSTvy64sA".utf8)
        request[.realm] = Array("example.org".utf8)
        let key = STUNMessage.key(
            username: String(decoding: name, as: UTF8.self), realm: Array("example.org".utf8), password: "TheMatrIX")
        let expected: [UInt8] = [
            0xF6, 0x70, 0x24, 0x65, 0x6D, 0xD6, 0x4A, 0x3E, 0x02, 0xB8, 0xE0, 0x71, 0x2E, 0x85, 0xC9, 0xA2, 0x8C, 0xA8,
            0x96, 0x66,
        ]
        #expect(Array(request.encoded(key: key).readableBytesView).suffix(20) == expected[...])
    }

    @Test func cutOffMessagesAreNone() {
        var message = STUNMessage(request: .allocate)
        message[.realm] = Array("realm".utf8)
        message[.nonce] = Array("nonce".utf8)
        let whole = Array(message.encoded().readableBytesView)
        #expect(STUNMessage(whole)?[.realm] == Array("realm".utf8))
        for length in 0..<whole.count { #expect(STUNMessage(whole[..<length]) == nil) }
        for index in whole.indices {
            var damaged = whole
            damaged[index] ^= 0xFF
            // Only the absence of a trap is tested.
            _ = STUNMessage(damaged)?.error
            _ = STUNMessage(damaged)?.address(.mappedAddress)
        }
    }
}

extension STUNMessage {
    /// An error response with the reason phrase "no".
    fileprivate func refused(_ code: Int, realm: Bool) -> [UInt8] {
        var answer = self
        answer.type |= Class.error.rawValue
        for attribute in [Attribute.username, .realm, .nonce, .requestedTransport, .lifetime] {
            answer[attribute] = nil
        }
        answer[.errorCode] = [0, 0, UInt8(code / 100), UInt8(code % 100)] + Array("no".utf8)
        if realm {
            answer[.realm] = Array("realm".utf8)
            answer[.nonce] = Array("nonce".utf8)
        }
        return Array(answer.encoded().readableBytesView)
    }
}

/// A UDP server that answers STUN requests as the test defines.
private final class FakeServer: Sendable {
    let port: Int
    private let channel: any Channel

    private final class Handler: ChannelInboundHandler, Sendable {
        typealias InboundIn = AddressedEnvelope<ByteBuffer>
        typealias OutboundOut = AddressedEnvelope<ByteBuffer>
        private let answer: @Sendable (STUNMessage) -> [UInt8]?
        init(_ answer: @escaping @Sendable (STUNMessage) -> [UInt8]?) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let envelope = unwrapInboundIn(data)
            guard let request = STUNMessage(envelope.data.readableBytesView), let bytes = answer(request) else {
                return
            }
            let reply = AddressedEnvelope(remoteAddress: envelope.remoteAddress, data: ByteBuffer(bytes: bytes))
            context.writeAndFlush(wrapOutboundOut(reply), promise: nil)
        }
    }

    init(_ answer: @escaping @Sendable (STUNMessage) -> [UInt8]?) async throws {
        channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(answer))
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    func close() async { try? await channel.close().get() }
}
