import ICETransport
import MediaCore
import SessionDescription
import Signaling
import TestSource
import Testing
import VPXCodec

@testable import Admission
@testable import HTTP
@testable import Host
@testable import Identity
@testable import PeerConnection
@testable import Viewer

/// The media addresses that a host offers, depending on its listening address.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct ListenTests {
    private func configuration(_ host: String) -> HostSession.Configuration {
        .init(
            listenHost: host, listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
            maximumBitrate: .kilobits(1_000), contentHint: nil)
    }

    @Test func anAddressToListenAtHoldsForMediaUnlessItIsLoopback() {
        #expect(configuration("192.0.2.2").mediaAddresses == ["192.0.2.2"])
        #expect(configuration("2001:db8::2").mediaAddresses == ["2001:db8::2"])
        for host in ["127.0.0.1", "127.0.0.9", "::1", "0.0.0.0", "::", "localhost"] {
            #expect(configuration(host).mediaAddresses == nil, "\(host)")
        }
    }

    /// Firefox and GStreamer do not use loopback.
    @Test func aHostOnLoopbackOffersOtherAddressesToo() async throws {
        let host = try HostSession(
            configuration: configuration("127.0.0.1"), identity: try .ephemeral(), source: TestVideoSource(),
            encoder: VP8Encoder(), audio: [], decide: { _ in .accepted }, emit: { _ in })
        let link = try await host.start()
        let identity = try Identity.ephemeral()
        let fingerprint = identity.fingerprint
        let client = try SignalingClient(link: link)
        let token = try await admissionToken(for: identity, named: "local", from: client)
        let credentials = try #require(
            ICECredentials(usernameFragment: "local", password: String(repeating: "l", count: 24)))
        let offer = LocalDescription(
            credentials: credentials, fingerprint: try #require(Fingerprint(sha256: fingerprint)), candidates: [],
            endsCandidates: true
        ).offer(MediaCapabilities(direction: .receiveOnly, audioSections: 0))
        let answer = try Answer(try await client.offer(offer, token: token).sdp, to: .receiving())
        let addresses = Set(answer.candidates.usable.map(\.address))
        #expect(addresses.contains("127.0.0.1"))
        #expect(addresses.isSuperset(of: ICEAgent.localInterfaceAddresses()), "\(addresses)")
        await client.leave()
        await client.close()
        await host.stop(EndReason(.stopped, "done"))
    }
}
