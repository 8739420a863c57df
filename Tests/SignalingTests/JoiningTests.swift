import Testing

@testable import Signaling

@Suite struct JoiningTests {
    @Test func acceptedViewerGetsAnAnswerAndHearsTheEnd() async throws {
        try await Stage.with { stage in
            let fingerprint = randomFingerprint()
            try await stage.client { client in
                let started = ContinuousClock.now
                let ticket = try await client.knock(name: "Ann\u{202E}\u{7}", fingerprint: fingerprint)
                guard case .accepted(let token, _) = try await client.waitForAnswer(ticket) else {
                    Issue.record("not accepted")
                    return
                }
                let answer = try await client.offer(description(fingerprint), token: token)
                print("knock and offer: \(ContinuousClock.now - started)")
                #expect(answer.sdp == description(stage.identity.fingerprint))
                try await client.trickle("a=ice-ufrag:x\r\n")
                let events = try await client.events()
                stage.server.broadcastEvent(.viewerCount(3))
                var heard: [HostEvent] = []
                async let ended: Void = stage.server.endAll(reason: "enough")
                for try await event in events { heard.append(event) }
                await ended
                #expect(heard == [.viewerCount(3), .ended(reason: "enough")])
                await client.leave()
            }
            let seen = stage.desk.seen
            #expect(seen.knocks.map(\.name) == ["Ann"])
            #expect(seen.knocks.map(\.kind) == ["share"])
            #expect(seen.knocks.map(\.address) == ["127.0.0.1"])
            #expect(seen.offers.map(\.fingerprint) == [fingerprint])
            #expect(seen.fragments == ["a=ice-ufrag:x\r\n"])
            #expect(seen.closed.count == 1)
        }
    }
}
