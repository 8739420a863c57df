import Foundation
import Glibc
import TestSupport
import Testing

/// Admitted viewers that exhaust resources: descriptors, packets to third parties, TURN allocations.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct ResourceTests {
    private static let source = ["--source", "test", "--audio", "none"]

    /// Programs read the link from the first event, whatever goes wrong at the start.
    @Test func noticesOfTheStartFollowTheLink() throws {
        let host = try ShareProcess(
            ["host", "--accept", "any", "--listen", "127.0.0.1:0", "--json"] + Self.source,
            launcher: ["prlimit", "--nofile=160:160"])
        #expect(host.event("few-descriptors")?["limit"] as? Int == 160, "\(host.errorText)")
        #expect(host.lines.first?.hasPrefix("{\"event\":\"link\"") == true, "\(host.lines)")
        #expect(host.waitForError("this process may open 160 files only"))
    }

    /// They bring some fifty libraries, which the first frame would wait for.
    @Test func aViewerOfVP8LoadsNoOtherCodec() throws {
        let host = try HostedScreen(Self.source)
        let viewer = try host.join()
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        // Several reads, of a page each.
        let file = try #require(FileHandle(forReadingAtPath: "/proc/\(viewer.processID)/maps"))
        let maps = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        #expect(maps.contains("libvpx"))
        #expect(!maps.contains("libavcodec") && !maps.contains("libdav1d"))
    }

    /// The host has few descriptors, and a crowd opens sessions, restarts and idle connections. The previous viewer
    /// continues to watch, and another can join when the crowd has left.
    @Test func lackOfFileDescriptorsEndsNoSession() async throws {
        let host = try HostedScreen(Self.source, launcher: ["prlimit", "--nofile=160:160"])
        let viewer = try host.join()
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        var attackers: [Attacker] = []
        for _ in 0..<8 { attackers.append(try await Attacker(host.link)) }
        let idle = try IdleConnections(500, to: host.link)
        let counts = await withTaskGroup(of: Attacker.Counts.self) { group in
            for attacker in attackers { group.addTask { await attacker.run(4, for: .seconds(6), restarts: 20) } }
            return await group.reduce(into: Attacker.Counts()) {
                $0.sessions += $1.sessions
                $0.restarts += $1.restarts
                $0.refusals += $1.refusals
            }
        }
        #expect(counts.sessions > 0 && counts.refusals > 0, "\(counts)")
        #expect(host.process.isRunning, "\(host.process.errorText.suffix(2_000))")
        #expect(viewer.isRunning)
        let before = try #require(viewer.event("statistics")?["frames"] as? Int)
        #expect(viewer.event("statistics") { ($0["frames"] as? Int ?? 0) > before + 20 } != nil)
        idle.close()
        // Sessions that never connect last 20 s, so until then there may be no place for another viewer.
        var words = ""
        for _ in 0..<30 {
            let another = try host.join()
            if another.event("first-picture") != nil { return }
            _ = another.exitCode()
            words = another.errorText
            try await Task.sleep(for: .seconds(1))
        }
        Issue.record("nobody else can come: \(words)")
    }

    /// Two hosts are attacked at the same time, as each attack takes 10 s.
    @Test func aTokenSendsFewChecksToOthersAndAsksForFewRelays() async throws {
        async let checks: Void = sendFewChecksToOthers()
        try await askForFewRelays()
        try await checks
    }

    /// Each offer and each restart has 40 candidates at new addresses.
    private func sendFewChecksToOthers() async throws {
        let host = try HostedScreen(Self.source)
        let attacker = try await Attacker(host.link)
        let victim = try CountingSocket(0)
        let port = victim.port
        let counts = await attacker.run(4, for: .seconds(10), restarts: 1_000) { number in
            (1...40).map {
                "candidate:\($0) 1 udp \($0) 127.\(number % 250 + 1).\(number / 250 % 250).\($0) \(port) typ host"
            }
        }
        var requests: Set<[UInt8]> = []
        let packets = victim.drain(type: 1, into: &requests)
        #expect(counts.sessions > 0)
        // The host checks the candidates, but does not flood them. It sends checks from each of this machine's IPv4
        // addresses.
        #expect(packets > 20, "\(counts)")
        #expect(packets < 40 * 10 * Self.addresses, "\(packets) packets in 10 s, \(counts)")
    }

    private func askForFewRelays() async throws {
        let relay = try CountingSocket(0x7F00_0001)
        let host = try HostedScreen(
            Self.source + ["--turn", "turn:alice@127.0.0.1:\(relay.port)"],
            environment: ["SHARE_TURN_CREDENTIAL": "secret"])
        let attacker = try await Attacker(host.link)
        var allocations: Set<[UInt8]> = []
        // The allocations of the host before the attack do not count.
        _ = relay.drain(type: 3, into: &allocations)
        allocations = []
        let counts = await attacker.run(4, for: .seconds(10), restarts: 1_000)
        let packets = relay.drain(type: 3, into: &allocations)
        #expect(counts.sessions > 0 && packets > 0)
        #expect(allocations.count < 18 * Self.addresses, "\(allocations.count) in 10 s, \(counts)")
    }

    /// The number of this machine's IPv4 addresses, including loopback.
    private static var addresses: Int {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return 1 }
        defer { freeifaddrs(list) }
        var count = 0
        var item = list
        while let current = item {
            if let address = current.pointee.ifa_addr, Int32(address.pointee.sa_family) == AF_INET { count += 1 }
            item = current.pointee.ifa_next
        }
        return max(count, 1)
    }
}

/// TCP connections from 127.0.0.2 on which nothing is sent.
private final class IdleConnections {
    private var sockets: [Int32] = []

    init(_ count: Int, to link: String) throws {
        let port = try #require(URL(string: link)?.port)
        for _ in 0..<count {
            let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            guard socket >= 0 else { break }
            sockets.append(socket)
            for (address, port, isOwn) in [(UInt32(0x7F00_0002), 0, true), (0x7F00_0001, port, false)] {
                // A sockaddr_in as bytes: several C modules declare its members, and the compiler may ask for an import
                // of any of them.
                var place: [UInt8] = [UInt8(AF_INET), 0, UInt8(port >> 8), UInt8(port & 0xFF)]
                for shift in [24, 16, 8, 0] { place.append(UInt8(address >> UInt32(shift) & 0xFF)) }
                place += [UInt8](repeating: 0, count: 8)
                place.withUnsafeBytes { bytes in
                    guard let place = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress else { return }
                    let length = socklen_t(bytes.count)
                    _ = isOwn ? bind(socket, place, length) : connect(socket, place, length)
                }
            }
        }
    }

    func close() {
        for socket in sockets { Glibc.close(socket) }
        sockets = []
    }

    deinit { close() }
}
