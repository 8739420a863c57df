import EventLoop
import LinuxRuntime
import MediaCore
import MediaEngine
import TestSource
import Testing
import VPXCodec

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Signaling
@testable import Viewer

/// A broadcast whose frames were encoded elsewhere: a session's sink passes on what it receives, as a relay would.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct EncodedMediaSourceTests {
    /// Queues what a session receives for a broadcast, and asks the session's host for key frames.
    private final class PassingSink: EncodedMediaSink, EncodedMediaSource {
        let frames = FrameQueues()
        let packets = FrameQueue<AudioPacketInfo>(capacity: 4, bytes: 1_500)
        private let request = Monitor<(@Sendable (KeyframeRequest) -> Void)?>(nil)
        private let framesReady = Monitor<(@Sendable () -> Void)?>(nil)
        let keyframesRequested = Monitor(0)

        func onFrame(_ body: @escaping @Sendable () -> Void) { framesReady.with { $0 = body } }

        // MARK: The sink

        func start(_ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void) {
            request.with { $0 = requestKeyframe }
        }

        func receive(_ frame: EncodedVideoFrame) {
            let info = withUnsafeTemporaryAllocation(byteCount: frame.bytes.count, alignment: 1) {
                frame.bytes.copy(to: $0)
                return FrameInfo(
                    of: UnsafeRawBufferPointer($0), isKeyframe: frame.isKeyframe, layer: frame.layer,
                    captured: MonotonicClock.now)
            }
            if frames.main.push(byteCount: frame.bytes.count, info, { _ = frame.bytes.copy(to: $0) }) {
                framesReady.with { $0 }?()
            }
        }

        func receive(_ packet: EncodedAudioPacket) {}
        func close(_ done: @escaping @Sendable () -> Void) { done() }

        // MARK: The source

        func apply(_ decision: EncoderPolicy.Decision) {}
        func requestRecovery(_ encoding: EncodingID, from number: UInt32) { requestKeyframe(encoding, isFirst: false) }
        func setReferences(_ policy: LongTermReferencePolicy, of encoding: EncodingID) {}

        func requestKeyframe(_ encoding: EncodingID, isFirst: Bool) {
            keyframesRequested.change { $0 += 1 }
            request.with { $0 }?(.cannotContinue)
        }
    }

    @Test func aBroadcastSendsFramesThatWereEncodedElsewhere() async throws {
        let host = try HostSession(
            configuration: .init(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
                maximumBitrate: .kilobits(4_000), contentHint: nil),
            identity: try .ephemeral(), source: TestVideoSource(framesPerSecond: 30), encoder: VP8Encoder(),
            audio: [], decide: { _ in .accepted }, emit: { _ in })
        let link = try await host.start()
        let passing = PassingSink()
        let receiving = ViewerSession(
            link: link, identity: try .ephemeral(), name: "relay", sink: passing, emit: { _ in })
        let upstream = Task { await receiving.run() }

        let second = try await Second(passing)
        passing.onFrame { [core = second.core] in core.perform { $0.videoFramesQueued() } }
        let seen = RecordedOutput()
        let watching = ViewerSession(
            link: second.link, identity: try .ephemeral(), name: "viewer", sink: playback(seen, speaker: nil),
            emit: { _ in })
        let downstream = Task { await watching.run() }
        #expect(await seen.wait { $0.counters.count >= 30 })
        let counters = seen.state.counters
        #expect(zip(counters, counters.dropFirst()).allSatisfy { $0 <= $1 }, "\(counters)")
        // The viewer came in the middle of a stream: its first frame had to be asked for upstream.
        #expect(passing.keyframesRequested.with { $0 } >= 1)

        watching.leave()
        receiving.leave()
        #expect(await downstream.value.code == .stopped)
        #expect(await upstream.value.code == .stopped)
        await second.close()
        await host.stop(EndReason(.stopped, "done"))
    }

    /// A broadcast with a server of its own, which lets everybody in.
    private final class Second: Sendable {
        let core: LoopBound<Broadcast>
        let link: Link
        private let loop = EventLoop(name: "net-1")
        private let server: SignalingServer
        private let signaling: BroadcastSignaling

        init(_ source: any EncodedMediaSource) async throws {
            let identity = try Identity.ephemeral()
            let settings = Broadcast.Settings(
                identity: identity, maximumBitrate: .kilobits(4_000), audio: [], viewers: ViewerPolicy(maximum: 4))
            let loop = loop
            core = LoopBound(loop, making: { Broadcast(loop: loop, settings: settings, source: source) })
            signaling = BroadcastSignaling(
                core: core, knocks: KnockHandler(decideKnock: { _ in .accepted }, emit: { _ in }), onEvent: { _ in })
            server = SignalingServer(
                identity: identity, configuration: .init(host: "127.0.0.1", port: 0))
            let served = try server.add(ServedBroadcastConfiguration(fixedToken: nil), delegate: signaling)
            signaling.begin(served)
            link = Link(
                host: "127.0.0.1", port: try await server.start(), id: served.id, secret: served.secret,
                fingerprint: identity.fingerprint)
        }

        func close() async {
            await signaling.end(reason: "done")
            await core.performAndWait { $0.end($1) }
            await server.stop()
            await loop.stop()
        }
    }
}
