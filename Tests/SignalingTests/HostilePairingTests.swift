import Foundation
import LinuxRuntime
import NIOCore
import NIOHTTP1
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// Hosts that replay, reorder, claim another's certificate, or send too much.
@Suite(.timeLimit(.minutes(1))) struct HostilePairingTests {
    @Test func aSignatureIsForOnePairingInOneRole() async throws {
        try await ServiceFixture.with { stage in
            try await stage.host { host in
                let (first, second) = (try await host.open(), try await host.open())
                // The second request of a host at this address replaces its unsigned first one.
                #expect(try await host.wire.ask(.GET, first.place).status == 410)
                let third = RawHost(stage: stage, wire: host.wire, identity: try .ephemeral())
                let other = try await third.open()
                for body in [
                    try host.acceptance(of: first), try host.acceptance(of: second, role: .service),
                    try host.acceptance(of: other), try host.acceptance(of: second, by: third.identity),
                ] {
                    let opened = try await host.open()
                    let answer = try await host.wire.ask(.PUT, opened.place, body: body)
                    #expect(answer.status == 403 && answer.text.contains("wrong-signature"))
                    #expect(try await host.wire.ask(.GET, opened.place).status == 410, "the pairing is gone")
                }
                #expect(stage.delegate.seen.requests.isEmpty && stage.server.statistics.refusals.wrongProofs == 4)
            }
        }
    }

    @Test func aRepeatedAcceptanceAsksOnce() async throws {
        let decision = OneShot<PairingDecision>()
        try await ServiceFixture.with(decision: { _ in await decision.value }) { stage in
            try await stage.host { host in
                let opened = try await host.open()
                for _ in 0..<3 { try await host.accept(opened) }
                decision.fulfil(.accepted)
                #expect(try await host.wire.ask(.GET, opened.place).status == 200)
                try await host.accept(opened)
                // The response with the token may have been lost.
                #expect(try await host.wire.ask(.GET, opened.place).status == 200)
                #expect(stage.delegate.seen.requests.count == 1)
            }
        }
    }

    /// Whoever has heard a whole pairing can repeat it, but does not have the key.
    @Test func aReplayedRequestGetsANewNonce() async throws {
        try await ServiceFixture.with { stage in
            try await stage.host { host in
                let body = try host.body()
                let opened = try await host.open(body)
                let acceptance = try host.acceptance(of: opened)
                #expect(try await host.wire.ask(.PUT, opened.place, body: acceptance).status == 204)
                let replayed = try await host.open(body)
                #expect(replayed.place != opened.place && replayed.transcript != opened.transcript)
                #expect(try await host.wire.ask(.PUT, replayed.place, body: acceptance).status == 403)
                _ = await stage.delegate.onRequest.value
                #expect(stage.delegate.seen.requests.count == 1)
            }
        }
    }

    @Test func aCertificateIsBoundToItsFingerprint() async throws {
        try await ServiceFixture.with { stage in
            try await stage.host { host in
                let other = try Identity.ephemeral()
                let body = try host.body()
                let certificate = Base64URL.encode(host.identity.certificateDER)
                for wrong in [
                    body.replacing(certificate, with: Base64URL.encode(other.certificateDER)),
                    body.replacing(certificate, with: ""), body.replacing(certificate, with: "!"),
                    body.replacing("com.example.budget", with: "\\u202E"), "{}", "[", "",
                    try host.body(nonce: randomBytes(31)),
                ] {
                    let answer = try await host.wire.ask(.POST, stage.link.path + "/pair", body: wrong)
                    #expect(answer.status == 400 && answer.text.contains("malformed"))
                }
                #expect(stage.server.statistics.refusals.malformed == 8)
            }
        }
    }

    @Test func aTokenIsForItsCertificateAndForOneSession() async throws {
        try await ServiceFixture.with { stage in
            try await stage.host { host in
                let token = try await host.token()
                let stolen = try await host.publish(token, fingerprint: randomFingerprint())
                #expect(stolen.status == 403 && stolen.text.contains("fingerprint"))
                let created = try await host.publish(token)
                #expect(created.status == 201)
                let second = try await host.publish(token)
                #expect(second.status == 409 && second.text.contains("session-exists"))
                #expect(stage.delegate.seen.offers.count == 1)
                // Another host cannot reach the session.
                let other = RawHost(stage: stage, wire: host.wire, identity: try .ephemeral())
                let foreign = try await other.token()
                let resource = try #require(created.headers.first(name: "Location"))
                #expect(try await host.wire.ask(.DELETE, resource, [bearer(foreign)]).status == 404)
                #expect(try await host.wire.ask(.GET, resource, [bearer(token)]).status == 204)
                #expect(stage.server.statistics.refusals.wrongFingerprints == 1)
            }
        }
    }

    @Test func anOfferThatFailsLeavesTheToken() async throws {
        try await ServiceFixture.with(refusal: OfferRefusal(.notAcceptable, "no VP8")) { stage in
            try await stage.host { host in
                let token = try await host.token()
                for _ in 0..<2 { #expect(try await host.publish(token).status == 406) }
            }
        }
    }

    @Test func wrongSignaturesAndTokensAreCountedAgainstTheirAddress() async throws {
        try await ServiceFixture.with { stage in
            try await stage.host { host in
                var statuses: [Int] = []
                for index in 0..<8 {
                    if index.isMultiple(of: 2) {
                        let opened = try await host.open()
                        let wrong = try host.acceptance(of: opened, role: .service)
                        statuses.append(try await host.wire.ask(.PUT, opened.place, body: wrong).status)
                    } else {
                        statuses.append(try await host.publish("wrong").status)
                    }
                }
                #expect(statuses == [403, 401, 403, 401, 403, 401, 429, 429])
                // A host with a correct signature is let in, also from the same address.
                #expect(try await host.publish(try await host.token()).status == 201)
            }
        }
    }

    @Test func bodiesAndSetupValuesAreBounded() async throws {
        try await ServiceFixture.with { stage in
            try await stage.host { host in
                let path = stage.link.path + "/pair"
                let padded = try host.body() + String(repeating: " ", count: PairingRequestDocument.sizeLimit)
                #expect(try await host.wire.ask(.POST, path, body: padded).status == 400)
                let huge = String(repeating: " ", count: 65_537)
                #expect(try await host.wire.ask(.POST, path, body: huge).status == 413)
                let opened = try await host.open()
                for setup in [
                    [:], ["title": ""], ["title": String(repeating: "x", count: SetupField.valueLimit + 1)],
                    ["title": "x", "other": "x"],
                ] {
                    let body = try host.acceptance(of: opened, setup: setup)
                    #expect(try await host.wire.ask(.PUT, opened.place, body: body).status == 400)
                }
                #expect(try await host.wire.ask(.PUT, opened.place, body: huge).status == 413)
                #expect(try await host.wire.ask(.PUT, opened.place, body: "{\"signature\":\"AA\"}").status == 400)
                #expect(stage.delegate.seen.requests.isEmpty)
                // The pairing still waits for its signature.
                try await host.accept(opened)
            }
        }
    }

    @Test func pairingsOfOneAddressAreFew() async throws {
        try await ServiceFixture.with(configure: { $0.pairingLimits.approvals.questions.ofAddress = 2 }) { stage in
            try await stage.host { host in
                for _ in 0..<2 {
                    _ = try await RawHost(stage: stage, wire: host.wire, identity: try .ephemeral()).open()
                }
                let full = try await host.wire.ask(.POST, stage.link.path + "/pair", body: try host.body())
                #expect(full.status == 429 && full.text.contains("queue-full"))
                #expect(full.headers.first(name: "Retry-After") == "5")
            }
        }
    }

    @Test func requestsToPairAreLimitedInTime() async throws {
        try await ServiceFixture.with(configure: { $0.server.limits.knockRate.burst = 3 }) { stage in
            try await stage.host { host in
                var statuses: [Int] = []
                for _ in 0..<5 {
                    statuses.append(
                        try await host.wire.ask(.POST, stage.link.path + "/pair", body: try host.body()).status)
                }
                #expect(statuses == [202, 202, 202, 429, 429])
            }
        }
    }

    @Test func aHostWhoseConnectionBreaksIsWithdrawn() async throws {
        let never = OneShot<PairingDecision>()
        try await ServiceFixture.with(
            decision: { _ in await never.value },
            configure: { $0.pairingLimits.approvals.abandoned = .milliseconds(500) }
        ) { stage in
            try await stage.host { host in
                let opened = try await host.open()
                let channel = try await host.wire.connect()
                async let poll = host.wire.ask(.GET, opened.place, over: channel)
                try await host.accept(opened)
                let asked = await stage.delegate.onRequest.value
                try await channel.close()
                _ = try? await poll
                #expect(await stage.delegate.onWithdrawal.value == asked.id)
                await stage.delegate.onCancellation.value
                #expect(try await host.wire.ask(.GET, opened.place).status == 410)
            }
            never.fulfil(.accepted)
        }
    }

    @Test func aPairingThatIsNotSignedIsForgotten() async throws {
        try await ServiceFixture.with(configure: { $0.pairingLimits.approvals.signature = .milliseconds(50) }) {
            stage in
            try await stage.host { host in
                let opened = try await host.open()
                // The poll is held until the pairing is removed.
                #expect(try await host.wire.ask(.GET, opened.place).status == 410)
                #expect(
                    try await host.wire.ask(.PUT, opened.place, body: try host.acceptance(of: opened)).status == 410)
                #expect(try await host.wire.ask(.DELETE, opened.place).status == 410)
            }
        }
    }

    @Test func ticketsAndServicesThatDoNotExistAreNotThere() async throws {
        try await ServiceFixture.with { stage in
            try await stage.host { host in
                let base = stage.link.path
                let unknown = base + "/pair/" + KnockID.random().text
                for method in [HTTPMethod.GET, .DELETE] {
                    #expect(try await host.wire.ask(method, unknown).status == 410)
                    #expect(try await host.wire.ask(method, base + "/pair/x").status == 404)
                }
                #expect(try await host.wire.ask(.PATCH, unknown).status == 405)
                #expect(try await host.wire.ask(.GET, base + "/pair").status == 405)
                for path in [
                    "/services", "/services/x", "/services/com.example.nobody", base + "/what", base + "/pair/a/b",
                ] {
                    for suffix in ["", "/pair", "/whip", "/events"] where !path.hasPrefix(base) {
                        #expect(try await host.wire.ask(.POST, path + suffix, body: "x").status == 404, "\(path)")
                    }
                    #expect(try await host.wire.ask(.GET, path).status == 404, "\(path)")
                }
                let folded = try await host.wire.ask(.GET, base.replacing("example", with: "Example") + "/pair")
                #expect(folded.status == 307 && folded.headers.first(name: "Location") == base + "/pair")
                #expect(try await host.wire.ask(.GET, base).document(ServiceDescription.self) != nil)
                #expect(try await host.wire.ask(.HEAD, base).status == 200)
            }
        }
    }
}
