import Testing

@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// How viewers learn of STUN and TURN servers, and of candidates that the host gathers late.
@Suite(.timeLimit(.minutes(1)))
struct ServersTests {
    private static let servers = [
        ICEServer(urls: ["stun:stun.example.org:3478"]),
        ICEServer(urls: ["turn:turn.example.org?transport=tcp"], username: "alice", credential: "se\"cret"),
    ]

    @Test func viewersGetTheServers() async throws {
        try await SignalingFixture.with(configure: { $0.iceServers = Self.servers }) { stage in
            try await stage.client { client in
                let ticket = try await client.knock(name: "", fingerprint: randomFingerprint())
                guard case .accepted(_, let servers) = try await client.waitForAnswer(ticket) else {
                    Issue.record("not accepted")
                    return
                }
                #expect(servers == Self.servers)
            }
        }
    }

    @Test func aHostThatNamesManyIsCutShort() async throws {
        let many = (0..<1_000).map { ICEServer(urls: ["stun:192.0.2.1:\($0 + 1)"]) }
        try await SignalingFixture.with(configure: { $0.iceServers = many }) { stage in
            try await stage.client { client in
                let ticket = try await client.knock(name: "", fingerprint: randomFingerprint())
                guard case .accepted(_, let servers) = try await client.waitForAnswer(ticket) else {
                    Issue.record("not accepted")
                    return
                }
                #expect(servers == Array(many.prefix(16)))
            }
        }
    }

    /// The candidates are gathered before or after the event stream is opened.
    @Test(arguments: [false, true])
    func lateCandidatesReachTheirViewerAlone(_ isEarly: Bool) async throws {
        try await SignalingFixture.with { stage in
            try await stage.client { other in
                try await stage.client { client in
                    let session = try await enter(client, stage)
                    _ = try await enter(other, stage)
                    let fragment = "a=ice-ufrag:abcd\r\na=candidate:1 1 udp 1 192.0.2.1 9 typ relay\r\n"
                    if isEarly { stage.broadcast.send(.candidates(fragment: fragment), to: [session]) }
                    let (events, others) = (try await client.events(), try await other.events())
                    if !isEarly { stage.broadcast.send(.candidates(fragment: fragment), to: [session]) }
                    var heard: [HostEvent] = []
                    for try await event in events {
                        heard.append(event)
                        break
                    }
                    #expect(heard == [.candidates(fragment: fragment)])
                    stage.broadcast.send(.viewerCount(2))
                    for try await event in others {
                        #expect(event == .viewerCount(2))
                        break
                    }
                }
            }
        }
    }

    private func enter(_ client: SignalingClient, _ stage: SignalingFixture) async throws -> SessionID {
        let fingerprint = randomFingerprint()
        let ticket = try await client.knock(name: "", fingerprint: fingerprint)
        guard case .accepted(let token, _) = try await client.waitForAnswer(ticket) else {
            throw SignalingError(.refused, "not accepted")
        }
        let answer = try await client.offer(description(fingerprint), token: token)
        return try #require(answer.resource.split(separator: "/").last.flatMap { SessionID($0) })
    }

    @Test func theProbeChecksEachStepToTheHost() async throws {
        try await SignalingFixture.with { stage in
            let steps = await LinkProbe.check(stage.link)
            #expect(steps.map(\.subject) == ["name", "tcp", "certificate", "broadcast"])
            #expect(steps.allSatisfy { $0.isGood && $0.remedy.isEmpty })
            #expect(stage.delegate.seen.knocks.isEmpty)

            let link = stage.link
            let old = Link(
                host: link.host, port: link.port, id: .random(), secret: link.secret, fingerprint: link.fingerprint)
            #expect(await LinkProbe.check(old).last?.subject == "broadcast")
            #expect(await LinkProbe.check(old).last?.isGood == false)
            let other = Link(
                host: link.host, port: link.port, id: link.id, secret: link.secret, fingerprint: randomFingerprint())
            #expect(await LinkProbe.check(other).last?.subject == "certificate")
            #expect(await LinkProbe.check(other).last?.isGood == false)
            await stage.server.stop()
            let gone = await LinkProbe.check(link)
            #expect(gone.map(\.subject) == ["name", "tcp"])
            #expect(gone.last?.isGood == false && gone.last?.remedy.isEmpty == false)
        }
    }

    @Test func aLinkHeaderQuotesWhatItHolds() {
        let server = ICEServer(urls: ["turn:h", "turns:h"], username: "a\"b\\c\r\nX: y", credential: "se cret")
        #expect(
            server.links == [
                #"<turn:h>; rel="ice-server"; username="a\"b\\cX: y"; credential="se cret"; credential-type="password""#,
                #"<turns:h>; rel="ice-server"; username="a\"b\\cX: y"; credential="se cret"; credential-type="password""#,
            ])
    }
}
