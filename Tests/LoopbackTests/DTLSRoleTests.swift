import EventLoop
import ICETransport
import LinuxRuntime
import MediaCore
import PeerEngine
import SessionDescription
import Signaling
import Testing

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Viewer

/// The side that answers takes the DTLS role that the offer leaves to it, over real ICE, DTLS and SRTP (RFC 5763
/// section 5). FFmpeg's WHIP muxer offers `passive`.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct DTLSRoleTests {
    private static let roles = [("actpass", "passive"), ("active", "passive"), ("passive", "active")]

    @Test(arguments: roles, [false, true])
    func aSenderOffersEachRole(_ role: (offered: String, answered: String), atARelay: Bool) async throws {
        let (publisher, receiver) = (try PublicationTests.Publisher(), try PublicationTests.Receiver())
        let socket = atARelay ? try await receiver.openSocket() : nil
        let offer = try await publisher.offer(to: receiver.identity.fingerprint)
        let text = offer.sdp.replacing("a=setup:actpass", with: "a=setup:\(role.offered)")
        let answer = try await receiver.answer(text, through: socket)
        #expect(answer.contains("a=setup:\(role.answered)\r\n"))
        #expect(await publisher.begin(offer.id, answer) == nil)
        #expect(await receiver.seen.wait { $0.counters.count >= 10 })
        await publisher.close()
        #expect(await receiver.outcome.value.code == .hostEnded)
        await receiver.close()
    }

    @Test(arguments: roles)
    func aViewerOffersEachRole(_ role: (offered: String, answered: String)) async throws {
        let (publisher, receiver) = (try PublicationTests.Publisher(), try PublicationTests.Receiver())
        let offer = try await receiver.offer(to: publisher.identity.fingerprint)
        let answer = try await publisher.answer(
            offer.replacing("a=setup:actpass", with: "a=setup:\(role.offered)"), of: receiver.identity)
        #expect(answer.contains("a=setup:\(role.answered)\r\n"))
        try await receiver.begin(answer)
        #expect(await receiver.seen.wait { $0.counters.count >= 10 })
        await publisher.close()
        #expect(await receiver.outcome.value.code == .hostEnded)
        await receiver.close()
    }

    /// The link names another certificate than the host that is the DTLS client has.
    @Test func aViewerThatIsTheDTLSServerRefusesAnotherHost() async throws {
        let (publisher, receiver) = (try PublicationTests.Publisher(), try PublicationTests.Receiver())
        let offer = try await receiver.offer(to: try Identity.ephemeral().fingerprint)
        let answer = try await publisher.answer(
            offer.replacing("a=setup:actpass", with: "a=setup:passive"), of: receiver.identity)
        try await receiver.begin(answer)
        #expect(await receiver.outcome.value.code == .untrusted)
        #expect(receiver.seen.state.counters.isEmpty)
        await publisher.close()
        await receiver.close()
    }

    /// Notes how many viewers got a connection, and why sessions ended.
    private final class Observer: BroadcastDelegate, Sendable {
        let ended = OneShot<EndReason>()
        let connected = Monitor(0)

        func handle(_ report: BroadcastReport) {
            switch report {
            case .event(.viewerLeft(_, let reason, _)): ended.fulfil(reason)
            case .connected: connected.change { $0 += 1 }
            default: break
            }
        }
    }

    /// A viewer that was admitted with one certificate, and offers it, connects with another one.
    @Test(arguments: roles)
    func aHostOfEitherRoleRefusesAnotherViewer(_ role: (offered: String, answered: String)) async throws {
        let (publisher, receiver) = (try PublicationTests.Publisher(), try PublicationTests.Receiver())
        let (admitted, observer) = (try Identity.ephemeral(), Observer())
        await publisher.core.ifRunning { $0.delegate = observer }
        let offer = try await receiver.offer(to: publisher.identity.fingerprint)
            .replacing("a=setup:actpass", with: "a=setup:\(role.offered)")
            .replacing(
                Fingerprint.colons(receiver.identity.fingerprint), with: Fingerprint.colons(admitted.fingerprint))
        let answer = try await publisher.answer(offer, of: admitted)
        #expect(answer.contains("a=setup:\(role.answered)\r\n"))
        try await receiver.begin(answer)
        #expect(await observer.ended.value.code == .untrusted)
        let sent = await publisher.core.ifRunning { $0.statistics(video: VideoPipelineStatistics()).sent.packets }
        #expect(sent == 0 && observer.connected.with { $0 } == 0)
        #expect(receiver.seen.state.counters.isEmpty)
        await publisher.close()
        await receiver.close()
    }

    @Test func anOfferThatPostponesTheConnectionIsRefused() async throws {
        let (publisher, receiver) = (try PublicationTests.Publisher(), try PublicationTests.Receiver())
        let offer = try await receiver.offer(to: publisher.identity.fingerprint)
        for (line, sentence) in [
            ("a=setup:holdconn", "The offer has a=setup:holdconn: it has to say actpass, active or passive."),
            ("a=setup:both", "The offer has no a=setup: it has to say actpass, active or passive."),
        ] {
            let refusal = await #expect(throws: OfferRefusal.self) {
                try await publisher.answer(
                    offer.replacing("a=setup:actpass", with: line), of: receiver.identity)
            }
            #expect(refusal?.detail == sentence)
        }
        await publisher.close()
        await receiver.close()
    }
}
