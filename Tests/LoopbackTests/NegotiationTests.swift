import EventLoop
import ICETransport
import LinuxRuntime
import MediaCore
import SessionDescription
import Testing

@testable import Admission
@testable import Identity
@testable import PeerConnection

/// The candidates and restarts of one connection, with the real ICE agent and without a peer.
@Suite struct NegotiationTests {
    private final class Answerer: Sendable {
        let loop = EventLoop(name: "net-0")
        let core: LoopBound<PeerConnection>

        init() throws {
            let identity = try Identity.ephemeral()
            let loop = loop
            core = LoopBound(
                loop,
                making: {
                    var configuration = PeerConnection.Configuration(
                        .answerer, identity: identity, fingerprint: identity.fingerprint, place: .loopback,
                        repeatsCandidates: true, interruptionThreshold: .seconds(3))
                    configuration.agent.localAddresses = ["127.0.0.1"]
                    guard let connection = try? PeerConnection(loop: loop, configuration, allowance: nil)
                    else { preconditionFailure("no connection") }
                    return connection
                })
            let print = try #require(Fingerprint(sha256: identity.fingerprint))
            let text = LocalDescription(credentials: try Self.credentials("abcd"), fingerprint: print)
                .offer(.receiving())
            let offer = try Offer(text, for: .sending)
            core.perform { $0.begin(offer) }
        }

        static func credentials(_ name: String) throws -> ICECredentials {
            try #require(ICECredentials(usernameFragment: name, password: String(repeating: "a", count: 22)))
        }

        func apply(_ fragment: String) async -> Result<RestartedSession?, OfferRefusal> {
            await withCheckedContinuation { continuation in
                core.perform {
                    $0.apply(fragment: fragment, within: .seconds(1), wanted: nil) {
                        continuation.resume(returning: $0)
                    }
                }
            }
        }

        func restart(_ name: String) async throws -> Result<RestartedSession?, OfferRefusal> {
            let fragment = TrickleFragment(
                credentials: try Self.credentials(name), mid: "1", candidates: CandidateList(), endsCandidates: true)
            return await apply(fragment.serialised)
        }

        func close() async {
            await core.performAndWait { $0.close($1) }
            await loop.stop()
        }
    }

    @Test(arguments: ["x", "", "a=ice-ufrag:abcd\r\n", "a=ice-ufrag:ab\r\na=ice-pwd:short\r\n"])
    func aFragmentThatSaysNothingIsMalformed(_ fragment: String) async throws {
        let answerer = try Answerer()
        let result = await answerer.apply(fragment)
        guard case .failure(let refusal) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(refusal.code == .malformed)
        await answerer.close()
    }

    @Test func candidatesRestartNothing() async throws {
        let answerer = try Answerer()
        let own = await answerer.core.ifRunning { $0.path.localCredentials }
        let line = "a=candidate:1 1 udp 2130706431 127.0.0.1 9 typ host\r\n"
        for text in [line, "a=ice-ufrag:abcd\r\na=ice-pwd:\(String(repeating: "a", count: 22))\r\n" + line] {
            #expect(try await answerer.apply(text).get() == nil)
        }
        #expect(await answerer.core.ifRunning { $0.path.localCredentials } == own)
        await answerer.close()
    }

    @Test func newCredentialsRestartICEAndTheAnswerHasTheCandidates() async throws {
        let answerer = try Answerer()
        let before = await answerer.core.ifRunning { $0.path.localCredentials }
        let answer = try #require(try await answerer.restart("efgh").get())
        let fragment = try TrickleFragment.parse(answer.fragment)
        #expect(fragment.credentials?.usernameFragment == answer.etag && fragment.credentials != before)
        #expect(fragment.mid == "1" && fragment.endsCandidates)
        #expect(fragment.candidates.usable.map(\.address) == ["127.0.0.1"])
        // The next one is too early: nothing has come over the first one's pair.
        guard case .failure(let refusal) = try await answerer.restart("ijkl") else {
            Issue.record("a restart each some milliseconds")
            return
        }
        #expect(refusal.code == .busy)
        await answerer.close()
    }

    @Test func aClosedConnectionHasNoCandidates() async throws {
        let answerer = try Answerer()
        await answerer.core.performAndWait { $0.close($1) }
        let told = Monitor<[Bool]>([])
        await answerer.core.ifRunning { connection in
            connection.localCandidates(within: .seconds(1), wanted: nil) { found in
                told.change { $0.append(found.credentials != nil) }
            }
            connection.trickle { _ in told.change { $0.append(true) } }
            #expect(!connection.restart())
        }
        #expect(told.with { $0 } == [false])
        await answerer.loop.stop()
    }
}
