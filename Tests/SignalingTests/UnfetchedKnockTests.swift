import MediaCore
import Synchronization
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// Knocks at a broadcast that another server of a cluster has.
@Suite(.timeLimit(.minutes(1)))
struct UnfetchedKnockTests {
    /// Counts how often the broadcast is got, and adds it to the server.
    private final class Finder: BroadcastFetcher {
        let id = BroadcastID(7)
        let secret = [UInt8](repeating: 3, count: Link.secretLength)
        let fetches = Mutex(0)
        private let server = Mutex<(server: SignalingServer, delegate: FakeDelegate)?>(nil)

        func use(_ fixture: SignalingFixture) { server.withLock { $0 = (fixture.server, fixture.delegate) } }
        func knows(_ id: BroadcastID) -> Bool { id == self.id }
        func secret(of id: BroadcastID) -> [UInt8]? { id == self.id ? secret : nil }
        func passKey(of id: BroadcastID) -> [UInt8]? { nil }

        func fetch(_ id: BroadcastID) async -> Bool {
            fetches.withLock { $0 += 1 }
            guard let (server, delegate) = server.withLock({ $0 }) else { return false }
            var configuration = ServedBroadcastConfiguration()
            (configuration.id, configuration.secret) = (id, secret)
            return (try? server.add(configuration, delegate: delegate)) != nil
        }
    }

    private func with(_ body: (Finder, SignalingFixture, Link) async throws -> Void) async throws {
        let fetcher = Finder()
        try await SignalingFixture.with(configure: { $0.fetcher = fetcher }) { stage in
            fetcher.use(stage)
            let link = Link(
                host: stage.link.host, port: stage.link.port, id: fetcher.id, secret: fetcher.secret,
                fingerprint: stage.link.fingerprint)
            try await body(fetcher, stage, link)
        }
    }

    @Test func nothingIsFetchedForAKnockThatIsNotSigned() async throws {
        try await with { fetcher, stage, link in
            let viewer = try Identity.ephemeral()
            let identity = try #require(ViewerIdentity(fingerprint: viewer.fingerprint))
            // More than are kept.
            for _ in 0..<40 {
                try await stage.client(link) { client in
                    await #expect(throws: SignalingError.self) {
                        _ = try await client.knock(name: "Ann", identity: identity, certificate: nil) { _ in nil }
                    }
                }
            }
            try await stage.client(link) { client in
                let error = await #expect(throws: SignalingError.self) {
                    _ = try await client.knock(
                        name: "Ann", identity: identity, certificate: viewer.certificateDER
                    ) { _ in [UInt8](repeating: 1, count: 64) }
                }
                #expect(error != nil)
            }
            #expect(fetcher.fetches.withLock { $0 } == 0)
        }
    }

    @Test func aSignedKnockHasItFetchedOnceAndIsAsked() async throws {
        try await with { fetcher, stage, link in
            for name in ["Ann", "Ben"] {
                try await stage.client(link) { client in
                    let token = try await client.admissionToken(for: try .ephemeral(), named: name)
                    #expect(!token.isEmpty)
                }
            }
            #expect(fetcher.fetches.withLock { $0 } == 1)
        }
    }

    /// It was made before the broadcast was here, and is signed after another one had it fetched.
    @Test func aKnockFromBeforeIsValidAfterwards() async throws {
        try await with { fetcher, stage, link in
            let viewer = try Identity.ephemeral()
            let identity = try #require(ViewerIdentity(fingerprint: viewer.fingerprint))
            try await stage.client(link) { client in
                let ticket = try await client.knock(
                    name: "Ann", identity: identity, certificate: viewer.certificateDER
                ) { challenge in
                    _ = server(stage, fetcher)
                    return viewer.signature(over: challenge.signedBytes)
                }
                guard case .accepted = try await client.waitForAnswer(ticket) else {
                    Issue.record("not admitted")
                    return
                }
            }
            #expect(fetcher.fetches.withLock { $0 } == 0)
        }
    }

    private func server(_ stage: SignalingFixture, _ fetcher: Finder) -> BroadcastResource? {
        var configuration = ServedBroadcastConfiguration()
        (configuration.id, configuration.secret) = (fetcher.id, fetcher.secret)
        return try? stage.server.add(configuration, delegate: stage.delegate)
    }
}
