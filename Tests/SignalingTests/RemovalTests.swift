import LinuxRuntime
import MediaCore
import NIOHTTP1
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// What the server tells viewers of a pause and of a removal, and what a removed viewer may still do.
@Suite(.timeLimit(.minutes(1))) struct RemovalTests {
    private func viewer(_ identity: ViewerIdentity) -> Viewer {
        Viewer(
            knock: .random(), name: "Ann", kind: "share", address: "127.0.0.1", fingerprint: identity.fingerprint,
            identity: identity)
    }

    /// Opens a session, and then the stream of events, which needs its token.
    private func events(
        _ client: SignalingClient, _ identity: Identity
    ) async throws -> AsyncThrowingStream<HostEvent, any Error> {
        _ = try await client.offer(
            description(identity.fingerprint), token: try await client.admissionToken(for: identity))
        return try await client.events()
    }

    @Test func aRemovedViewerHearsSoAndTheOthersDoNot() async throws {
        try await SignalingFixture.with { stage in
            let (ann, bob) = (try Identity.ephemeral(), try Identity.ephemeral())
            try await stage.client { annClient in
                try await stage.client { bobClient in
                    let annEvents = try await events(annClient, ann)
                    let bobEvents = try await events(bobClient, bob)
                    await stage.broadcast.remove(viewer(try ann.asViewer), reason: "the host removed you")
                    var heard: [HostEvent] = []
                    for try await event in annEvents { heard.append(event) }
                    #expect(heard == [.removed(reason: "the host removed you")])
                    await stage.broadcast.end(reason: "over")
                    heard = []
                    for try await event in bobEvents { heard.append(event) }
                    #expect(heard == [.ended(reason: "over")])
                }
            }
        }
    }

    @Test func aRemovedViewersTokensAreWorthNothingButItMayKnockAgain() async throws {
        try await SignalingFixture.with { stage in
            let ann = try Identity.ephemeral()
            let offer = description(ann.fingerprint)
            try await stage.client { client in
                let tokens = [try await client.admissionToken(for: ann), try await client.admissionToken(for: ann)]
                _ = try await client.offer(offer, token: tokens[0])
                await stage.broadcast.remove(viewer(try ann.asViewer), reason: "enough")
                for token in tokens {
                    #expect(await code { _ = try await client.offer(offer, token: token) } == .offerRefused)
                }
                let next = try await client.admissionToken(for: ann)
                _ = try await client.offer(offer, token: next)
            }
            #expect(stage.delegate.seen.knocks.count == 3)
        }
    }

    @Test func aSessionThatIsBeingOpenedDuringTheRemovalIsClosed() async throws {
        let mayAnswer = OneShot<Void>()
        let hasOffer = OneShot<Void>()
        try await SignalingFixture.with(beforeAnswer: {
            hasOffer.fulfil(())
            await mayAnswer.value
        }) { stage in
            let ann = try Identity.ephemeral()
            let client = try SignalingClient(link: stage.link)
            let token = try await client.admissionToken(for: ann)
            async let refused = code {
                _ = try await client.offer(description(ann.fingerprint), token: token)
            }
            await hasOffer.value
            await stage.broadcast.remove(viewer(try ann.asViewer), reason: "enough")
            mayAnswer.fulfil(())
            #expect(await refused != nil)
            _ = await stage.delegate.onClose.value
            await client.close()
        }
    }

    @Test func withTheFixedTokenTheCertificateIsRefused() async throws {
        let token = "0123456789abcdef"
        try await SignalingFixture.with(configure: { $0.fixedToken = token }) { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let own = randomFingerprint()
                let before = try await offer(own, token, wire)
                await stage.broadcast.remove(
                    Viewer(knock: nil, name: "player", kind: "", address: "127.0.0.1", fingerprint: own),
                    reason: "enough")
                let after = try await offer(own, token, wire)
                let other = try await offer(randomFingerprint(), token, wire)
                #expect([before, after, other] == [201, 403, 201])
            }
        }
    }

    /// - Returns: the status of the answer.
    private func offer(_ fingerprint: [UInt8], _ token: String, _ wire: RawHTTPClient) async throws -> Int {
        try await wire.ask(
            .POST, "/\(wire.link.id.text)/whep", [sdpType, bearer(token)], body: description(fingerprint)
        ).status
    }

    @Test func aStreamBeginsWithTheStateOfThePause() async throws {
        try await SignalingFixture.with { stage in
            let ann = try Identity.ephemeral()
            try await stage.client { client in
                var first = try await events(client, ann).makeAsyncIterator()
                stage.broadcast.send(.held(.pause))
                #expect(try await first.next() == .held(.pause))
                var second = try await client.events().makeAsyncIterator()
                #expect(try await second.next() == .held(.pause))
                stage.broadcast.send(.resumed)
                #expect(try await first.next() == .resumed)
                #expect(try await second.next() == .resumed)
                var third = try await client.events().makeAsyncIterator()
                #expect(try await third.next() == .resumed)
            }
        }
    }

    @Test(arguments: [
        HostEvent.held(.pause), .resumed, .returnToHost, .removed(reason: "the \"host\" removed you"),
        .ended(reason: "x"),
    ])
    func eventsSurviveTheirText(_ event: HostEvent) throws {
        var found: [HostEvent] = []
        var parser = EventStreamParser()
        try parser.feed(Array(event.serialized.utf8)) { name, data in
            if let event = HostEvent(name: name, data: data) { found.append(event) }
        }
        #expect(found == [event])
    }

    @Test func aReasonOfTheHostIsCleanedAndOneThatIsMissingIgnored() {
        #expect(
            HostEvent(name: "removed", data: "{\"type\":\"removed\",\"reason\":\"\\u001b[31m\\u202e\"}")
                == .removed(reason: "[31m"))
        #expect(HostEvent(name: "removed", data: "{}") == nil)
        #expect(HostEvent(name: "removed", data: "{\"type\":\"removed\",\"reason\":7}") == nil)
    }
}
