import LinuxRuntime
import MediaCore
import PeerConnection
import Signaling
import Testing
import WaitSupport

@testable import Host
@testable import Identifiers
@testable import Viewer

/// What real viewers point at and control at a real host.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ViewerControlTests {
    private typealias Told = ViewerMessageTests.Told

    /// A host whose viewers control something.
    private final class Stage {
        let host: HostSession
        let link: Link
        let events: Monitor<[String]>
        let shown: Monitor<[PointerEvent]>
        /// Inputs, and "release" for each time that all was released.
        let inputs: Monitor<[String]>
        private var viewers: [(ViewerSession, Task<EndReason, Never>)] = []

        init(_ rights: ViewerRights) async throws {
            let (events, shown, inputs) = (Monitor<[String]>([]), Monitor<[PointerEvent]>([]), Monitor<[String]>([]))
            var policy = MessagePolicy(rights: rights) { _ in nil }
            policy.control = ControlTarget(
                apply: { input in inputs.change { $0.append("\(input)") } },
                releaseAll: { inputs.change { $0.append("release") } })
            policy.showPointers = { pointers in shown.change { $0 += pointers.pointers } }
            (host, link) = try await ViewerMessageTests.host(policy, events)
            (self.events, self.shown, self.inputs) = (events, shown, inputs)
        }

        func join(_ name: String) throws -> (ViewerSession, Monitor<ViewerMessageTests.Told>) {
            let told = Monitor(ViewerMessageTests.Told())
            let viewer = try ViewerMessageTests.viewer(link, name, told)
            viewers.append((viewer, Task { await viewer.run() }))
            return (viewer, told)
        }

        func session(_ name: String) async throws -> SessionID {
            try #require(await host.viewers().first { $0.description.name == name }).id
        }

        func end() async {
            for (viewer, _) in viewers { viewer.leave() }
            for (_, task) in viewers { _ = await task.value }
            await host.stop(EndReason(.stopped, "done"))
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

    @Test func pointersAreSeenByAllAndByTheHost() async throws {
        let stage = try await Stage(ViewerRights(comment: .no, point: .yes, control: .no))
        let (ann, annTold) = try stage.join("Ann")
        let (_, bobTold) = try stage.join("Bob")
        for told in [annTold, bobTold] { #expect(await waiting(told) { $0.granted.first?.pointer } != nil) }
        let place = PicturePoint(horizontal: 0.25, vertical: 0.5)
        try await send { ann.send(PointerGesture(.draw, [place, PicturePoint(x: 1, y: 2)])) }
        let number = await waiting(annTold) { $0.granted.first?.pointer }
        for seen in [annTold, bobTold] {
            let event = await waiting(seen) { $0.pointers.first }
            #expect(event?.from == "Ann" && event?.kind == .draw && event?.points.first == place && event?.id == number)
        }
        #expect(await waiting(stage.shown) { $0.first?.from } == "Ann")
        // Many moves are few events, and the last one says where the pointer is.
        for step in 0..<40 { _ = ann.send(PointerGesture(.move, [PicturePoint(x: UInt16(step), y: 0)])) }
        #expect(await waiting(bobTold) { $0.pointers.last?.points == [PicturePoint(x: 39, y: 0)] ? true : nil } == true)
        #expect(bobTold.with { $0.pointers.count } < 20, "\(bobTold.with { $0.pointers.count })")
        // Not any more.
        #expect(await stage.host.set(.point, to: .no, of: try stage.session("Ann")) == true)
        #expect(await waiting(annTold) { $0.granted.last?.pointer == nil ? true : nil } == true)
        #expect(!ann.send(PointerGesture(.leave)))
        await stage.end()
    }

    @Test func theHostGivesControlAndTakesItBack() async throws {
        let stage = try await Stage(ViewerRights(comment: .no, point: .no, control: .ask))
        let (ann, annTold) = try stage.join("Ann")
        let (bob, bobTold) = try stage.join("Bob")
        for told in [annTold, bobTold] { #expect(await waiting(told) { $0.granted.first } != nil) }
        #expect(!ann.send(ControlInput.wheel(horizontal: 0, vertical: 1)))
        #expect(await stage.host.set(.control, to: .yes, of: try stage.session("Ann")) == true)
        #expect(await waiting(bobTold) { $0.controllers.last ?? nil } == "Ann")
        let key = ControlInput.key(keysym: 0x61, isPressed: true)
        try await send { ann.send(key) }
        #expect(await waiting(stage.inputs) { $0.last == "\(key)" ? true : nil } == true)
        // While a question is open nothing passes, and what is held is released.
        stage.host.holdControl(true)
        #expect(stage.inputs.with { $0.last } == "release")
        let before = stage.inputs.with { $0.count }
        _ = ann.send(ControlInput.key(keysym: 0x79, isPressed: true))
        // The other viewer gets the control.
        #expect(await stage.host.set(.control, to: .yes, of: try stage.session("Bob")) == true)
        #expect(await waiting(annTold) { $0.granted.last?.grant == nil ? true : nil } == true)
        #expect(stage.inputs.with { Array($0.dropFirst(before)) } == ["release"])
        stage.host.holdControl(false)
        let click = ControlInput.button(1, isPressed: true)
        try await send { bob.send(click) }
        #expect(await waiting(stage.inputs) { $0.last == "\(click)" ? true : nil } == true)
        #expect(!ann.send(key))
        // A pause takes it back.
        await stage.host.pause()
        #expect(await waiting(bobTold) { $0.controllers.last == .some(nil) ? true : nil } == true)
        #expect(stage.inputs.with { $0.last } == "release")
        #expect(await !stage.host.takeControlBack())
        let ends = stage.events.with { $0.filter { !$0.hasSuffix("no") } }
        #expect(ends.count == 4 && ends[0] == "Ann controls 0 0" && ends[1].hasPrefix("Ann passed-on 1 "), "\(ends)")
        #expect(ends.last == "Bob held 1 0", "\(ends)")
        await stage.end()
    }

    @Test func whoLeavesControlsNothingAndHoldsNothing() async throws {
        let stage = try await Stage(ViewerRights(comment: .no, point: .no, control: .yes))
        let (ann, told) = try stage.join("Ann")
        #expect(await waiting(told) { $0.granted.first } != nil)
        // Without a question, as the host has said.
        try await ann.send(.ask(.control))
        #expect(await waiting(told) { $0.granted.last?.grant } == 1)
        try await send { ann.send(ControlInput.key(keysym: 0x61, isPressed: true)) }
        #expect(await waiting(stage.inputs) { $0.last?.hasPrefix("key") == true ? true : nil } == true)
        ann.leave()
        #expect(await waiting(stage.inputs) { $0.last == "release" ? true : nil } == true)
        #expect(await waiting(stage.events) { $0.last == "Ann lost 1 0" ? true : nil } == true)
        await stage.end()
    }
}
