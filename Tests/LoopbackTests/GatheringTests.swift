import ICETransport
import MediaCore
import OpusCodec
import SessionDescription
import Testing
import VPXCodec

@testable import PeerRuntime
@testable import Signaling

/// Sessions that end while candidates are awaited. The STUN server does not answer, so that gathering takes its time.
@Suite struct GatheringTests {
    private let servers = PathServers.Addresses(stun: [.init(address: "127.0.0.1", port: 9)])

    @Test func aViewerThatLeavesWaitsForNoCandidates() async throws {
        let loop = NetworkLoop(name: "net-0")
        let identity = try Identity.ephemeral()
        let told = Monitor<[Bool]>([])
        let core = LoopBound(
            loop,
            making: {
                Watching(
                    loop: loop,
                    playback: .init(
                        decoder: { () throws(CodecFailure) in VP8Decoder() }, sink: Seen(),
                        audioDecoder: { () throws(CodecFailure) in try OpusFrameDecoder() }, makeSpeaker: { nil }),
                    emit: { _ in }, outcome: Outcome(), interrupted: {})
            })
        await core.finish { [servers] watching, done in
            let failure = watching.prepare(
                .init(identity), expected: identity.fingerprint, includesLoopback: true, servers: servers,
                usesOnlyRelays: false)
            #expect(failure == nil)
            watching.whenGathered { found in told.change { $0.append(found.credentials != nil) } }
            #expect(told.with { $0 }.isEmpty)
            watching.close(done)
        }
        #expect(told.with { $0 } == [false])
        loop.stop()
    }

    @Test func anOfferThatWaitsForCandidatesIsRefusedWhenTheBroadcastEnds() async throws {
        let loop = NetworkLoop(name: "net-0")
        let identity = try Identity.ephemeral()
        let told = Monitor<[Bool]>([])
        let settings = Broadcast.Settings(
            identity: .init(identity), fingerprint: identity.fingerprint, maximumBitrate: .kilobits(1_000), audio: [],
            maximumViewers: 1, includesLoopback: true, usesUPnP: false, usesOnlyRelays: false)
        let core = LoopBound(
            loop,
            making: {
                Broadcast(
                    loop: loop, settings: settings, frames: FrameQueues(), packets: .init(capacity: 1, bytes: 1_500),
                    emit: { _ in })
            })
        let print = try #require(Fingerprint(sha256: identity.fingerprint))
        let credentials = try #require(
            ICECredentials(usernameFragment: "abcd", password: String(repeating: "a", count: 22)))
        let offer = viewerOffer(credentials: credentials, fingerprint: print)
        let viewer = Viewer(
            knock: nil, name: "viewer", kind: "share", address: "127.0.0.1", fingerprint: identity.fingerprint)
        await core.finish { [servers] broadcast, done in
            broadcast.servers = servers
            broadcast.open(offer: offer, viewer: viewer, words: "") { result in
                told.change { $0.append((try? result.get()) != nil) }
            }
            #expect(told.with { $0 }.isEmpty)
            broadcast.end(done)
        }
        #expect(told.with { $0 } == [false])
        loop.stop()
    }
}

extension SecureTransport.Identity {
    fileprivate init(_ identity: Identity) {
        self.init(certificateDER: identity.certificateDER, privateKeyDER: identity.privateKeyDER)
    }
}
