import EventLoop
import Glibc
import HTTP
import LinuxRuntime
import MediaCore
import MediaEngine
import SessionDescription
import Signaling
import TestSource
import Testing
import VPXCodec
import WaitSupport

@testable import Admission
@testable import Host
@testable import ICETransport
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Viewer

/// Consent to send belongs to the destination, not to the session: a viewer with two addresses falls silent at the
/// destination of media, and keeps its session alive from the other address.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct PairConsentTests {
    /// An admitted viewer that controls its sockets arbitrarily.
    private final class TwoAddresses: PeerConnectionDelegate, Sendable {
        static let addresses = ["127.0.0.1", "127.0.0.2"]
        let loop = EventLoop(name: "net-0")
        let frames = Monitor(0)
        private let isConnected = Monitor(false)
        private let connection = Monitor<LoopBound<PeerConnection>?>(nil)
        private let client: SignalingClient

        init(_ link: Link) async throws {
            let identity = try Identity.ephemeral()
            client = try SignalingClient(link: link)
            let token = try await admissionToken(for: identity, named: "two addresses", from: client)
            let (loop, expected) = (loop, link.fingerprint)
            let core = LoopBound(
                loop,
                making: {
                    var configuration = PeerConnection.Configuration(
                        .offerer, identity: identity, fingerprint: expected, place: .loopback,
                        repeatsCandidates: false, interruptionThreshold: .seconds(3))
                    configuration.agent.localAddresses = Self.addresses
                    guard let connection = try? PeerConnection(loop: loop, configuration, allowance: nil)
                    else { preconditionFailure("no connection") }
                    connection.delegate = self
                    return connection
                })
            connection.change { $0 = core }
            let found: PeerConnection.LocalCandidates = await withCheckedContinuation { continuation in
                core.perform {
                    $0.localCandidates(within: .seconds(5), wanted: nil) { continuation.resume(returning: $0) }
                }
            }
            guard var description = found.description else { throw SignalingError(.gone, "no credentials") }
            description.endsCandidates = true
            let offer = description.offer(MediaCapabilities(direction: .receiveOnly, audioSections: 0))
            let answer = try Answer(try await client.offer(offer, token: token).sdp, to: .receiving())
            await core.ifRunning { connection in
                let video = answer.video.first.map {
                    VideoStreamParameters(
                        ssrc: $0.ssrc ?? 0, codec: $0.codec, payloadType: $0.payloadType, rtxSSRC: $0.rtxSSRC,
                        rtxPayloadType: $0.rtxPayloadType, mid: $0.mid)
                }
                let parameters = ReceiverParameters(
                    video: video, audio: [], extensions: answer.extensions, cname: "two addresses", localSSRC: 1,
                    usesTransportFeedback: answer.feedback.contains(.transportWide),
                    sendsREMB: answer.feedback.contains(.remb))
                let now = MonotonicClock.now
                connection.begin(
                    answer,
                    receiver: MediaReceiver(parameters, seed: 1, ntpEpoch: WallClock.now(), now: now))
            }
            _ = await waiting(isConnected) { $0 ? true : nil }
            _ = await waiting(frames) { $0 > 0 ? true : nil }
        }

        /// The host's destination: this side's address of the selected pair.
        func address() async -> String? {
            await core?.ifRunning { $0.path.localAddress } ?? nil
        }

        private var core: LoopBound<PeerConnection>? { connection.with { $0 } }

        /// - Parameters:
        ///   - address: the source address of packets from now on.
        ///   - deaf: addresses at which nothing arrives any more.
        func send(from address: String, deaf: [String]) async {
            await core?.ifRunning { connection in
                guard let agent = (connection.path as? ICEPath)?.agents.current,
                    let remote = agent.socket?.remote.pointee
                else { return }
                for socket in agent.localSockets.all {
                    let own = socket.endpoint.prefix { $0 != ":" }
                    if deaf.contains(String(own)) { Self.deafen(socket.descriptor) }
                    guard own == address else { continue }
                    agent.move(to: remote, through: socket)
                    // An agent that has selected another pair does the same.
                    agent.checkConsent()
                }
            }
        }

        /// Makes the kernel drop received packets, by a filter of one instruction, "return 0" (BPF_RET | BPF_K).
        private static func deafen(_ descriptor: Int32) {
            var instruction = UInt64(6)
            withUnsafeMutablePointer(to: &instruction) {
                var program: (length: UInt16, filter: UnsafeMutablePointer<UInt64>) = (1, $0)
                let code = setsockopt(
                    descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, socklen_t(MemoryLayout.size(ofValue: program)))
                precondition(code == 0, "no filter: \(errno)")
            }
        }

        func close() async {
            await core?.performAndWait { $0.close($1) }
            await loop.stop()
            await client.leave()
            await client.close()
        }

        func connection(reported event: PeerConnection.Event) {
            switch event {
            case .connected: isConnected.change { $0 = true }
            case .frame: frames.change { $0 += 1 }
            default: break
            }
        }
    }

    private struct Watched {
        let host: HostSession
        let viewer: TwoAddresses
        let events: Monitor<[String]>
        let used: String
        var other: String { TwoAddresses.addresses.first { $0 != used } ?? "" }

        init() async throws {
            let events = Monitor<[String]>([])
            self.events = events
            host = try HostSession(
                configuration: .init(
                    listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
                    maximumBitrate: .kilobits(2_000), contentHint: nil),
                identity: try .ephemeral(), source: TestVideoSource(), encoder: VP8Encoder(), audio: [],
                decide: { _ in .accepted },
                emit: { event in
                    switch event {
                    case .interrupted: events.change { $0.append("interrupted") }
                    case .resumed: events.change { $0.append("resumed") }
                    default: break
                    }
                })
            viewer = try await TwoAddresses(try await host.start())
            used = try #require(await viewer.address())
            try #require(TwoAddresses.addresses.contains(used), "\(used)")
        }

        /// Waits until the host sends to the other address.
        func isFollowed() async throws -> Bool {
            for _ in 0..<400 {
                let paths = try #require(await host.statistics()).routes
                if paths.first?.contains("- \(other):") == true { return true }
                let frames = viewer.frames.with { $0 }
                guard await waiting(viewer.frames, { $0 > frames ? true : nil }) == true else { return false }
            }
            return false
        }

        func close() async {
            await viewer.close()
            await host.stop(EndReason(.stopped, "done"))
        }
    }

    @Test func mediaFollowsToTheAddressThatSendsAndAnswers() async throws {
        let watched = try await Watched()
        await watched.viewer.send(from: watched.other, deaf: [])
        #expect(try await watched.isFollowed())
        #expect(watched.events.with { $0 }.isEmpty)
        await watched.close()
    }

    @Test func mediaStopsToASilentAddressWhileAnotherSends() async throws {
        let watched = try await Watched()
        // The host knows both addresses, and sends to the second.
        await watched.viewer.send(from: watched.other, deaf: [])
        #expect(try await watched.isFollowed())
        // Packets from the first address are authentic, but no packet that is sent to either address arrives.
        await watched.viewer.send(from: watched.used, deaf: TwoAddresses.addresses)
        #expect(await waiting(watched.events) { $0.contains("interrupted") ? true : nil } == true)
        // The session continues with reports only.
        try await Task.sleep(for: .seconds(2))
        let statistics = try #require(await watched.host.statistics())
        #expect(statistics.viewers == 1)
        #expect(statistics.layers == [.none])
        #expect(watched.events.with { $0 } == ["interrupted"])
        await watched.close()
    }
}
