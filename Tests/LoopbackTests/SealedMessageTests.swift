import HTTP
import LinuxRuntime
import MediaCore
import Signaling
import Testing
import WaitSupport

@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Relay
@testable import Viewer

/// What viewers say to a host behind a relay: all of them read it, and the relay does not.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct SealedMessageTests {
    private typealias Stage = RelayHandoverTests.Stage
    private typealias Watching = RelayHandoverTests.Watching

    private func stage(
        directViewers: Int?, isRelayOnly: Bool = false, isSealed: Bool = true, comment: RightState = .ask
    ) async throws -> Stage {
        let policy = MessagePolicy(rights: ViewerRights(comment: comment, point: .no, control: .no)) { _ in true }
        return try await Stage(
            directViewers: directViewers, isRelayOnly: isRelayOnly, messages: policy, isSealed: isSealed)
    }

    /// Waits until a viewer has been told something.
    private func isTold(_ viewer: Watching, _ find: @escaping @Sendable (HostEvent) -> Bool) async -> Bool {
        await waiting(viewer.events) { events in
            events.contains { if case .hostEvent(let event) = $0 { find(event) } else { false } } ? true : nil
        } ?? false
    }

    private func reads(_ text: String, from name: String?, _ viewer: Watching) async -> Bool {
        await isTold(viewer) { event in
            if case .comment(let comment) = event { comment.text == text && comment.from == name } else { false }
        }
    }

    private func has(_ right: RightState, _ viewer: Watching) async -> Bool {
        await isTold(viewer) { if case .rights(let granted) = $0 { granted.rights.comment == right } else { false } }
    }

    /// The events as they pass the relay, on another stream of a viewer.
    private func tap(_ viewer: Watching) async throws -> (Monitor<[HostEvent]>, Task<Void, any Error>) {
        let seen = Monitor<[HostEvent]>([])
        let events = try await #require(viewer.session.present).client().events()
        return (seen, Task { for try await event in events { seen.change { $0.append(event) } } })
    }

    /// - Returns: whether the relay has passed sealed events, and none that it can read.
    private func isSealed(_ seen: Monitor<[HostEvent]>) async -> Bool {
        let hasSealed = await waiting(seen) { events in
            events.contains { if case .sealed = $0 { true } else { false } } ? true : nil
        }
        return hasSealed == true && seen.with { events in events.allSatisfy { !$0.isSealable } }
    }

    private func converse(_ one: Watching, _ two: Watching, _ stage: Stage) async throws {
        for viewer in [one, two] { #expect(await has(.ask, viewer)) }
        let (seen, tapping) = try await tap(two)
        await #expect(throws: SignalingError.self) { try await one.session.send(.comment("Too early")) }
        try await one.session.send(.ask(.comment))
        #expect(await has(.yes, one))
        let mayWrite = two.events.with { events in
            events.contains { event in
                guard case .hostEvent(.rights(let granted)) = event else { return false }
                return granted.rights.comment == .yes
            }
        }
        #expect(!mayWrite)
        try await one.session.send(.comment("Hello all"))
        for viewer in [one, two] { #expect(await reads("Hello all", from: "Ann", viewer)) }
        #expect(await stage.host.say("Welcome"))
        for viewer in [one, two] { #expect(await reads("Welcome", from: nil, viewer)) }
        let heard = stage.hostEvents.with { events in
            events.compactMap {
                if case .comment(let comment, let who) = $0 { "\(who?.name ?? "host"): \(comment.text)" } else { nil }
            }
        }
        #expect(heard == ["Ann: Hello all", "host: Welcome"])
        #expect(await isSealed(seen))
        tapping.cancel()
    }

    /// `--route relay`.
    @Test func viewersAtTheRelayReadWhatOneOfThemWrites() async throws {
        let stage = try await stage(directViewers: 0, isRelayOnly: true)
        #expect(await stage.isRouted(overRelay: true))
        let (one, two) = (try Watching(stage.link, name: "Ann"), try Watching(stage.link, name: "Bob"))
        for viewer in [one, two] { #expect(await viewer.seesMore()) }
        try await converse(one, two, stage)

        // The host's user sees the right, and takes it back.
        let ann = try #require(await stage.host.viewers().first { $0.description.name == "Ann" })
        #expect(ann.isAtRelay && ann.rights?.comment == .yes)
        #expect(await stage.host.set(.comment, to: .no, of: ann.id) == true)
        #expect(await has(.no, one))
        await #expect(throws: SignalingError.self) { try await one.session.send(.comment("Still here")) }

        // What the relay makes up is not read.
        let made = try #require(BroadcastComment(from: nil, "I am the host"))
        let broadcast = try #require(stage.relay.streams.broadcasts.first)
        broadcast.send(.comment(made))
        broadcast.send(.sealed(.box("AAAA")))
        broadcast.send(.sealed(.frame("AAAA")))
        #expect(await stage.host.say("Goodbye"))
        #expect(await reads("Goodbye", from: nil, two))
        let isFooled = two.events.with { events in
            events.contains { if case .hostEvent(.comment(made)) = $0 { true } else { false } }
        }
        #expect(!isFooled)

        // Who was removed says nothing more.
        #expect(await stage.host.remove(viewer: ann.id) == 1)
        _ = await one.end.value
        await #expect(throws: SignalingError.self) { try await one.session.send(.comment("Hello?")) }
        await stage.stop()
    }

    /// `--route auto`, before and after the host sends its viewers to the relay.
    @Test func theRightsOfAViewerGoWithItToTheRelay() async throws {
        let stage = try await stage(directViewers: 1, comment: .yes)
        let one = try Watching(stage.link, name: "Ann")
        #expect(await one.seesMore())
        #expect(await has(.yes, one))
        let (seen, tapping) = try await tap(one)
        try await one.session.send(.comment("Here"))
        #expect(await reads("Here", from: "Ann", one))
        #expect(await isSealed(seen))
        tapping.cancel()
        let two = try Watching(stage.link, name: "Bob")
        #expect(await stage.isRouted(overRelay: true))
        for viewer in [one, two] { #expect(await viewer.isConnected(times: 2)) }
        #expect(await has(.yes, two))
        try await two.session.send(.comment("There"))
        for viewer in [one, two] { #expect(await reads("There", from: "Bob", viewer)) }
        await stage.stop()
    }

    /// `--route direct`: the relay passes requests and events on, and no media.
    @Test func viewersWhomTheHostSendsToItselfReadWhatOneOfThemWrites() async throws {
        let stage = try await stage(directViewers: nil)
        let (one, two) = (try Watching(stage.link, name: "Ann"), try Watching(stage.link, name: "Bob"))
        for viewer in [one, two] { #expect(await viewer.seesMore()) }
        try await converse(one, two, stage)
        // In clear, or again, nothing is taken.
        let client = try #require(two.session.present).client()
        let refusal = await #expect(throws: SignalingError.self) { try await client.send([.ask(.comment)]) }
        #expect(refusal?.description.contains("a relay could read this") == true, "\(String(describing: refusal))")
        await stage.stop()
    }

    /// `--relay-may-watch`.
    @Test func whereTheRelayMayWatchNothingIsTaken() async throws {
        let stage = try await stage(directViewers: 4, isSealed: false)
        let viewer = try Watching(stage.link, name: "Ann")
        #expect(await viewer.seesMore())
        let refusal = await #expect(throws: SignalingError.self) { try await viewer.session.send(.ask(.comment)) }
        #expect(refusal?.description.contains("takes no messages") == true, "\(String(describing: refusal))")
        await stage.stop()
    }
}
