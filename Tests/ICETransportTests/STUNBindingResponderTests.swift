import EventLoop
import Glibc
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

@testable import ICETransport

/// The port of a relay as a STUN server: as a value, and over real sockets.
@Suite(.timeLimit(.minutes(1)))
struct STUNBindingResponderTests {
    private static let transaction = (0..<12).map { UInt8($0 * 7 &+ 3) }

    /// - Parameter attributes: type and value, which is padded.
    private func request(
        type: UInt16 = 1, cookie: [UInt8] = [0x21, 0x12, 0xA4, 0x42], _ attributes: [(UInt16, [UInt8])] = []
    ) -> [UInt8] {
        var body: [UInt8] = []
        for (type, value) in attributes {
            body += Self.bytes(type) + Self.bytes(UInt16(value.count)) + value
            body += [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
        }
        return Self.bytes(type) + Self.bytes(UInt16(body.count)) + cookie + Self.transaction + body
    }

    private static func bytes(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }

    fileprivate static func place(_ address: String, port: UInt16) throws -> sockaddr_storage {
        var storage = sockaddr_storage()
        let family = address.contains(":") ? AF_INET6 : AF_INET
        let isParsed = withUnsafeMutableBytes(of: &storage) { bytes in
            bytes.storeBytes(of: sa_family_t(family), as: sa_family_t.self)
            bytes.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self)
            return inet_pton(family, address, bytes.baseAddress.map { $0 + (family == AF_INET6 ? 8 : 4) }) == 1
        }
        try #require(isParsed)
        return storage
    }

    private func respond(
        _ responder: inout STUNBindingResponder, to bytes: [UInt8], from address: String, port: UInt16 = 0x1234,
        at milliseconds: Int = 0
    ) throws -> [UInt8]? {
        var source = try Self.place(address, port: port)
        var room = [UInt8](repeating: 0xEE, count: STUNBindingResponder.longestResponse)
        let length = bytes.withUnsafeBytes { request in
            room.withUnsafeMutableBytes { room in
                responder.respond(
                    to: request, from: &source, into: room,
                    now: MediaInstant(nanoseconds: Int64(milliseconds) * 1_000_000))
            }
        }
        return length.map { Array(room[..<$0]) }
    }

    private func answer(to bytes: [UInt8], from address: String = "192.0.2.1", port: UInt16 = 0x1234) throws -> [UInt8]?
    {
        var responder = STUNBindingResponder(now: MediaInstant(nanoseconds: 0))
        return try respond(&responder, to: bytes, from: address, port: port)
    }

    @Test func theAddressIsInTheAnswer() throws {
        let header: [UInt8] = [0x21, 0x12, 0xA4, 0x42] + Self.transaction
        // XOR-MAPPED-ADDRESS: 0x1234 ^ 0x2112, 192.0.2.1 ^ the cookie.
        #expect(
            try answer(to: request())
                == [1, 1, 0, 12] + header + [0, 0x20, 0, 8, 0, 1, 0x33, 0x26, 0xE1, 0x12, 0xA6, 0x43])
        let six = try #require(try answer(to: request(), from: "2001:db8::1"))
        let address: [UInt8] = [0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        #expect(
            six == [1, 1, 0, 24] + header + [0, 0x20, 0, 20, 0, 2, 0x33, 0x26] + zip(address, header).map { $0 ^ $1 })
        // Without the cookie the transaction has 16 bytes, and the address is not masked (RFC 8489 section 11).
        #expect(
            try answer(to: request(cookie: [1, 2, 3, 4]))
                == [1, 1, 0, 12, 1, 2, 3, 4] + Self.transaction + [0, 1, 0, 8, 0, 1, 0x12, 0x34, 192, 0, 2, 1])
    }

    @Test func theAnswerIsNotMuchLongerThanTheRequest() throws {
        #expect(try answer(to: request())?.count == 20 + 12)
        #expect(try answer(to: request(), from: "2001:db8::1")?.count == 20 + 24)
    }

    @Test func onlyPlainRequestsAreAnswered() throws {
        // SOFTWARE and FINGERPRINT may be ignored.
        #expect(try answer(to: request([(0x8022, Array("share".utf8)), (0x8028, [1, 2, 3, 4])])) != nil)
        // USERNAME, MESSAGE-INTEGRITY, CHANGE-REQUEST, PRIORITY and an unknown one may not.
        for type: UInt16 in [0x0006, 0x0008, 0x0003, 0x0024, 0x7FFF, 0x0000] {
            #expect(try answer(to: request([(type, [0, 0, 0, 4])])) == nil, "\(type)")
            #expect(try answer(to: request([(0x8022, [1]), (type, [0, 0, 0, 4])])) == nil, "\(type)")
        }
        // Indication, responses, Allocate, and what is no STUN.
        for type: UInt16 in [0x0011, 0x0101, 0x0111, 0x0003, 0x0000, 0x4001, 0x8001] {
            #expect(try answer(to: request(type: type)) == nil, "\(type)")
        }
        #expect(try answer(to: request(), port: 0) == nil)
    }

    @Test func brokenRequestsAreNotAnswered() throws {
        let whole = request([(0x8022, Array("share".utf8)), (0x8028, [1, 2, 3, 4])])
        for length in whole.indices { #expect(try answer(to: Array(whole[..<length])) == nil, "\(length)") }
        #expect(try answer(to: whole + [0]) == nil && answer(to: whole + [0, 0, 0, 0]) == nil)
        // Of the message, then of its first attribute, whose value has 5 bytes.
        for length in UInt8.min...UInt8.max where length != whole[3] {
            var wrong = whole
            wrong[3] = length
            #expect(try answer(to: wrong) == nil, "\(length)")
        }
        for length in [UInt8(9), 12, 17, 20, 255] {
            var wrong = whole
            wrong[23] = length
            #expect(try answer(to: wrong) == nil, "\(length)")
        }
        #expect(try answer(to: request([(0x8022, [UInt8](repeating: 0, count: 600))])) == nil)
    }

    /// Whatever is answered is a request of this form; nothing is read beyond its end.
    @Test func changedRequestsAreAnsweredInTheSameForm() throws {
        let seed = UInt64.random(in: .min ... .max)
        var state = seed
        func next(_ limit: Int) -> Int {
            // Knuth's MMIX generator.
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        let whole = request([(0x8022, Array("share".utf8)), (0x8028, [1, 2, 3, 4])])
        var answers = 0
        for _ in 0..<20_000 {
            var bytes = whole
            for _ in 0..<next(4) { bytes[next(bytes.count)] = UInt8(next(256)) }
            if next(4) == 0 { bytes.removeLast(next(bytes.count)) }
            guard let response = try answer(to: bytes) else { continue }
            answers += 1
            #expect(bytes.starts(with: [0, 1]) && response.count == 32, "seed \(seed): \(bytes)")
            #expect(response[4..<20] == bytes[4..<20], "seed \(seed): \(bytes)")
        }
        #expect(answers > 1_000, "seed \(seed)")
    }

    @Test func anAddressAndAllTogetherHaveLimits() throws {
        var responder = STUNBindingResponder(now: MediaInstant(nanoseconds: 0))
        func answered(_ address: String, times: Int, at milliseconds: Int) throws -> Int {
            try (0..<times).count { _ in
                try respond(&responder, to: request(), from: address, at: milliseconds) != nil
            }
        }
        #expect(try answered("192.0.2.1", times: 50, at: 0) == 20)
        #expect(try answered("192.0.2.1", times: 50, at: 1_000) == 5)
        // An IPv6 peer has a whole /64. Anew, as the hash of one address in 1,024 is that of the other.
        responder = STUNBindingResponder(now: MediaInstant(nanoseconds: 0))
        #expect(try answered("2001:db8:7:7::1", times: 15, at: 1_000) == 15)
        #expect(try answered("2001:db8:7:7:ffff::2", times: 15, at: 1_000) == 5)
        var total = 0
        for index in 0..<4_000 {
            total += try answered("10.1.\(index / 250).\(index % 250)", times: 1, at: 10_000)
        }
        #expect(total == 1_000)
    }

    // MARK: Over sockets

    /// A client's socket on loopback.
    private final class Client {
        let descriptor: Int32
        let port: UInt16

        init() throws {
            let opened = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
            try #require(opened >= 0)
            descriptor = opened
            var place = try STUNBindingResponderTests.place("127.0.0.1", port: 0)
            let bound = withUnsafeMutablePointer(to: &place) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(opened, $0, 16) }
            }
            try #require(bound == 0)
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let named = withUnsafeMutablePointer(to: &place) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(opened, $0, &length) }
            }
            try #require(named == 0)
            port = withUnsafeBytes(of: place) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
        }

        deinit { close(descriptor) }

        func send(_ bytes: [UInt8], to port: UInt16) throws {
            var place = try STUNBindingResponderTests.place("127.0.0.1", port: port)
            let sent = withUnsafeMutablePointer(to: &place) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(descriptor, bytes, bytes.count, 0, $0, 16)
                }
            }
            #expect(sent == bytes.count)
        }

        /// Waits for a datagram, 5 s at most.
        func receive() -> [UInt8]? {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&polled, 1, 5_000) == 1 else { return nil }
            var room = [UInt8](repeating: 0, count: 2_048)
            let count = recv(descriptor, &room, room.count, 0)
            return count >= 0 ? Array(room[..<count]) : nil
        }
    }

    private func withPort(
        isSTUNServer: Bool, _ body: (UInt16, _ counters: () async throws -> ICELiteSocket.Counters) async throws -> Void
    ) async throws {
        let loop = EventLoop(name: "net-0")
        let socket = try await loop.run {
            LoopBound(
                loop, try ICELiteSocket(loop: loop, addresses: ["127.0.0.1"], isSTUNServer: isSTUNServer))
        }
        let port = try #require(await socket.ifRunning { $0.port })
        try await body(port) { try #require(await socket.ifRunning { $0.counters }) }
        await socket.ifRunning { $0.close() }
        await loop.stop()
    }

    @Test func aStrangerLearnsItsAddress() async throws {
        try await withPort(isSTUNServer: true) { port, counters in
            let client = try Client()
            // What is not answered comes first.
            for bytes in [
                request([(0x0006, Array("a:b".utf8))]), request([(0x0003, [0, 0, 0, 6])]), [0, 1], request(type: 3),
            ] {
                try client.send(bytes, to: port)
            }
            try client.send(request([(0x8022, Array("test".utf8))]), to: port)
            let response = try #require(client.receive())
            #expect(
                response.count == 32 && response.starts(with: [1, 1, 0, 12, 0x21, 0x12, 0xA4, 0x42] + Self.transaction))
            let found = UInt16(response[26] ^ 0x21) << 8 | UInt16(response[27] ^ 0x12)
            #expect(found == client.port)
            #expect(zip(response[28...], [0x21, 0x12, 0xA4, 0x42]).map { $0 ^ $1 } == [127, 0, 0, 1])
            let counted = try await counters()
            #expect(counted.bindingResponses == 1 && counted.refusedRequests == 4)
        }
    }

    @Test func aPortThatIsNoServerIsSilent() async throws {
        try await withPort(isSTUNServer: false) { port, counters in
            let client = try Client()
            try client.send(request(), to: port)
            let deadline = ContinuousClock.now + .seconds(20)
            while try await counters().refusedRequests == 0, ContinuousClock.now < deadline { await Task.yield() }
            let counted = try await counters()
            #expect(counted.refusedRequests == 1 && counted.bindingResponses == 0)
            var polled = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
            #expect(poll(&polled, 1, 0) == 0)
        }
    }
}
