import Foundation
import Glibc
import HTTP
import Identifiers
import Identity
import SessionDescription
import Signaling

/// An admitted viewer that opens more sessions and ICE restarts than it needs, with arbitrary candidates. It has no ICE
/// agent.
final class Attacker: Sendable {
    private let link: Link
    private let identity: Identity
    private let token: String

    init(_ text: String) async throws {
        link = try Link(parsing: text)
        identity = try Identity.ephemeral()
        let client = try SignalingClient(link: link)
        let ticket = try await client.knock(name: "attacker", identity: identity)
        guard case .accepted(let token, _) = try await client.waitForAnswer(ticket) else {
            throw SignalingError(.refused, "not accepted")
        }
        self.token = token
        await client.close()
    }

    struct Counts: Sendable {
        var sessions = 0
        var restarts = 0
        var refusals = 0
    }

    /// Opens one session after another until `time` is over, and attempts `restarts` ICE restarts of each.
    /// - Parameter candidates: the candidates for each offer and restart, by its number.
    func run(
        for time: Duration, restarts: Int, candidates: @escaping @Sendable (Int) -> [String]
    ) async -> Counts {
        var counts = Counts()
        let end = ContinuousClock.now + time
        var number = 0
        func credentials() -> (fragment: String, password: String) {
            number += 1
            return ("attack\(number)", String(repeating: "p", count: 24))
        }
        while ContinuousClock.now < end, let client = try? SignalingClient(link: link) {
            let (name, password) = credentials()
            guard let own = ICECredentials(usernameFragment: name, password: password),
                let print = Fingerprint(sha256: identity.fingerprint)
            else { break }
            let offer =
                LocalDescription(credentials: own, fingerprint: print, candidates: [], endsCandidates: false).offer(
                    MediaCapabilities(direction: .receiveOnly, audioSections: 0))
                + candidates(number).map { "a=\($0)\r\n" }.joined()
            do {
                _ = try await client.offer(offer, token: token)
                counts.sessions += 1
                for _ in 0..<restarts where ContinuousClock.now < end {
                    let (name, password) = credentials()
                    let fragment =
                        "a=ice-ufrag:\(name)\r\na=ice-pwd:\(password)\r\nm=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n"
                        + candidates(number).map { "a=\($0)\r\n" }.joined()
                    if (try? await client.restart(fragment, timeout: .seconds(3))) != nil {
                        counts.restarts += 1
                    } else {
                        counts.refusals += 1
                    }
                    try? await Task.sleep(for: .milliseconds(60))
                }
            } catch {
                counts.refusals += 1
                try? await Task.sleep(for: .milliseconds(20))
            }
            await client.close()
        }
        return counts
    }

    /// Runs several such loops at the same time.
    func run(
        _ sessions: Int, for time: Duration, restarts: Int,
        candidates: @escaping @Sendable (Int) -> [String] = { _ in [] }
    ) async -> Counts {
        await withTaskGroup(of: Counts.self) { group in
            for _ in 0..<sessions {
                group.addTask { await self.run(for: time, restarts: restarts, candidates: candidates) }
            }
            var all = Counts()
            for await one in group {
                all.sessions += one.sessions
                all.restarts += one.restarts
                all.refusals += one.refusals
            }
            return all
        }
    }
}

/// A UDP socket that counts datagrams and answers none. Closed when the value is released.
final class CountingSocket: Sendable {
    let port: UInt16
    private let socket: Int32

    /// - Parameter address: in host byte order; 0x7F00_0001 is 127.0.0.1, 0 is all addresses.
    init(_ address: UInt32) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var size = Int32(8 << 20)
        setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = address.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = socket
        let isBound = withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
        port = UInt16(bigEndian: place.sin_port)
    }

    deinit { close(socket) }

    /// Reads all datagrams that are queued.
    /// - Returns: their number. Adds the transaction IDs of the STUN messages of `type` to `transactions`.
    func drain(type: UInt16, into transactions: inout Set<[UInt8]>) -> Int {
        var count = 0
        var bytes = [UInt8](repeating: 0, count: 2_048)
        while true {
            let got = recv(socket, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            guard got > 0 else { return count }
            count += 1
            if got >= 20, UInt16(bytes[0]) << 8 | UInt16(bytes[1]) == type { transactions.insert(Array(bytes[8..<20])) }
        }
    }
}
