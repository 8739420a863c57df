import EventLoop
import ICETransport
import LinuxRuntime
import MediaCore
import SessionDescription
import Signaling
import TestSource
import Testing
import VPXCodec
import WaitSupport

@testable import Admission
@testable import HTTP
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Viewer

/// A player that answers checks and sends no RTCP is told what is wrong.
@Suite(.timeLimit(.minutes(1)))
struct ViewerWithoutRTCPTests {
    @Test func aPlayerWithoutRTCPIsToldSo() async throws {
        let ends = Monitor<[EndReason]>([])
        let interruptions = Monitor(0)
        let host = try HostSession(
            configuration: .init(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
                maximumBitrate: .kilobits(2_000), contentHint: nil),
            identity: try .ephemeral(), source: TestVideoSource(), encoder: VP8Encoder(), audio: [],
            decide: { _ in .accepted },
            emit: { event in
                if case .viewerLeft(_, let reason, _) = event { ends.change { $0.append(reason) } }
                if case .interrupted = event { interruptions.change { $0 += 1 } }
            })
        let link = try await host.start()
        let client = try SignalingClient(link: link)
        let player = try await Player(client, link)
        #expect(await waiting(player.packets) { $0 > 20 ? true : nil } == true)
        let reason = await waiting(ends) { $0.first }
        #expect(
            reason?.sentence == "the viewer answers checks, but sends no RTCP on the port of RTP, as WebRTC requires")
        #expect(reason?.remedy.contains("RFC 8834") == true)
        #expect(interruptions.with { $0 } == 0, "nobody is told that no packets come")
        await player.close()
        await client.close()
        await host.stop(EndReason(.stopped, "done"))
    }

    /// ICE, DTLS and SRTP of an admitted viewer, without RTCP.
    private struct Player {
        let packets = Monitor(0)
        private let loop = EventLoop(name: "player")
        private let core: LoopBound<RawPeer?>

        init(_ client: SignalingClient, _ link: Link) async throws {
            let identity = try Identity.ephemeral()
            let token = try await admissionToken(for: identity, named: "player", from: client)
            let (loop, packets, gathered) = (loop, packets, Monitor(false))
            core = LoopBound(loop, making: { try? RawPeer(loop, identity, link.fingerprint, packets, gathered) })
            #expect(await waiting(gathered) { $0 ? true : nil } ?? false)
            let found = await core.ifRunning { core in
                core.map { ($0.path.localCredentials, $0.path.localCandidates) }
            }
            let (credentials, candidates) = try #require(found ?? nil)
            let offer = LocalDescription(
                credentials: credentials, fingerprint: try #require(Fingerprint(sha256: identity.fingerprint)),
                candidates: candidates, endsCandidates: true
            ).offer(MediaCapabilities(direction: .receiveOnly, audioSections: 0))
            let answer = try Answer(try await client.offer(offer, token: token).sdp, to: .receiving())
            core.perform { $0?.begin(answer) }
        }

        func close() async {
            await core.performAndWait { core, done in core.map { $0.close(done) } ?? done() }
            await loop.stop()
        }
    }
}
