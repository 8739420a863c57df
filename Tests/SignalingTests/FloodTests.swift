import LinuxRuntime
import NIOHTTP1
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// One viewer or one address tries to take all places.
@Suite(.timeLimit(.minutes(1))) struct FloodTests {
    /// Sends `count` offers at once. The delegate answers none of them before all offers over the limit were refused.
    private func statuses(
        _ count: Int, token: String, _ wire: RawHTTPClient, _ path: String, answering gate: OneShot<Void>,
        offer: @escaping @Sendable (Int) -> String
    ) async throws -> [Int] {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<count {
                group.addTask {
                    try await wire.ask(.POST, path, [sdpType, bearer(token)], body: offer(number)).status
                }
            }
            var statuses: [Int] = []
            for try await status in group {
                statuses.append(status)
                // Only the offers that the delegate holds are not answered yet.
                if statuses.count(where: { $0 == 503 }) == count - 4 { gate.fulfil(()) }
            }
            return statuses
        }
    }

    @Test func fortyOffersAtOnceOpenNoMoreThanFourSessions() async throws {
        let gate = OneShot<Void>()
        try await SignalingFixture.with(beforeAnswer: { await gate.value }, configure: { $0.sessionCapacity = 32 }) {
            stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let path = "/\(stage.link.id.text)/whep"
                let (mine, other) = (randomFingerprint(), randomFingerprint())
                let (token, others) = (try await wire.token(mine), try await wire.token(other))
                let statuses = try await statuses(40, token: token, wire, path, answering: gate) { _ in
                    description(mine)
                }
                #expect(statuses.count { $0 == 201 } == 4 && statuses.count { $0 == 503 } == 36)
                #expect(stage.delegate.seen.offers.count == 4)
                // A fifth session still replaces the oldest, and another viewer still finds a place.
                let fifth = try await wire.ask(.POST, path, [sdpType, bearer(token)], body: description(mine))
                #expect(fifth.status == 201)
                _ = await stage.delegate.onClose.value
                #expect(stage.delegate.seen.closed.count == 1)
                let next = try await wire.ask(.POST, path, [sdpType, bearer(others)], body: description(other))
                #expect(next.status == 201 && stage.delegate.seen.closed.count == 1)
            }
        }
    }

    @Test func oneCertificateWithTheFixedTokenTakesFourPlaces() async throws {
        let gate = OneShot<Void>()
        let token = "a-token-of-the-host"
        try await SignalingFixture.with(beforeAnswer: { await gate.value }, configure: { $0.fixedToken = token }) {
            stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let mine = description(randomFingerprint())
                let path = "/\(stage.link.id.text)/whep"
                let statuses = try await statuses(20, token: token, wire, path, answering: gate) { _ in mine }
                #expect(statuses.count { $0 == 201 } == 4)
                let other = try await wire.ask(
                    .POST, path, [sdpType, bearer(token)], body: description(randomFingerprint()))
                #expect(other.status == 201 && stage.delegate.seen.closed.isEmpty)
            }
        }
    }

    @Test func oneAddressWithTheFixedTokenTakesAQuarterOfThePlaces() async throws {
        let gate = OneShot<Void>()
        let token = "a-token-of-the-host"
        try await SignalingFixture.with(
            beforeAnswer: { await gate.value },
            configure: {
                $0.fixedToken = token
                $0.sessionCapacity = 16
            }
        ) { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let path = "/\(stage.link.id.text)/whep"
                let statuses = try await statuses(20, token: token, wire, path, answering: gate) { _ in
                    description(randomFingerprint())
                }
                #expect(statuses.count { $0 == 201 } == 4)
                // A viewer with a token from a knock still joins, also from the same address.
                let mine = randomFingerprint()
                let own = try await wire.token(mine)
                #expect(
                    try await wire.ask(.POST, path, [sdpType, bearer(own)], body: description(mine)).status == 201)
            }
        }
    }

    @Test func refusedOffersGiveTheirPlacesBack() async throws {
        try await SignalingFixture.with(
            refusal: OfferRefusal(.notAcceptable, "no"), configure: { $0.sessionCapacity = 2 }
        ) { stage in
            try await RawHTTPClient.with(stage.link) { wire in
                let mine = randomFingerprint()
                let token = try await wire.token(mine)
                for _ in 0..<10 {
                    let answer = try await wire.ask(
                        .POST, "/\(stage.link.id.text)/whep", [sdpType, bearer(token)], body: description(mine))
                    #expect(answer.status == 406)
                }
            }
        }
    }

    @Test func oneIdentityHasEightSessionsOverAllItsTokens() throws {
        let register = AdmissionRegistry(fixedToken: nil, limits: .init())
        let limits = AdmissionRegistry.SessionLimits(all: 32)
        let identity = try BrowserKey().identity
        func take(_ token: String, as identity: ViewerIdentity = identity) -> (taken: Bool, replaced: SessionID?) {
            let owner = AdmissionRegistry.SessionOwner(
                token: TokenHash(of: token), isFixed: false, identity: identity,
                fingerprint: identity.fingerprint, address: AddressKey(ipv4: 1))
            guard case .reserved(let reservation, let replaced) = register.reserve(owner, limits: limits) else {
                return (false, nil)
            }
            return (register.add(OpenedSession(id: .random(), answer: "", etag: ""), reservation), replaced)
        }
        for token in ["a", "b"] {
            for _ in 0..<4 { #expect(take(token).replaced == nil) }
        }
        // The third token has no session that could be replaced; the second one has.
        #expect(!take("c").taken)
        // Another browser that claims the same certificate has a limit of its own.
        #expect(take("d", as: try BrowserKey(identity.fingerprint).identity).taken)
        let again = take("b")
        #expect(again.taken && again.replaced != nil)
    }

    @Test func aSessionThatEndsBeforeItsOfferIsAnsweredKeepsNoPlace() throws {
        let register = AdmissionRegistry(fixedToken: "a token of the host", limits: .init())
        let limits = AdmissionRegistry.SessionLimits(all: 4)
        let owner = AdmissionRegistry.SessionOwner(
            token: TokenHash(of: "a token of the host"), isFixed: true, identity: nil,
            fingerprint: randomFingerprint(), address: AddressKey(ipv4: 1))
        for _ in 0..<10 {
            guard case .reserved(let reservation, nil) = register.reserve(owner, limits: limits) else {
                Issue.record("a session that is over takes a place")
                return
            }
            let session = OpenedSession(id: .random(), answer: "", etag: "")
            register.end(session.id)
            #expect(!register.add(session, reservation))
            #expect(register.session(session.id) == nil)
        }
    }
}
