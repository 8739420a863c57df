import Foundation
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Signaling

/// TURN credentials of viewers. The link of a listed broadcast is public, so that its secret proves nothing.
@Suite(.timeLimit(.minutes(1))) struct ViewerCredentialTests {
    private static let short = 0.5...1.5
    private static let long = 719.0...721.0

    /// For how many minutes the credentials are valid.
    private func minutes(_ servers: [ICEServer]) throws -> Double {
        try #require(servers.expiry).timeIntervalSinceNow / 60
    }

    private func with(
        _ decision: KnockDecision, isListed: Bool, _ body: (SignalingFixture, SignalingClient) async throws -> Void
    ) async throws {
        try await SignalingFixture.with(
            decision: { _ in decision },
            configure: {
                $0.directory = DirectorySettings()
                $0.broadcast.iceServers = [ICEServer(urls: ["turn:turn.example.com"])]
                $0.turnSecret = TURNSecret("0123456789abcdef")
                $0.fixedToken = "0123456789abcdef"
            }
        ) { stage in
            if isListed {
                let entry = DirectoryEntry(
                    stage.link, title: "t", application: ApplicationInfo(id: "a", name: "b"), region: nil, viewers: nil,
                    since: 0, codec: nil, route: .relay)
                let isPut = try #require(stage.server.directory).with { $0.put(.init(entry)) }
                #expect(isPut)
            }
            try await stage.client { try await body(stage, $0) }
        }
    }

    /// Knocks, and opens a session.
    private func join(
        _ client: SignalingClient
    ) async throws -> (granted: [ICEServer], answered: [ICEServer], session: SessionID) {
        let fingerprint = randomFingerprint()
        let ticket = try await client.knock(name: "", fingerprint: fingerprint)
        guard case .accepted(let token, let granted) = try await client.waitForAnswer(ticket) else {
            throw SignalingError(.refused, "not accepted")
        }
        let answer = try await client.offer(description(fingerprint), token: token)
        let session = try #require(answer.resource.split(separator: "/").last.flatMap { SessionID($0) })
        return (granted, try await client.iceServers(), session)
    }

    @Test func aStrangerFromTheDirectoryGetsThemForAMinuteUntilItHasMedia() async throws {
        try await with(.acceptedByRule, isListed: true) { stage, client in
            let found = try await join(client)
            #expect(try Self.short.contains(minutes(found.granted)))
            #expect(try Self.short.contains(minutes(found.answered)))
            stage.broadcast.noteMedia(of: found.session)
            let later = try await client.iceServers()
            #expect(try Self.long.contains(minutes(later)))
            // Nor does what another viewer has done help a stranger.
            try await stage.client { other in
                let granted = try await join(other).granted
                #expect(try Self.short.contains(minutes(granted)))
            }
        }
    }

    @Test(arguments: [(KnockDecision.accepted, true), (.remembered, true), (.acceptedByRule, false)])
    func whoIsAcceptedOrHasTheLinksSecretGetsThemForTheSession(_ decision: KnockDecision, _ isListed: Bool) async throws
    {
        try await with(decision, isListed: isListed) { _, client in
            let found = try await join(client)
            #expect(try Self.long.contains(minutes(found.granted)))
            #expect(try Self.long.contains(minutes(found.answered)))
        }
    }

    @Test func theFixedTokenIsASecret() async throws {
        try await with(.refused(nil), isListed: true) { _, client in
            await client.http.authorize(with: "0123456789abcdef")
            let servers = try await client.iceServers()
            #expect(try Self.long.contains(minutes(servers)))
        }
    }

    @Test func serversAreForAdmittedViewersAlone() async throws {
        try await with(.accepted, isListed: false) { _, client in
            await #expect(throws: SignalingError.self) { _ = try await client.iceServers() }
        }
    }
}
