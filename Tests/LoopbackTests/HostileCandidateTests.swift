import HTTP
import Host
import Identity
import MediaCore
import PeerConnection
import SessionDescription
import Signaling
import TestSource
import Testing
import VPXCodec
import Viewer

/// An admitted viewer names many addresses that no packet should go to.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct HostileCandidateTests {
    private static let hostile =
        [
            "candidate:1 1 udp 1 somewhere.example.org 9 typ host", "candidate:1 1 udp 1 abcd-ef.local 9 typ host",
            "candidate:1 1 udp 0 192.0.2.1 9 typ host", "candidate:1 1 udp 1 0.0.0.0 9 typ host",
            "candidate:1 1 udp 1 224.0.0.1 9 typ host", "candidate:1 1 udp 1 255.255.255.255 9 typ host",
            "candidate:1 1 udp 1 192.0.2.1 0 typ host", "candidate:1 1 udp 1 192.0.2.1 70000 typ host",
            "candidate:1 2 udp 1 192.0.2.1 9 typ host", "candidate:1 1 tcp 1 192.0.2.1 9 typ host tcptype passive",
            "candidate:1 1 udp 99999999999 192.0.2.1 9 typ host", "candidate:1 1 udp 1 192.0.2.1 9 typ nonsense",
            "candidate:", "candidate:\u{0}", "candidate:" + String(repeating: "1 ", count: 900),
            "candidate:1 1 udp 1 1.2.3 9 typ host", "candidate:1 1 udp 1 ::ffff 9 typ host raddr x rport y",
        ] + (1...200).map { "candidate:\($0) 1 udp \($0) 127.0.0.1 \($0 + 1_023) typ host" }

    @Test func hostileCandidatesAreCountedAndTheNextViewerIsServed() async throws {
        let host = try silentHost(TestVideoSource())
        let link = try await host.start()
        let identity = try Identity.ephemeral()
        let fingerprint = identity.fingerprint
        let client = try SignalingClient(link: link)
        let token = try await admissionToken(for: identity, named: "hostile", from: client)
        let credentials = try #require(
            ICECredentials(usernameFragment: "hostile1", password: String(repeating: "h", count: 24)))
        let offer = LocalDescription(
            credentials: credentials, fingerprint: try #require(Fingerprint(sha256: fingerprint)), candidates: [],
            endsCandidates: false
        ).offer(.receiving())
        // A few are in the offer; then all of them follow repeatedly.
        let lines = Self.hostile.prefix(12).map { "a=\($0)\r\n" }.joined()
        _ = try await client.offer(offer + lines, token: token)
        for start in stride(from: 0, to: Self.hostile.count, by: 40) {
            let some = Self.hostile[start..<min(start + 40, Self.hostile.count)]
            let fragment =
                "a=ice-ufrag:hostile1\r\na=ice-pwd:\(String(repeating: "h", count: 24))\r\n"
                + some.map { "a=\($0)\r\n" }.joined()
            for _ in 0..<2 {
                do {
                    try await client.trickle(fragment)
                } catch {
                    #expect(error.code == .offerRefused, "\(error)")
                }
            }
        }
        for fragment in ["", "a=mid:0\r\n", "a=ice-ufrag:hostile1\r\n", "a=ice-ufrag:x\r\na=ice-pwd:y\r\n"] {
            await #expect(throws: SignalingError.self) { try await client.trickle(fragment) }
        }
        #expect(try #require(await host.statistics()).sent.badPackets >= 100)
        #expect(await host.statistics()?.viewers == 1)

        let seen = RecordedOutput()
        let viewer = try watcher(link, seen)
        let running = Task { await viewer.run() }
        #expect(await seen.wait { $0.counters.count >= 5 })
        viewer.leave()
        #expect(await running.value.code == .stopped)
        await client.leave()
        await client.close()
        await host.stop(EndReason(.stopped, "done"))
    }
}
