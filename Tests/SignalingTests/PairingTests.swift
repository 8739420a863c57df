import Foundation
import LinuxRuntime
import MediaCore
import NIOHTTP1
import Testing

@testable import Admission
@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// A host and a service, each with its real identity, over loopback.
@Suite(.timeLimit(.minutes(1))) struct PairingTests {
    @Test func aHostPairsPublishesAndHearsItsService() async throws {
        let servers = [ICEServer(urls: ["stun:stun.example.com"])]
        try await ServiceFixture.with(configure: {
            $0.iceServers = servers
            $0.broadcastURL = "https://example.com/watch"
        }) { stage in
            let identity = try Identity.ephemeral()
            try await stage.client { client in
                #expect(try await client.describe() == stage.service.description)
                let asked = try await client.pair(application: stage.budget, identity: identity)
                #expect(asked == stage.service.description)
                #expect(stage.delegate.seen.requests.isEmpty, "nobody is asked before the host's user has accepted")
                #expect(try await client.accept(setup: [:]) == .missing(asked.fields[0]))
                #expect(try await client.accept(setup: ["title": "Num\u{202E}bers"]) == nil)
                let grant = try await client.waitForGrant()
                #expect(grant.broadcastURL == "https://example.com/watch" && grant.iceServers == servers)
                #expect(grant.lease == .seconds(10))

                let answer = try await client.publish(description(identity.fingerprint))
                #expect(answer.sdp == description(stage.identity.fingerprint))
                let session = try #require(answer.resource.split(separator: "/").last.flatMap { SessionID($0) })
                try await client.trickle("a=ice-ufrag:x\r\n")
                let restarted = try await client.restart("a=ice-ufrag:new\r\n", timeout: .seconds(5))
                #expect(restarted.fragment.contains("a=ice-ufrag:host"))
                try await client.trickle("a=ice-ufrag:y\r\n")

                let comment = BroadcastComment(from: "Ann", "hello")
                stage.service.send(.broadcastURL("https://example.com/1"), to: session)
                let events = try await client.events()
                var iterator = events.makeAsyncIterator()
                #expect(try await iterator.next() == .broadcastURL("https://example.com/1"))
                stage.service.send(.serviceInfo(ServiceInfo(viewers: 3, comment: comment)), to: session)
                #expect(try await iterator.next() == .serviceInfo(ServiceInfo(viewers: 3, comment: comment)))
                stage.service.send(.candidates(fragment: "a=candidate:1\r\n"), to: session)
                #expect(try await iterator.next() == .candidates(fragment: "a=candidate:1\r\n"))
                stage.service.finish(session, reason: "sign in again", nextStep: "https://example.com/login")
                let end = ServiceEvent.finished(reason: "sign in again", nextStep: "https://example.com/login")
                #expect(try await iterator.next() == end)
                #expect(try await iterator.next() == nil)
                // A stream that opens later tells it again.
                var late: [ServiceEvent] = []
                for try await event in try await client.events() { late.append(event) }
                #expect(late == [end])
                #expect(await code { try await client.trickle("a=ice-ufrag:x\r\n") } == .gone)
            }
            let seen = stage.delegate.seen
            let request = try #require(seen.requests.first)
            #expect(seen.requests.count == 1 && request.application == stage.budget)
            #expect(request.fingerprint == identity.fingerprint && request.address == "127.0.0.1")
            #expect(request.setup == ["title": "Numbers"])
            let publisher = try #require(seen.offers.first)
            #expect(publisher.pairing == request.id && publisher.application == stage.budget)
            #expect(publisher.setup == request.setup && publisher.fingerprint == identity.fingerprint)
            #expect(publisher.kind == "share" && seen.fragments.count == 3)
            #expect(await stage.delegate.onEnd.value == request.id)
            #expect(stage.server.statistics.pairings.accepted == 1 && stage.server.statistics.sessions == 1)
        }
    }

    @Test func aServerHasBroadcastsAndServicesAtOnce() async throws {
        try await ServiceFixture.with(configure: { $0.serviceCapacity = 2 }) { stage in
            let fingerprint = stage.identity.fingerprint
            let broadcast = try stage.server.add(
                ServedBroadcastConfiguration(),
                delegate: FakeDelegate { _ throws(OfferRefusal) in description(fingerprint) })
            let link = Link(
                host: stage.link.host, port: stage.link.port, id: broadcast.id, secret: broadcast.secret,
                fingerprint: fingerprint)
            let viewer = try SignalingClient(link: link)
            #expect(try await viewer.pageStatus() == 200)
            await viewer.close()
            let other = ServiceConfiguration(try ServiceFixture.conference("com.example.other"))
            _ = try stage.server.add(other, delegate: stage.delegate)
            for (id, code) in [
                ("com.example.other", SignalingServerError.Code.serviceExists), ("a.b", .tooManyServices),
            ] {
                let error = #expect(throws: SignalingServerError.self) {
                    try stage.server.add(
                        ServiceConfiguration(try ServiceFixture.conference(id)), delegate: stage.delegate)
                }
                #expect(error?.code == code)
            }
            try await stage.client { _ = try await stage.pair($0, try Identity.ephemeral()) }
        }
    }

    // MARK: Refusals

    @Test func aRefusalComesWithItsReasonAndHoldsForAWhile() async throws {
        try await ServiceFixture.with(decision: { _ in .refused("not today") }) { stage in
            let identity = try Identity.ephemeral()
            try await stage.client { client in
                for _ in 0..<2 {
                    #expect(await failure { _ = try await stage.pair(client, identity) } == .refused("not today"))
                }
            }
            #expect(stage.delegate.seen.requests.count == 1, "the second request is refused without a question")
        }
    }

    @Test func anUnansweredPairingTimesOut() async throws {
        let never = OneShot<PairingDecision>()
        try await ServiceFixture.with(
            decision: { _ in await never.value },
            configure: {
                $0.pairingLimits.approvals.answer = .milliseconds(50)
                $0.timeouts.poll = .milliseconds(20)
            }
        ) { stage in
            try await stage.client { client in
                #expect(await failure { _ = try await stage.pair(client, try Identity.ephemeral()) } == .unanswered)
            }
            let asked = await stage.delegate.onRequest.value
            #expect(await stage.delegate.onWithdrawal.value == asked.id)
            await stage.delegate.onCancellation.value
            never.fulfil(.accepted)
        }
    }

    @Test func aBusyServiceTakesNoFurtherBroadcast() async throws {
        try await ServiceFixture.with(configure: { $0.sessionCapacity = 1 }) { stage in
            try await stage.client { client in
                let identity = try Identity.ephemeral()
                // The same host takes its own place.
                try await stage.client { first in
                    _ = try await stage.pair(first, identity)
                    try await stage.client { _ = try await stage.pair($0, identity) }
                }
                _ = try await stage.pair(client, identity)
                try await stage.client { second in
                    let failure = await failure { _ = try await stage.pair(second, try Identity.ephemeral()) }
                    #expect(
                        failure == .busy("the only place for a broadcast is taken; it is free when a broadcast ends"))
                }
                await client.withdraw()
                try await stage.client { _ = try await stage.pair($0, try Identity.ephemeral()) }
            }
        }
        try await ServiceFixture.with(decision: { _ in .busy }) { stage in
            try await stage.client { client in
                #expect(
                    await failure { _ = try await stage.pair(client, try Identity.ephemeral()) }
                        == .busy("it says no more; try again later"))
            }
        }
    }

    @Test func anUnknownServiceAndAnotherCertificateAreTold() async throws {
        try await ServiceFixture.with { stage in
            let other = ServiceLink(
                host: stage.link.host, port: stage.link.port, id: try #require(ServiceID("com.example.nobody")),
                fingerprint: stage.link.fingerprint)
            try await stage.client(other) { client in
                #expect(await failure { _ = try await client.describe() } == .unknownService)
                #expect(await failure { _ = try await stage.pair(client, try .ephemeral()) } == .unknownService)
            }
            let changed = ServiceLink(
                host: stage.link.host, port: stage.link.port, id: stage.link.id, fingerprint: randomFingerprint())
            try await stage.client(changed) { client in
                #expect(await failure { _ = try await client.describe() } == .certificateChanged)
                #expect(await failure { _ = try await stage.pair(client, try .ephemeral()) } == .certificateChanged)
            }
        }
    }

    @Test func aHostWhoseUserDeclinesLeavesNothing() async throws {
        try await ServiceFixture.with { stage in
            try await stage.client { client in
                _ = try await client.pair(application: stage.budget, identity: try .ephemeral())
                async let grant = failure { _ = try await client.waitForGrant() }
                await client.withdraw()
                #expect(await grant == .declined)
                #expect(await failure { _ = try await client.accept(setup: stage.setup) } != nil)
            }
            #expect(stage.delegate.seen.requests.isEmpty)
            #expect(stage.server.statistics.pairings.withdrawn == 1)
        }
    }

    /// The host waits for its user, who is asked on the screen, when the service goes.
    @Test func aHostLearnsOfTheServicesEndWhileItsUserIsAsked() async throws {
        try await ServiceFixture.with { stage in
            try await stage.client { client in
                _ = try await client.pair(application: stage.budget, identity: try .ephemeral())
                await stage.service.remove(reason: "closing")
                #expect(await failure { _ = try await client.waitForGrant() } == .gone)
                #expect(await failure { _ = try await client.describe() } == .unknownService)
            }
        }
    }

    @Test func aCancelledWaitWithdrawsThePairing() async throws {
        let never = OneShot<PairingDecision>()
        try await ServiceFixture.with(decision: { _ in await never.value }) { stage in
            try await stage.client { client in
                let identity = try Identity.ephemeral()
                let pairing = Task { await failure { _ = try await stage.pair(client, identity) } }
                _ = await stage.delegate.onRequest.value
                pairing.cancel()
                #expect(await pairing.value == .declined)
                _ = await stage.delegate.onWithdrawal.value
            }
            never.fulfil(.accepted)
        }
    }

    @Test func theAnswerMayTakeSeveralPolls() async throws {
        let decision = OneShot<PairingDecision>()
        try await ServiceFixture.with(
            decision: { _ in await decision.value }, configure: { $0.timeouts.poll = .milliseconds(1) }
        ) { stage in
            try await stage.client { client in
                async let grant = stage.pair(client, try .ephemeral())
                // The number of requests shows that the client polls on.
                while stage.server.statistics.requests < 8 { await Task.yield() }
                decision.fulfil(.accepted)
                #expect(try await grant.broadcastURL == nil)
            }
        }
    }

    @Test func aServiceWhoseProgramStopsIsGone() async throws {
        let never = OneShot<PairingDecision>()
        try await ServiceFixture.with(decision: { _ in await never.value }) { stage in
            try await stage.client { client in
                async let outcome = failure { _ = try await stage.pair(client, try .ephemeral()) }
                _ = await stage.delegate.onRequest.value
                await stage.server.stop()
                let failure = await outcome
                guard case .gone = failure else {
                    guard case .unreachable = failure else {
                        Issue.record("\(String(describing: failure))")
                        return
                    }
                    return
                }
            }
            never.fulfil(.accepted)
        }
    }

    // MARK: Ends

    @Test func aLeaseWithoutASessionRunsOut() async throws {
        try await ServiceFixture.with(configure: { $0.pairingLimits.lease = .milliseconds(300) }) { stage in
            try await stage.host { host in
                let token = try await host.token()
                _ = await stage.delegate.onEnd.value
                let late = try await host.publish(token)
                #expect(late.status == 410 && late.text.contains("urn:share:problem:ended"))
                #expect(stage.delegate.seen.offers.isEmpty)
            }
        }
    }

    @Test func aSessionWithoutMediaEnds() async throws {
        try await ServiceFixture.with(configure: { $0.pairingLimits.silence = .milliseconds(50) }) { stage in
            try await stage.client { client in
                let identity = try Identity.ephemeral()
                _ = try await stage.pair(client, identity)
                let answer = try await client.publish(description(identity.fingerprint))
                let closed = await stage.delegate.onClose.value
                #expect(answer.resource.hasSuffix(closed.text))
                _ = await stage.delegate.onEnd.value
                var heard: [ServiceEvent] = []
                for try await event in try await client.events() { heard.append(event) }
                guard case .finished(let reason, nil) = heard.last else {
                    Issue.record("no end")
                    return
                }
                #expect(reason.hasPrefix("no media came for"))
            }
        }
    }

    @Test func aHostThatLeavesEndsItsPairing() async throws {
        try await ServiceFixture.with(configure: { $0.sessionCapacity = 1 }) { stage in
            try await stage.client { client in
                let identity = try Identity.ephemeral()
                _ = try await stage.pair(client, identity)
                _ = try await client.publish(description(identity.fingerprint))
                await client.leave()
                _ = await stage.delegate.onClose.value
                _ = await stage.delegate.onEnd.value
                // Its place is free again.
                _ = try await stage.pair(client, identity)
            }
        }
    }

    @Test func theServicesEndEndsAllSessions() async throws {
        try await ServiceFixture.with { stage in
            try await stage.client { client in
                let identity = try Identity.ephemeral()
                _ = try await stage.pair(client, identity)
                _ = try await client.publish(description(identity.fingerprint))
                let events = try await client.events()
                await stage.service.end(reason: "closing")
                var heard: [ServiceEvent] = []
                for try await event in events { heard.append(event) }
                #expect(heard == [.finished(reason: "closing", nextStep: nil)])
                _ = await stage.delegate.onClose.value
                try await stage.client { late in
                    #expect(await failure { _ = try await stage.pair(late, try .ephemeral()) } == .gone)
                }
            }
        }
    }
}
