import COpenSSL
import Identity
import NIOCore
import NIOEmbedded
import NIOTLS
import Testing

@testable import HTTP
@testable import TLSTransport

/// A server's channel, whose client is a session without one.
@Suite struct TLSHandlerTests {
    private final class Witness: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        var text = ""
        var errors: [TLSFailure] = []
        var isReady = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { text += String(buffer: unwrapInboundIn(data)) }
        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if let failure = error as? TLSFailure { errors.append(failure) }
        }
        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .handshakeCompleted? = event as? TLSUserEvent { isReady = true }
        }
    }

    private final class Stage {
        let channel = EmbeddedChannel()
        let client: TLSSession
        let witness = Witness()
        var received = ""
        var end: TLSSession.Progress = .open

        init() throws {
            let identity = try Identity.ephemeral()
            client = try TLSSession(client: TLSContext(client: .any), host: "127.0.0.1") { _ in true }
            let server = try TLSContext(certificateDER: identity.certificateDER, keyDER: identity.privateKeyDER)
            try channel.pipeline.syncOperations.addHandlers([TLSHandler(server: server), witness])
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        }

        /// Hands over what both send, until neither has anything more.
        func run() throws {
            read([])
            while true {
                let bytes = client.takeOutgoing()
                if !bytes.isEmpty, channel.isActive { try channel.writeInbound(ByteBuffer(bytes: bytes)) }
                var answers = 0
                while let answer = try channel.readOutbound(as: ByteBuffer.self) {
                    answers += 1
                    read(Array(buffer: answer))
                }
                if bytes.isEmpty, answers == 0 { return }
            }
        }

        private func read(_ bytes: [UInt8]) {
            let progress = bytes.withUnsafeBytes { bytes in
                client.receive(bytes) { received += String(decoding: $0, as: UTF8.self) }
            }
            if end == .open { end = progress }
        }

        func send(_ text: String) throws { try Array(text.utf8).withUnsafeBytes { try client.send($0) } }
    }

    @Test func whatIsWrittenBeforeTheHandshakeIsSentAfterIt() throws {
        let stage = try Stage()
        let written = stage.channel.writeAndFlush(ByteBuffer(string: "early"))
        #expect(try stage.channel.readOutbound(as: ByteBuffer.self) == nil && !stage.witness.isReady)
        try stage.run()
        #expect(stage.received == "early" && stage.witness.isReady)
        try written.wait()
        try stage.send("question")
        try stage.run()
        #expect(stage.witness.text == "question" && stage.witness.errors.isEmpty)
    }

    @Test(arguments: [true, false]) func theEndIsAnsweredOrComesLater(isAnswered: Bool) throws {
        let stage = try Stage()
        try stage.run()
        stage.channel.writeAndFlush(ByteBuffer(string: "last"), promise: nil)
        let closed = stage.channel.close()
        try stage.run()
        #expect(stage.received == "last" && stage.end == .closed && stage.channel.isActive)
        if isAnswered {
            stage.client.close()
            try stage.run()
        } else {
            stage.channel.embeddedEventLoop.advanceTime(by: .seconds(4))
            #expect(stage.channel.isActive)
            stage.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        }
        #expect(!stage.channel.isActive && stage.witness.errors.isEmpty)
        try closed.wait()
    }

    @Test func aClientThatLeavesClosesTheConnection() throws {
        let stage = try Stage()
        try stage.run()
        try stage.send("last")
        stage.client.close()
        try stage.run()
        #expect(stage.witness.text == "last" && stage.witness.errors.isEmpty)
        #expect(!stage.channel.isActive && stage.end == .closed)
    }

    @Test func aConnectionThatBreaksIsReported() throws {
        let stage = try Stage()
        try stage.run()
        stage.channel.pipeline.fireChannelInactive()
        #expect(stage.witness.errors == [.truncated])
        let early = try Stage()
        let written = early.channel.writeAndFlush(ByteBuffer(string: "early"))
        early.channel.pipeline.fireChannelInactive()
        #expect(early.witness.errors == [.truncated])
        #expect(throws: TLSFailure.self) { try written.wait() }
    }

    @Test func whatIsNoTLSClosesTheConnection() throws {
        let stage = try Stage()
        try stage.channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
        #expect(!stage.channel.isActive && stage.witness.errors.count == 1)
        let late = stage.channel.writeAndFlush(ByteBuffer(string: "late"))
        #expect(throws: (any Error).self) { try late.wait() }
    }

    /// Below TLS: tells the handlers above at once that something was written. Above it: writes more then.
    private final class Nudge: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            context.write(data, promise: promise)
            context.fireChannelWritabilityChanged()
        }
    }

    private final class Answerer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        var count = 0
        func channelWritabilityChanged(context: ChannelHandlerContext) {
            count += 1
            if count == 3 { context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "more")), promise: nil) }
            if count == 5 { context.close(promise: nil) }
        }
    }

    /// A large write is many for the handlers below, which watch whether it proceeds. None comes between them.
    @Test func recordsStayInTheirOrder() throws {
        let stage = try Stage()
        try stage.run()
        let pipeline = stage.channel.pipeline.syncOperations
        try pipeline.addHandler(Nudge(), position: .first)
        let answerer = Answerer()
        try pipeline.addHandler(answerer)
        let large = String(repeating: "a", count: 100_000)
        let written = stage.channel.writeAndFlush(ByteBuffer(string: large))
        #expect(answerer.count >= 7)
        try stage.run()
        #expect(stage.received == large + "more" && stage.end == .closed)
        try written.wait()
    }

    /// Requests for new keys are answered, until there are too many.
    @Test func newKeysAreNotMadeWithoutEnd() throws {
        let stage = try Stage()
        try stage.run()
        for count in 1...33 {
            #expect(SSL_key_update(stage.client.ssl, SSL_KEY_UPDATE_REQUESTED) == 1)
            try stage.send("x")
            try stage.run()
            #expect(stage.channel.isActive == (count <= 32))
        }
        #expect(stage.witness.errors == [.record("new keys too often")])
    }

    /// The embedded channel has no half-closure.
    private final class HalfClosure: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        var count = 0
        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            guard mode == .output else { return context.close(mode: mode, promise: promise) }
            count += 1
            promise?.succeed()
        }
    }

    /// The output ends after what was written before, also if the handshake is not complete yet; input goes on.
    @Test(arguments: [false, true]) func theOutputEndsAlone(isEarly: Bool) throws {
        let stage = try Stage()
        let below = HalfClosure()
        try stage.channel.pipeline.syncOperations.addHandler(below, position: .first)
        if !isEarly { try stage.run() }
        stage.channel.write(ByteBuffer(string: "last"), promise: nil)
        let ends = [stage.channel.close(mode: .output), stage.channel.close(mode: .output)]
        try stage.run()
        #expect(stage.received == "last" && stage.end == .closed)
        for end in ends { try end.wait() }
        #expect(below.count >= 1)
        #expect(throws: ChannelError.self) { try stage.channel.writeAndFlush(ByteBuffer(string: "late")).wait() }
        try stage.send("answer")
        try stage.run()
        #expect(stage.witness.text == "answer" && stage.witness.errors.isEmpty)
    }
}
