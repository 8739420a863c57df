import EventLoop
import ICETransport
import SessionDescription
import Testing

@testable import Admission
@testable import Publishing
@testable import Receiving
@testable import Sessions
@testable import Transport

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
        #expect(await receiver.outcome.wait().code == .hostEnded)
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
        #expect(await receiver.outcome.wait().code == .hostEnded)
        await receiver.close()
    }

    /// The keys of both directions are those of the roles: another certificate is refused by a host that is the DTLS client.
    @Test func anotherCertificateIsRefusedByTheDTLSClientToo() async throws {
        let (publisher, receiver) = (try PublicationTests.Publisher(), try PublicationTests.Receiver())
        let offer = try await receiver.offer(to: try Identity.ephemeral().fingerprint)
        let answer = try await publisher.answer(
            offer.replacing("a=setup:actpass", with: "a=setup:passive"), of: receiver.identity)
        try await receiver.begin(answer)
        #expect(await receiver.outcome.wait().code == .untrusted)
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
