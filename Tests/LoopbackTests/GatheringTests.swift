import EventLoop
import ICETransport
import LinuxRuntime
import MediaCore
import OpusCodec
import SessionDescription
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

/// Sessions that end while candidates are awaited. The STUN server does not answer, so gathering takes long.
@Suite struct GatheringTests {
    private let servers = ICEServerPreparation.Addresses(stun: [.init(address: "127.0.0.1", port: 9)])

    @Test func aViewerThatLeavesWaitsForNoCandidates() async throws {
        let loop = EventLoop(name: "net-0")
        let identity = try Identity.ephemeral()
        let told = Monitor<[Bool]>([])
        let core = LoopBound(
            loop,
            making: {
                ReceiveStream(loop: loop, sink: playback(RecordedOutput(), speaker: nil), report: { _ in })
            })
        await core.performAndWait { [servers] watching, done in
            var configuration = PeerConnection.Configuration(
                .offerer, identity: identity, fingerprint: identity.fingerprint, place: .loopback,
                repeatsCandidates: false, interruptionThreshold: .seconds(3))
            configuration.servers = servers
            configuration.agent.includesLoopback = true
            let connection = try? watching.open(configuration)
            #expect(connection != nil)
            connection?.localCandidates(within: PeerConnection.receiverTimeout, wanted: connection?.grantedKind) {
                found in told.change { $0.append(found.credentials != nil) }
            }
            #expect(told.with { $0 }.isEmpty)
            watching.close(done)
        }
        #expect(told.with { $0 } == [false])
        await loop.stop()
    }

    @Test func anOfferThatWaitsForCandidatesIsRefusedWhenTheBroadcastEnds() async throws {
        let stage = try Stage()
        let told = Monitor<[Bool]>([])
        await stage.core.performAndWait { [servers] broadcast, done in
            broadcast.servers = servers
            broadcast.open(offer: stage.offer, viewer: stage.viewer, words: "") { result in
                told.change { $0.append((try? result.get()) != nil) }
            }
            #expect(told.with { $0 }.isEmpty)
            broadcast.end(done)
        }
        #expect(told.with { $0 } == [false])
        await stage.loop.stop()
    }

    /// There is room for one viewer, and a viewer's abandoned session does not keep that viewer out. Another program
    /// with the same certificate replaces no session, even if both were admitted by one knock.
    @Test(arguments: [true, false])
    func aViewerThatJoinsAgainReplacesItsSession(isSameClientInstance: Bool) async throws {
        let stage = try Stage()
        var second = stage.viewer
        if !isSameClientInstance { second.clientInstance = .random() }
        let viewers = [("first", stage.viewer), ("second", second)]
        await expectRefusals(of: viewers, at: stage, [isSameClientInstance ? "first" : "second"])
    }

    /// There is room for one viewer. A client that names another viewer's certificate fingerprint, with a key of its
    /// own, does not replace that viewer's session.
    @Test(arguments: [ViewerIdentity.Kind.native, .browser])
    func aClaimOfAnothersCertificateClosesNoSession(victim: ViewerIdentity.Kind) async throws {
        let stage = try Stage()
        var viewer = stage.viewer
        viewer.clientInstance = nil
        var claim = viewer
        viewer.identity = ViewerIdentity(
            fingerprint: viewer.fingerprint, key: victim == .browser ? [4] + Array(repeating: 1, count: 64) : nil)
        claim.identity = ViewerIdentity(fingerprint: viewer.fingerprint, key: [4] + Array(repeating: 2, count: 64))
        let viewers = [("victim", viewer), ("claim", claim)]
        await expectRefusals(of: viewers, at: stage, ["claim"])
    }

    /// So that the first frame is made. None is for a viewer that has gone without a connection.
    @Test func theEncodersAreToldOfAViewerThatIsConnecting() async throws {
        let stage = try Stage(maximumViewers: 2)
        var second = stage.viewer
        second.clientInstance = .random()
        await stage.core.performAndWait { [servers, second] broadcast, done in
            broadcast.servers = servers
            for viewer in [stage.viewer, second] {
                broadcast.open(offer: stage.offer, viewer: viewer, words: "") { _ in }
            }
            #expect(stage.told.with { $0 } == [true])
            for (id, _, _) in broadcast.watching { broadcast.close(id) }
            #expect(stage.told.with { $0 } == [true, false])
            broadcast.end(done)
        }
        await stage.loop.stop()
    }

    /// Opens a session for each viewer, one after the other, and then ends the broadcast.
    private func expectRefusals(of viewers: [(name: String, viewer: Viewer)], at stage: Stage, _ expected: [String])
        async
    {
        let refused = Monitor<[String]>([])
        await stage.core.performAndWait { [servers] broadcast, done in
            broadcast.servers = servers
            for (name, viewer) in viewers {
                broadcast.open(offer: stage.offer, viewer: viewer, words: "") { result in
                    if case .failure = result { refused.change { $0.append(name) } }
                }
            }
            #expect(refused.with { $0 } == expected)
            broadcast.end(done)
        }
        await stage.loop.stop()
    }

    /// A broadcast for one viewer or some, and a viewer's offer.
    struct Stage {
        let loop = EventLoop(name: "net-0")
        let core: LoopBound<Broadcast>
        let offer: String
        let viewer: Viewer
        /// Whether the encoders were told of viewers that are connecting.
        let told: Monitor<[Bool]>

        init(maximumViewers: Int = 1) throws {
            let identity = try Identity.ephemeral()
            let settings = Broadcast.Settings(
                identity: identity, maximumBitrate: .kilobits(1_000), audio: [],
                viewers: ViewerPolicy(maximum: maximumViewers))
            let loop = loop
            let frames = FrameQueues()
            let media = NotedMedia(
                MediaPipelines(
                    frames: frames, packets: .init(capacity: 1, bytes: 1_500),
                    video: VideoPipeline(
                        source: TestVideoSource(framesPerSecond: 30), encoder: VP8Encoder(),
                        limits: .init(framesPerSecond: 30), bitrate: .kilobits(1_000), frames: frames,
                        clock: { MonotonicClock.now }), audio: []))
            told = media.told
            core = LoopBound(
                loop, making: { Broadcast(loop: loop, settings: settings, source: media) })
            let print = try #require(Fingerprint(sha256: identity.fingerprint))
            let credentials = try #require(
                ICECredentials(usernameFragment: "abcd", password: String(repeating: "a", count: 22)))
            offer = LocalDescription(credentials: credentials, fingerprint: print).offer(.receiving())
            viewer = Viewer(
                knock: .random(), name: "viewer", kind: "share", address: "127.0.0.1",
                fingerprint: identity.fingerprint, clientInstance: .random())
        }
    }
}
