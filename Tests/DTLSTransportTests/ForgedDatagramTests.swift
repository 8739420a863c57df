import DTLSTransport
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

/// Datagrams with the peer's address that the peer has not sent (CVE-2026-75806 and its kind).
@Suite(.timeLimit(.minutes(2))) struct ForgedDatagramTests {
    private let sides = [DTLSPair.Side.client, .server]

    private func connected() throws -> DTLSPair {
        let pair = try DTLSPair()
        pair.session(.client).start()
        pair.settle()
        #expect(pair.isConnected)
        return pair
    }

    /// Every content type, epochs 0 to 3 and the last, and 0 to 60 bytes.
    private var shapes: [[UInt8]] {
        var all: [[UInt8]] = []
        for type: UInt8 in 19...26 {
            for epoch: UInt16 in [0, 1, 2, 3, .max] {
                for count in 0...60 { all.append(ForgedRecord.make(type, epoch: epoch, count: count)) }
            }
        }
        for description: UInt8 in 0...120 { all.append(ForgedRecord.alert(description)) }
        for type: UInt8 in 0...24 {
            all.append(ForgedRecord.handshake(type, sequence: 0, body: [UInt8](repeating: 1, count: 40)))
        }
        return all
    }

    @Test func noForgedDatagramEndsAnAssociation() throws {
        let pair = try connected()
        let last = try #require(pair.sent[.server]?.last)
        let before = sides.map { pair.sent[$0]?.count ?? 0 }
        // The 21 bytes of the report.
        let first: [UInt8] = [23, 254, 253, 0, 1, 255, 255, 255, 255, 255, 255, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]
        for side in sides {
            for shape in [first] + shapes {
                pair.deliver(shape, to: side)
                pair.deliver(ForgedRecord.make(22, epoch: 0, count: 20) + shape, to: side)
                pair.deliver(shape + shape, to: side)
            }
        }
        #expect(pair.closed.isEmpty && pair.failures.isEmpty)
        // What may be a repetition of the client's Finished gets the last flight, eight times. Nothing else is sent.
        #expect(pair.sent[.client]?.count == before[0])
        let answers = (pair.sent[.server] ?? []).dropFirst(before[1])
        #expect(answers.count <= 8 && answers.allSatisfy { $0 == last })
        // The association is unharmed.
        pair.settle()
        pair.session(.client).close()
        pair.settle()
        #expect(pair.closed == [.server] && pair.failures.isEmpty)
    }

    @Test func aRepeatedFlightGetsTheLastOneUntilTheAssociationIsReleased() async throws {
        let pair = try DTLSPair(firstTimeout: .milliseconds(20))
        // The server's second flight, which begins with ChangeCipherSpec, is lost three times.
        var lost = 0
        pair.loses = { side, bytes in
            guard side == .server, bytes[0] == 20, lost < 3 else { return false }
            lost += 1
            return true
        }
        try await pair.connect(within: .seconds(10))
        #expect(pair.isConnected && pair.failures.isEmpty && lost == 3)
        pair.session(.server).release()
        let before = pair.sent[.server]?.count
        for datagram in pair.sent[.client] ?? [] { pair.deliver(datagram, to: .server) }
        #expect(pair.sent[.server]?.count == before)
    }

    /// A client that never gets the last flight repeats its own.
    @Test func repeatedFlightsDoNotEndAnAssociation() async throws {
        let pair = try DTLSPair(firstTimeout: .milliseconds(1))
        var lost = 0
        pair.loses = { side, bytes in
            guard side == .server, bytes[0] == 20 else { return false }
            lost += 1
            return true
        }
        pair.session(.client).start()
        pair.settle()
        for _ in 0..<11 {
            try await pair.expire()
            pair.settle()
        }
        #expect(pair.keys[.server] != nil && pair.closed.isEmpty && pair.failures.isEmpty)
        // Once, and eight times more.
        #expect(lost == 9)
    }

    @Test(arguments: [DTLSPair.Side.client, .server])
    func aHandshakeSurvivesForgedPlaintextAtEveryMoment(_ victim: DTLSPair.Side) async throws {
        let hello = try #require(try Self.hello())
        let forged: [[UInt8]] =
            [0, 10, 40, 47, 50, 80, 100].map { ForgedRecord.alert($0) } + [
                ForgedRecord.hello(hello, random: 0x11), ForgedRecord.hello(hello, random: 0x22),
                ForgedRecord.make(20, epoch: 0, [1]),
                ForgedRecord.handshake(0, sequence: 0, body: []), ForgedRecord.handshake(20, sequence: 4, body: []),
                ForgedRecord.make(22, epoch: 0, count: 40), ForgedRecord.make(23, epoch: 1, count: 8),
            ]
        for (index, datagram) in forged.enumerated() {
            let pair = try DTLSPair(firstTimeout: .milliseconds(50))
            pair.beforeDelivery = { if $0 == victim { pair.deliver(datagram, to: victim) } }
            pair.deliver(datagram, to: victim)
            try await pair.connect(within: .seconds(10))
            #expect(pair.isConnected, "\(index) at the \(victim)")
            #expect(pair.failures.isEmpty && pair.closed.isEmpty)
        }
    }

    /// A forged ServerHello or HelloVerifyRequest spoils a handshake of the client, which begins another one.
    @Test(arguments: [UInt8(2), 3]) func aClientBeginsAgain(_ type: UInt8) async throws {
        let pair = try DTLSPair(firstTimeout: .milliseconds(50))
        let random = [UInt8](repeating: 0x33, count: 32)
        // A suite that was not offered; a cookie that the server has not made.
        let body: [UInt8] = type == 2 ? [254, 253] + random + [0, 0, 1, 0] : [254, 255, 4, 1, 2, 3, 4]
        var isForged = false
        pair.beforeDelivery = { side in
            guard side == .client, !isForged else { return }
            isForged = true
            pair.deliver(ForgedRecord.handshake(type, sequence: 0, body: body), to: .client)
        }
        try await pair.connect(within: .seconds(20))
        #expect(pair.isConnected && pair.failures.isEmpty)
    }

    /// Three hellos that nobody follows up take all places for a second.
    @Test func forgedHellosMakeRoomForThePeers() async throws {
        let hello = try #require(try Self.hello())
        let pair = try DTLSPair(firstTimeout: .milliseconds(50))
        for random: UInt8 in 1...100 { pair.deliver(ForgedRecord.hello(hello, random: random), to: .server) }
        // Three flights, of a datagram or two each.
        #expect((pair.sent[.server]?.count ?? 0) <= 6)
        try await pair.connect(within: .seconds(10))
        #expect(pair.isConnected && pair.failures.isEmpty)
    }

    @Test func aWrongCertificateBesideTheRightOneIsFinal() throws {
        // The client expects another certificate, and has been sent forged alerts before.
        let pair = try DTLSPair(clientExpects: TestIdentity.two.fingerprint)
        pair.beforeDelivery = { pair.deliver(ForgedRecord.alert(40), to: $0) }
        pair.session(.client).start()
        pair.settle()
        #expect(pair.failures[.client] == .fingerprintMismatch)
    }

    /// The ClientHello of another client of this program.
    private static func hello() throws -> [UInt8]? {
        var datagrams: [[UInt8]] = []
        let client = DTLSSession(
            role: .client, identity: try TestIdentity.two.forDTLS(), expectedFingerprint: nil,
            send: { datagrams.append(Array($0)) }, onEvent: { _ in })
        client.start()
        return datagrams.first
    }
}
