import HTTP
import TestSupport
import Testing

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Relay
@testable import Signaling
@testable import Viewer

/// Where a session goes on, as relays and hosts name it: this machine, only if it was named here. `127.1` is resolved
/// as a name is, so that it stands for a host elsewhere that can be reached in a test.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct NamedPlaceTests {
    typealias Relay = RelaySessionTests.Relay

    private func link(_ host: String, _ port: Int) -> Link {
        Link(
            host: host, port: port, id: .random(), secret: Link.randomSecret(),
            fingerprint: [UInt8](repeating: 7, count: 32))
    }

    private func viewer(_ link: Link) throws -> ViewerSession {
        ViewerSession(
            link: link, identity: try .ephemeral(), name: "Ann", sink: playback(RecordedOutput(), speaker: nil),
            emit: { _ in })
    }

    private func failure(_ session: ViewerSession, at link: Link) async throws -> SignalingError.Code? {
        let client = try session.makeClient(link)
        let error = await #expect(throws: SignalingError.self) { _ = try await client.pageStatus() }
        await client.close()
        return error?.code
    }

    @Test func aViewerIsNotSentToItsOwnMachineByAHostElsewhere() async throws {
        let port = try ConnectionCounter()
        let user = link("127.1", port.port)
        let session = try viewer(user)
        // Its user has named this one.
        #expect(try await failure(session, at: user) != .unreachable)
        #expect(port.count == 1)
        session.noteNamer(user)
        for host in ["127.0.0.1", "localhost", "127.1"] {
            #expect(try await failure(session, at: link(host, port.port)) == .unreachable)
        }
        #expect(port.count == 1)
        // The way back is the user's.
        #expect(try await failure(session, at: user) != .unreachable)
        #expect(port.count == 2)
    }

    @Test func aViewerOfThisMachineGoesOnHereUntilItWasElsewhere() async throws {
        let port = try ConnectionCounter()
        let session = try viewer(link("127.0.0.1", port.port))
        session.noteNamer(link("127.0.0.1", port.port))
        #expect(try await failure(session, at: link("localhost", port.port)) != .unreachable)
        #expect(port.count == 1)
        session.noteNamer(link("203.0.113.5", 443))
        #expect(try await failure(session, at: link("localhost", port.port)) == .unreachable)
        #expect(port.count == 1)
    }

    @Test(arguments: [("127.1", 0), ("127.0.0.1", 1)])
    func aHostDoesNotPublishToItsOwnMachineBecauseARelayElsewhereSaysSo(_ host: String, _ count: Int) async throws {
        let relay = try await Relay()
        let known = ServiceLink(
            host: host, port: relay.link.port, id: relay.link.id, fingerprint: relay.link.fingerprint)
        let paired = try await ServicePairing(
            link: known, application: ApplicationInfo(id: "com.example.budget", name: "Budget"),
            identity: .ephemeral()
        ).run { _ in [:] }
        let port = try ConnectionCounter()
        let named = ServiceLink(
            host: "127.0.0.1", port: port.port, id: relay.link.id, fingerprint: [UInt8](repeating: 7, count: 32))
        await #expect(throws: PairingFailure.self) { _ = try await paired.pairing(at: named, resuming: .random()) }
        #expect(port.count == count)
        await paired.close()
        await relay.session.stop()
    }
}
