import ClusterSupport
import EventLoop
import LinuxRuntime
import MediaCore
import MediaEngine
import OpusCodec
import Synchronization
import TestSource
import Testing
import WaitSupport

@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Relay
@testable import SFrame
@testable import Viewer

/// What relays get of an encrypted broadcast, over everything that may happen to it.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct SealedRunTests {
    private typealias Stage = RelayHandoverTests.Stage
    private typealias Relay = RelaySessionTests.Relay

    /// Which key a frame was encrypted with, and its counter.
    private struct Nonce: Hashable {
        var run: [UInt8]
        var keyID: UInt64
        var counter: UInt64
    }

    /// Keeps each frame and packet of a relay, as it is.
    private final class Tap: EncodedMediaSink {
        struct State {
            var video: [[UInt8]] = []
            var audio: [[UInt8]] = []
        }

        let state = Monitor(State())

        func start(_ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void) {}

        func receive(_ frame: EncodedVideoFrame) {
            var bytes: [UInt8] = []
            frame.bytes.forEachSegment { bytes += $0 }
            state.change { $0.video.append(bytes) }
        }

        func receive(_ packet: EncodedAudioPacket) {
            if case .packet(let bytes) = packet.payload { state.change { $0.audio.append(Array(bytes)) } }
        }

        func close(_ done: @escaping @Sendable () -> Void) { done() }
    }

    /// A viewer of the relay that has its frames and no keys, as whoever runs the relay.
    private struct Watching {
        let tap = Tap()
        let session: ViewerSession
        let end: Task<EndReason, Never>

        init(_ stage: Stage, at link: Link) throws {
            let identity = try Identity.ephemeral()
            stage.host.signaling.knocks.noteRedirect(
                of: try #require(ViewerIdentity(fingerprint: identity.fingerprint)), records: false)
            let session = ViewerSession(link: link, identity: identity, name: "Relay", sink: tap, emit: { _ in })
            (self.session, end) = (session, Task { await session.run() })
        }

        func sees(more count: Int) async -> Bool {
            let known = tap.state.with { ($0.video.count, $0.audio.count) }
            return await waiting(tap.state) {
                $0.video.count >= known.0 + count && $0.audio.count >= known.1 + count ? true : nil
            } ?? false
        }

        func leave() async {
            session.leave()
            _ = await end.value
        }
    }

    /// The ciphertexts by their nonces.
    private struct Collection {
        var frames: [Nonce: [UInt8]] = [:]
        var reused: [Nonce] = []
        var malformed = 0

        mutating func add(_ tap: Tap, run: [UInt8]) {
            let state = tap.state.with { $0 }
            for frame in state.video { add(frame, .video, run) }
            for packet in state.audio { add(packet, .audio, run) }
        }

        private mutating func add(_ frame: [UInt8], _ kind: SealedTrack.Kind, _ run: [UInt8]) {
            frame.withUnsafeBytes { bytes in
                guard let prefix = ClearPrefix.length(of: bytes, kind),
                    let header = SFrameHeader.parse(UnsafeRawBufferPointer(rebasing: bytes[prefix...]))?.header
                else { return malformed += 1 }
                let nonce = Nonce(run: run, keyID: header.keyID, counter: header.counter)
                // The same frame may come more than once.
                if let known = frames[nonce], known != frame { reused.append(nonce) }
                frames[nonce] = frame
            }
        }
    }

    private static func run(of stage: Stage) throws -> [UInt8] {
        try #require(stage.host.state.with { $0.encryption }.flatMap { FrameKeys($0.keys) }).run
    }

    /// New epochs, a publication that ends and begins anew, another relay, and a host that has been started again.
    @Test func noCounterOfAKeyIsUsedTwice() async throws {
        let bus = LocalBus()
        let stage = try await Stage(
            directViewers: 0, isRelayOnly: true, audio: [.testTone],
            cluster: ClusterSettings(node: "a", bus: bus.connect()))
        let other = try await Relay(cluster: ClusterSettings(node: "b", bus: bus.connect()))
        let run = try Self.run(of: stage)
        var collection = Collection()

        let first = try await stage.publishedLink()
        var tap = try Watching(stage, at: first)
        #expect(await tap.sees(more: 30))
        let encryption = try #require(stage.host.state.with { $0.encryption })
        for _ in 0..<3 {
            _ = encryption.prepareEpoch()
            encryption.beginEpoch()
            #expect(await tap.sees(more: 10))
        }
        await tap.leave()
        collection.add(tap.tap, run: run)

        let service = try #require(await stage.host.viewers().first)
        await stage.host.core.ifRunning { $0.close(service.id) }
        tap = try Watching(stage, at: try await stage.publishedLink(not: [first]))
        #expect(await tap.sees(more: 30))
        await tap.leave()
        collection.add(tap.tap, run: run)

        stage.relay.drain()
        tap = try Watching(stage, at: try await other.live())
        #expect(await tap.sees(more: 30))
        await tap.leave()
        collection.add(tap.tap, run: run)
        #expect(try Self.run(of: stage) == run)

        // The former host ends nothing in order, as one that is killed: the next one learns nothing of it.
        let again = try await Stage(directViewers: 0, isRelayOnly: true, audio: [.testTone], identity: stage.identity)
        let next = try Self.run(of: again)
        #expect(next != run)
        tap = try Watching(again, at: try await again.publishedLink())
        #expect(await tap.sees(more: 30))
        await tap.leave()
        collection.add(tap.tap, run: next)
        await again.stop()
        await stage.stop()
        await other.session.stop()

        #expect(collection.reused.isEmpty && collection.malformed == 0, "\(collection.reused)")
        let ofFirst = collection.frames.keys.filter { $0.run == run }
        // Video and sound, of the three epochs and those of the further publications.
        #expect(Set(ofFirst.compactMap { FrameKeyID($0.keyID)?.track }) == Set<SealedTrack>([.video0, .systemAudio]))
        #expect(Set(ofFirst.compactMap { FrameKeyID($0.keyID)?.epoch }).count >= 5)
        #expect(collection.frames.count >= 300, "\(collection.frames.count)")
    }
}
