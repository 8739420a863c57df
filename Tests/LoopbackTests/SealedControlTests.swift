import HTTP
import LinuxRuntime
import MediaCore
import Signaling
import Testing
import WaitSupport

@testable import Host
@testable import Identifiers
@testable import PeerConnection
@testable import Viewer

/// What viewers point at and control where a relay passes on what they do, and neither reads, makes up nor repeats it.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct SealedControlTests {
    private typealias Watching = RelayHandoverTests.Watching

    private struct Stage {
        let relayed: RelayHandoverTests.Stage
        /// Inputs, and "release" for each time that all was released.
        let inputs = Monitor<[String]>([])
        let shown = Monitor<[PointerEvent]>([])
        let ann: Watching
        let bob: Watching

        init(directViewers: Int?, isRelayOnly: Bool = false) async throws {
            let (inputs, shown) = (inputs, shown)
            var policy = MessagePolicy(rights: ViewerRights(comment: .no, point: .yes, control: .ask)) { _ in true }
            policy.control = ControlTarget(
                apply: { input in inputs.change { $0.append("\(input)") } },
                releaseAll: { inputs.change { $0.append("release") } })
            policy.showPointers = { pointers in shown.change { $0 += pointers.pointers } }
            relayed = try await RelayHandoverTests.Stage(
                directViewers: directViewers, isRelayOnly: isRelayOnly, messages: policy)
            if isRelayOnly { #expect(await relayed.isRouted(overRelay: true)) }
            (ann, bob) = (try Watching(relayed.link, name: "Ann"), try Watching(relayed.link, name: "Bob"))
            for viewer in [ann, bob] { #expect(await viewer.seesMore()) }
        }

        func grant(_ viewer: Watching) async throws -> Int {
            try await viewer.session.send(.ask(.control))
            return try #require(
                await told(viewer) { if case .rights(let granted) = $0 { granted.grant } else { nil } })
        }
    }

    /// Waits until a viewer has been told something.
    private static func told<Value: Sendable>(
        _ viewer: Watching, _ find: @escaping @Sendable (HostEvent) -> Value?
    ) async -> Value? {
        await waiting(viewer.events) { events in
            events.lazy.compactMap { if case .hostEvent(let event) = $0 { find(event) } else { nil } }.last
        }
    }

    /// Sends until it can be sent: the socket is being opened.
    private func send(_ body: @Sendable () -> Bool) async throws {
        let end = MonotonicClock.now + .seconds(20)
        while !body() {
            try #require(MonotonicClock.now < end, "the socket does not open")
            await Task.yield()
        }
    }

    private func pointAndControl(_ stage: Stage) async throws {
        let place = PicturePoint(horizontal: 0.25, vertical: 0.5)
        try await send { stage.ann.session.send(PointerGesture(.draw, [place, PicturePoint(x: 1, y: 2)])) }
        for viewer in [stage.ann, stage.bob] {
            let event = await Self.told(viewer) { event in
                if case .pointers(let events) = event { events.pointers.first { $0.kind == .draw } } else { nil }
            }
            #expect(event?.from == "Ann" && event?.points.first == place, "\(String(describing: event))")
        }
        #expect(await waiting(stage.shown) { $0.first?.from } == "Ann")
        // Many moves are few events, and the last one says where the pointer is.
        for step in 0..<40 { _ = stage.ann.session.send(PointerGesture(.move, [PicturePoint(x: UInt16(step), y: 0)])) }
        let last = await Self.told(stage.bob) { event in
            guard case .pointers(let events) = event else { return Bool?.none }
            return events.pointers.contains { $0.points.last == PicturePoint(x: 39, y: 0) } ? true : nil
        }
        #expect(last == true)

        #expect(try await stage.grant(stage.ann) == 1)
        let key = ControlInput.key(keysym: 0x61, isPressed: true)
        try await send { stage.ann.session.send(key) }
        #expect(await waiting(stage.inputs) { $0.last == "\(key)" ? true : nil } == true)
        let controller = await Self.told(stage.bob) { event in
            if case .controller(let controller) = event { controller.by } else { nil }
        }
        #expect(controller == "Ann")
        // Bob may not.
        #expect(!stage.bob.session.send(key))
        #expect(await stage.relayed.host.takeControlBack())
        #expect(stage.inputs.with { $0.last } == "release")
        let isOver = await waiting(stage.ann.events) { events in
            events.contains { event in
                guard case .hostEvent(.rights(let granted)) = event else { return false }
                return granted.rights.control == .ask && granted.grant == nil
            } ? true : nil
        }
        #expect(isOver == true)
    }

    /// `--route direct`: the relay passes requests, texts and events on, and no media.
    @Test func viewersWhomTheHostSendsToItselfPointAndControl() async throws {
        let stage = try await Stage(directViewers: nil)
        try await pointAndControl(stage)
        await stage.relayed.stop()
    }

    /// `--route relay`.
    @Test func viewersAtTheRelayPointAndControl() async throws {
        let stage = try await Stage(directViewers: 0, isRelayOnly: true)
        try await pointAndControl(stage)
        await stage.relayed.stop()
    }

    @Test func whatARelayRepeatsOrMakesUpIsNotTaken() async throws {
        let stage = try await Stage(directViewers: 0, isRelayOnly: true)
        let session = stage.ann.session
        let grant = try await stage.grant(stage.ann)
        func text(_ count: Int, _ keysym: UInt32, sealed: SealedFrameID? = nil) throws -> String {
            let input = AimedInput(
                grant: grant, count: count, time: MonotonicClock.now.nanoseconds / 1_000_000, frame: nil,
                sealed: sealed, input: .key(keysym: keysym, isPressed: true))
            return try #require(session.socketText(of: [.input(input)]))
        }
        // The test is the relay, and the session's own socket says nothing meanwhile.
        session.channel.close()
        let opened = try await session.openMessages()
        // Higher counts than those of the session.
        let (first, second, third) = (try text(1_000, 0x61), try text(1_001, 0x62), try text(1_002, 0x63))
        var answers = opened.socket.messages.makeAsyncIterator()
        func refusal(_ text: String) async -> String {
            opened.socket.send(text)
            guard case .text(let answer)? = await answers.next() else { return "closed" }
            return answer
        }
        opened.socket.send(second)
        let passed = "\(ControlInput.key(keysym: 0x62, isPressed: true))"
        #expect(await waiting(stage.inputs) { $0.last == passed ? true : nil } == true)
        // Repeated, or after a later one.
        #expect(await refusal(second).contains("this message came before"))
        #expect(await refusal(first).contains("this message came before"))
        // Made up: in clear, changed, or moved here from a request.
        #expect(
            await refusal(#"{"messages":[{"type":"release","right":"control"}]}"#).contains(
                "what the viewer has encrypted"))
        let changed = third.replacing(#"":"A"#, with: #"":"B"#)
        #expect(await refusal(changed == third ? String(third.dropLast(3)) + #"A"}"# : changed).contains("encrypted"))
        // A frame that this host has never sent, or that another one replaced long ago.
        opened.socket.send(try text(1_003, 0x64, sealed: SealedFrameID(keyID: 9, counter: 1 << 40)))
        opened.socket.send(try text(1_004, 0x65))
        let last = "\(ControlInput.key(keysym: 0x65, isPressed: true))"
        #expect(await waiting(stage.inputs) { $0.last == last ? true : nil } == true)
        #expect(stage.inputs.with { inputs in !inputs.contains { $0.contains("100") && $0.contains("key") } })
        // A socket that closes releases what the viewer holds.
        opened.socket.close(.normal)
        #expect(await waiting(stage.inputs) { $0.last == "release" ? true : nil } == true)
        await opened.close()
        await stage.relayed.stop()
    }
}
