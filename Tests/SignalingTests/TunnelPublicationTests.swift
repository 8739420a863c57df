import LinuxRuntime
import NIOHTTP1
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// A host that is met at a relay publishes there, too, under the same pairing.
@Suite(.timeLimit(.minutes(1))) struct TunnelPublicationTests {
    @discardableResult
    private func publish(_ stage: TunnelFixture) async throws -> SessionID {
        let answer = try await stage.client.publish(description(stage.identity.fingerprint), decidesOnViewers: true)
        return try #require(answer.resource.split(separator: "/").last.flatMap { SessionID($0) })
    }

    /// Knocks at the host over the relay.
    private func isMet(_ stage: TunnelFixture) async throws -> Bool {
        let identity = try Identity.ephemeral()
        var isAdmitted = false
        try await stage.host.client(stage.link) { viewer in
            isAdmitted = try await !viewer.admissionToken(for: identity).isEmpty
        }
        return isAdmitted
    }

    @Test func onePairingIsForBoth() async throws {
        try await TunnelFixture.with { stage in
            try await stage.open {
                try await publish(stage)
                let offer = try #require(stage.relay.delegate.seen.offers.first)
                #expect(offer.decidesOnViewers && offer.fingerprint == stage.identity.fingerprint)
                #expect(try await isMet(stage))
                // Once at a time.
                await #expect(throws: SignalingError.self) { try await publish(stage) }
                // The end of one leaves the other, and it may begin again.
                await stage.client.leave()
                #expect(stage.relay.delegate.seen.closed.count == 1)
                #expect(try await isMet(stage))
                try await publish(stage)
                #expect(stage.relay.delegate.seen.offers.count == 2)
            }
            // The end of the tunnel is that of the publication.
            let ended = await stage.relay.delegate.onEnd.value
            #expect(stage.relay.delegate.seen.requests.map(\.id) == [ended])
        }
    }

    /// A publication whose offer is answered after its pairing has ended would have no lease.
    @Test func aPublicationDoesNotOutliveItsPairing() async throws {
        let (offered, ended) = (OneShot<Bool>(), OneShot<Bool>())
        try await TunnelFixture.with(beforeAnswer: {
            offered.fulfil(true)
            _ = await ended.value
        }) { stage in
            var publishing: Task<SessionID, any Error>?
            try await stage.open {
                publishing = Task { try await publish(stage) }
                _ = await offered.value
            }
            _ = await stage.relay.delegate.onEnd.value
            ended.fulfil(true)
            await #expect(throws: (any Error).self) { _ = try await publishing?.value }
        }
    }

    @Test func theRelayEndsThePublicationAlone() async throws {
        try await TunnelFixture.with { stage in
            try await stage.open {
                let session = try await publish(stage)
                let events = try await stage.client.events()
                stage.relay.service.finish(session, reason: "enough")
                var heard: [ServiceEvent] = []
                for try await event in events { heard.append(event) }
                #expect(heard == [.finished(reason: "enough", nextStep: nil)])
                #expect(try await isMet(stage))
                try await publish(stage)
                // The events of the second one come.
                let others = try await stage.client.events()
                await stage.relay.service.end(reason: "closing")
                heard = []
                for try await event in others { heard.append(event) }
                #expect(heard == [.finished(reason: "closing", nextStep: nil)])
            }
        }
    }

    /// A pairing that publishes has no tunnel besides, and another certificate's offer is refused.
    @Test func onlyAHostThatIsMetHasTwoSessions() async throws {
        try await TunnelFixture.with { stage in
            try await publish(stage)
            await #expect(throws: SignalingError.self) { try await publish(stage) }
            await #expect(throws: SignalingError.self) { _ = try await stage.client.tunnel(.broadcast(stage.link.id)) }
        }
        try await TunnelFixture.with { stage in
            try await stage.open {
                await #expect(throws: SignalingError.self) {
                    _ = try await stage.client.publish(description(randomBytes(32)))
                }
                let isMet = try await isMet(stage)
                #expect(isMet)
            }
        }
    }
}
