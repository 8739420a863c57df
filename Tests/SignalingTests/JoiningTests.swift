import LinuxRuntime
import Testing

@testable import Admission
@testable import HTTP
@testable import Identity
@testable import Signaling

/// Server and client over loopback, with a host without media.
@Suite(.timeLimit(.minutes(1))) struct JoiningTests {
    @Test func acceptedViewerGetsAnAnswerAndHearsTheEnd() async throws {
        try await SignalingFixture.with { stage in
            let identity = try Identity.ephemeral()
            let fingerprint = identity.fingerprint
            try await stage.client { client in
                let ticket = try await client.knock(name: "Ann\u{202E}\u{7}", identity: identity)
                #expect(await stage.delegate.knocks(1).map(\.words) == [ticket.words])
                guard case .accepted(let token, _) = try await client.waitForAnswer(ticket) else {
                    Issue.record("not accepted")
                    return
                }
                let answer = try await client.offer(description(fingerprint), token: token)
                #expect(answer.sdp == description(stage.identity.fingerprint))
                try await client.trickle("a=ice-ufrag:x\r\n")
                let events = try await client.events()
                stage.broadcast.send(.viewerCount(3))
                var heard: [HostEvent] = []
                async let ended: Void = stage.broadcast.end(reason: "enough")
                for try await event in events { heard.append(event) }
                await ended
                #expect(heard == [.viewerCount(3), .ended(reason: "enough")])
                await client.leave()
            }
            let seen = stage.delegate.seen
            #expect(seen.knocks.map(\.name) == ["Ann"])
            #expect(seen.knocks.map(\.kind) == ["share"])
            #expect(seen.knocks.map(\.address) == ["127.0.0.1"])
            #expect(seen.knocks.map(\.identity) == [try identity.asViewer])
            #expect(seen.offers.map(\.identity) == [try identity.asViewer])
            #expect(seen.offers.map(\.fingerprint) == [fingerprint])
            #expect(seen.offers.map(\.knock) == seen.knocks.map(\.id))
            #expect(seen.fragments == ["a=ice-ufrag:x\r\n"])
            #expect(seen.closed.count == 1)
        }
    }

    /// The stream of events goes over the connection of the offer; what is asked then, over another one.
    @Test func aViewerThatOnlyListensHasOneConnection() async throws {
        try await SignalingFixture.with { stage in
            let identity = try Identity.ephemeral()
            try await stage.client { client in
                let token = try await client.admissionToken(for: identity)
                _ = try await client.offer(description(identity.fingerprint), token: token)
                let before = stage.server.statistics.connections.accepted
                let events = try await client.events()
                #expect(stage.server.statistics.connections.accepted == before)
                try await client.trickle("a=ice-ufrag:x\r\n")
                #expect(stage.server.statistics.connections.accepted == before + 1)
                stage.broadcast.send(.viewerCount(3))
                for try await event in events {
                    #expect(event == .viewerCount(3))
                    break
                }
                await client.leave()
            }
        }
    }

    /// An idle connection that the server has closed meanwhile is replaced.
    @Test func eventsComeAfterTheServerHasClosedTheConnection() async throws {
        try await SignalingFixture.with { stage in
            let identity = try Identity.ephemeral()
            try await stage.client { client in
                let token = try await client.admissionToken(for: identity)
                _ = try await client.offer(description(identity.fingerprint), token: token)
                await stage.server.service.connections.hangUpAll()
                let events = try await client.events()
                stage.broadcast.send(.viewerCount(3))
                for try await event in events {
                    #expect(event == .viewerCount(3))
                    break
                }
                await client.leave()
            }
        }
    }

    /// Two programs of one user have the same certificate. Each has its own session, and a program that joins again has
    /// the same instance identifier.
    @Test func programsOfOneIdentityAreDistinguished() async throws {
        try await SignalingFixture.with { stage in
            let identity = try Identity.ephemeral()
            for _ in 0..<2 {
                try await stage.client { client in
                    let ticket = try await client.knock(name: "", identity: identity)
                    guard case .accepted(let token, _) = try await client.waitForAnswer(ticket) else {
                        Issue.record("not accepted")
                        return
                    }
                    for _ in 0..<2 { _ = try await client.offer(description(identity.fingerprint), token: token) }
                }
            }
            let instances = stage.delegate.seen.offers.compactMap(\.clientInstance)
            #expect(
                instances.count == 4 && instances[0] == instances[1] && instances[1] != instances[2]
                    && instances[2] == instances[3])
        }
    }

    @Test func lateListenerHearsTheEndAtOnce() async throws {
        try await SignalingFixture.with { stage in
            try await stage.client { client in
                let ticket = try await client.knock(name: "", fingerprint: randomFingerprint())
                _ = try await client.waitForAnswer(ticket)
                await stage.broadcast.end(reason: "over")
                var heard: [HostEvent] = []
                for try await event in try await client.events() { heard.append(event) }
                #expect(heard == [.ended(reason: "over")])
                #expect(await code { _ = try await client.knock(name: "", fingerprint: randomFingerprint()) } == .gone)
            }
        }
    }

    @Test func refusalComesWithItsReasonAndItsTime() async throws {
        try await SignalingFixture.with(decision: { _ in .refused("not today") }) { stage in
            try await stage.client { client in
                let ticket = try await client.knock(name: "", fingerprint: randomFingerprint())
                #expect(
                    try await client.waitForAnswer(ticket) == .refused("not today; you can ask again in 60 s"))
            }
            #expect(stage.server.statistics.knocks.refused == 1)
        }
    }

    @Test func anUnansweredKnockTimesOut() async throws {
        let never = OneShot<KnockDecision>()
        try await SignalingFixture.with(
            decision: { _ in await never.value },
            configure: {
                $0.knockLimits.answer = .milliseconds(50)
                $0.timeouts.poll = .milliseconds(20)
            }
        ) { stage in
            try await stage.client { client in
                let ticket = try await client.knock(name: "", fingerprint: randomFingerprint())
                #expect(try await client.waitForAnswer(ticket) == .unanswered)
            }
            #expect(await stage.delegate.onWithdrawal.value == .unanswered)
            never.fulfil(.accepted)
        }
    }

    @Test func answerMayTakeSeveralPolls() async throws {
        let decision = OneShot<KnockDecision>()
        try await SignalingFixture.with(
            decision: { _ in await decision.value }, configure: { $0.timeouts.poll = .milliseconds(1) }
        ) { stage in
            try await stage.client { client in
                let ticket = try await client.knock(name: "", fingerprint: randomFingerprint())
                async let answer = client.waitForAnswer(ticket)
                // Five requests show that the client polls on.
                while stage.server.statistics.requests < 5 { try await Task.sleep(for: .milliseconds(1)) }
                decision.fulfil(.accepted)
                guard case .accepted = try await answer else {
                    Issue.record("not accepted")
                    return
                }
            }
        }
    }

    @Test func viewerWhoGoesIsWithdrawn() async throws {
        let never = OneShot<KnockDecision>()
        try await SignalingFixture.with(decision: { _ in await never.value }) { stage in
            try await stage.client { client in
                let ticket = try await client.knock(name: "", fingerprint: randomFingerprint())
                await client.withdraw(ticket)
                #expect(await stage.delegate.onWithdrawal.value == .left)
                #expect(await code { _ = try await client.waitForAnswer(ticket) } == .gone)
            }
            never.fulfil(.unanswered)
        }
    }

    @Test func viewerWhoseConnectionBreaksIsWithdrawn() async throws {
        let asked = OneShot<Void>()
        let never = OneShot<KnockDecision>()
        try await SignalingFixture.with(
            decision: { _ in
                asked.fulfil(())
                return await never.value
            }, configure: { $0.knockLimits.abandoned = .milliseconds(20) }
        ) { stage in
            let client = try SignalingClient(link: stage.link)
            let ticket = try await client.knock(name: "", fingerprint: randomFingerprint())
            async let answer = code { _ = try await client.waitForAnswer(ticket) }
            await asked.value
            await client.close()
            #expect(await answer != nil)
            #expect(await stage.delegate.onWithdrawal.value == .left)
            never.fulfil(.unanswered)
        }
    }

    @Test func endWithdrawsWaitingKnocks() async throws {
        let never = OneShot<KnockDecision>()
        try await SignalingFixture.with(decision: { _ in await never.value }) { stage in
            try await stage.client { client in
                let ticket = try await client.knock(name: "", fingerprint: randomFingerprint())
                async let answer = code { _ = try await client.waitForAnswer(ticket) }
                await stage.broadcast.end(reason: "over")
                #expect(await answer == .gone)
                #expect(await stage.delegate.onWithdrawal.value == .ended)
            }
            never.fulfil(.unanswered)
        }
    }

    @Test func connectionsAreUsedAgain() async throws {
        try await SignalingFixture.with { stage in
            try await stage.client { client in
                let fingerprint = randomFingerprint()
                let ticket = try await client.knock(name: "", fingerprint: fingerprint)
                guard case .accepted(let token, _) = try await client.waitForAnswer(ticket) else { return }
                _ = try await client.offer(description(fingerprint), token: token)
                await client.leave()
            }
            #expect(stage.server.statistics.connections.accepted == 1)
        }
    }

    @Test func viewerWhoComesAgainLosesItsOldestSession() async throws {
        try await SignalingFixture.with { stage in
            try await stage.client { client in
                let fingerprint = randomFingerprint()
                let ticket = try await client.knock(name: "", fingerprint: fingerprint)
                guard case .accepted(let token, _) = try await client.waitForAnswer(ticket) else { return }
                for _ in 0..<6 { _ = try await client.offer(description(fingerprint), token: token) }
            }
            let seen = stage.delegate.seen
            #expect(seen.offers.count == 6 && seen.closed.count == 2)
        }
    }
}
