import BrowserControl
import LinuxRuntime
import MediaCore
import Signaling
import TestSource
import Testing
import VPXCodec
import WaitSupport

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Viewer

extension InteropTests {
    /// Pages that point at the picture of a host, and that control it.
    @Suite struct InteractionPageTests {
        /// The second page shows the first one's arrow with its name, its ring and its line; the host gets them too.
        @Test(arguments: Browser.Kind.allCases)
        func whatOneViewerPointsAtTheOtherOneSees(kind: Browser.Kind) async throws {
            try await InteractionStage.with(ViewerRights(comment: .no, point: .yes, control: .no)) { stage in
                try await Browser.with(kind) { ann in
                    try await Browser.with(kind) { bob in
                        try await stage.watch(ann, "Ann <b>Lee</b>")
                        try await stage.watch(bob, "Bob")
                        try await Self.recordPointers(bob)
                        #expect(try await ann.has(false, "document.getElementById('point').hidden"))
                        try await ann.click("point")
                        #expect(try await ann.evaluate("'pointing' in document.documentElement.dataset") == true)
                        let frame = try await stage.frame(ann)
                        let (start, end) = (frame.point(0.25, 0.5), frame.point(0.75, 0.25))
                        // The socket may not be open yet, and what is not sent is lost.
                        #expect(
                            try await stage.repeating({ try await ann.act([start, frame.point(0.26, 0.5)]) }) {
                                stage.pointers.with { !$0.isEmpty }
                            })
                        try await ann.act([start, .press(button: 0), .release(button: 0)])
                        #expect(try await bob.has(true, "window.seen.rings > 0"))
                        try await ann.act([
                            start, .press(button: 0), frame.point(0.5, 0.2), end, .release(button: 0),
                        ])
                        #expect(try await bob.has(true, "window.seen.lines > 0"))
                        #expect(try await bob.evaluate("window.seen.name") == "Ann <b>Lee</b>")
                        #expect(try await bob.evaluate("document.querySelectorAll('#pointers b').length") == 0)
                        // The arrow's tip is where the mouse is at last.
                        let isThere = try await stage.frame(bob).isNear("window.seen.places.at(-1)", 0.75, 0.25)
                        #expect(try await bob.has(true, isThere))
                        let drawn = stage.pointers.with { $0.filter { $0.kind == .draw }.flatMap(\.points) }
                        #expect(drawn.first.map { abs(Int($0.x) - 65_535 / 4) < 700 } == true, "\(drawn)")
                        #expect(drawn.last.map { abs(Int($0.x) - 65_535 * 3 / 4) < 700 } == true, "\(drawn)")
                        #expect(stage.pointers.with { $0.contains { $0.kind == .click } })
                        // Its own line is shown on the first page as well, without an arrow.
                        #expect(try await ann.evaluate("document.querySelectorAll('#pointers text').length") == 0)
                        try await ann.click("point")
                        #expect(await waiting(stage.pointers) { $0.last?.kind == .leave ? true : nil } == true)
                    }
                }
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func keysButtonsAndTheWheelControlTheHost(kind: Browser.Kind) async throws {
            try await InteractionStage.with(ViewerRights(comment: .no, point: .no, control: .yes)) { stage in
                try await Browser.with(kind) { ann in
                    try await stage.watch(ann, "Ann")
                    try await stage.beginControl(ann)
                    let frame = try await stage.frame(ann)
                    try await ann.act([frame.point(0.5, 0.5), .press(button: 2), .release(button: 2)])
                    #expect(await stage.hasInputs([.button(3, isPressed: true), .button(3, isPressed: false)]))
                    let move = stage.inputs.with { $0.first { if case .move = $0 { true } else { false } } }
                    guard case .move(let point)? = move else { throw Browser.Failure(description: "no move") }
                    #expect(abs(Int(point.x) - 32_768) < 100 && abs(Int(point.y) - 32_768) < 100, "\(point)")
                    try await ann.act([.scroll(down: 240)])
                    #expect(await stage.hasInputs([.wheel(horizontal: 0, vertical: 2)]))
                    // Release of A has the keysym of its press, though Shift is up. Keys of the page's own do nothing.
                    try await ann.act([
                        .pressKey(.shift), .pressKey(.character("A")), .releaseKey(.shift),
                        .releaseKey(.character("A")),
                        .pressKey(.character("s")), .releaseKey(.character("s")), .pressKey(.enter),
                        .releaseKey(.enter),
                    ])
                    #expect(
                        await stage.hasInputs([
                            .key(keysym: 0xffe1, isPressed: true), .key(keysym: 0x41, isPressed: true),
                            .key(keysym: 0xffe1, isPressed: false), .key(keysym: 0x41, isPressed: false),
                            .key(keysym: 0x73, isPressed: true), .key(keysym: 0x73, isPressed: false),
                            .key(keysym: 0xff0d, isPressed: true), .key(keysym: 0xff0d, isPressed: false),
                        ]), "\(stage.inputs.with { $0 })")
                    #expect(try await ann.evaluate("document.getElementById('statistics').hidden") == true)
                    if kind == .chromium {
                        try await ann.act([.insert("ß€")])
                        #expect(
                            await stage.hasInputs([
                                .key(keysym: 0xdf, isPressed: true), .key(keysym: 0xdf, isPressed: false),
                                .key(keysym: 0x0100_20ac, isPressed: true), .key(keysym: 0x0100_20ac, isPressed: false),
                            ]))
                    }
                    // What is held when the window is left is released.
                    try await ann.act([.pressKey(.character("x"))])
                    #expect(await stage.hasInputs([.key(keysym: 0x78, isPressed: true)]))
                    _ = try await ann.evaluate("dispatchEvent(new Event('blur'))")
                    #expect(await stage.hasInputs([.key(keysym: 0x78, isPressed: false)]))
                    try await ann.act([.releaseKey(.character("x"))])
                    #expect(stage.dropped() == 0)
                }
            }
        }

        /// Real touch events, which Chromium's protocol has.
        @Test func twoFingersTurnTheHostsWheelAndAPinchZoomsThePage() async throws {
            try await InteractionStage.with(ViewerRights(comment: .no, point: .no, control: .yes)) { stage in
                try await Browser.with(.chromium) { ann in
                    try await ann.emulate(touch: true)
                    try await stage.watch(ann, "Ann")
                    try await stage.beginControl(ann)
                    let transform = "document.getElementById('video').style.transform"
                    try await ann.touch(from: [(500, 500), (700, 500)], to: [(500, 200), (700, 200)])
                    let turned = await waiting(stage.inputs) { inputs -> Bool? in
                        let notches = inputs.reduce(0) {
                            if case .wheel(_, let vertical) = $1 { $0 + Int(vertical) } else { $0 }
                        }
                        return notches >= 3 ? true : nil
                    }
                    #expect(turned == true, "\(stage.inputs.with { $0 })")
                    #expect(try await ann.evaluate(transform) == "")
                    stage.inputs.change { $0 = [] }
                    try await ann.touch(from: [(550, 360), (650, 360)], to: [(400, 360), (800, 360)])
                    #expect(try await ann.has(true, "\(transform).includes('scale(')"))
                    #expect(
                        stage.inputs.with { inputs in
                            inputs.allSatisfy { if case .move = $0 { true } else { false } }
                        })
                }
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func oneKeyGivesTheKeyboardBackAndTheButtonTheControl(kind: Browser.Kind) async throws {
            try await InteractionStage.with(ViewerRights(comment: .no, point: .no, control: .yes)) { stage in
                try await Browser.with(kind) { ann in
                    try await Browser.with(kind) { bob in
                        try await stage.watch(bob, "Bob")
                        try await stage.watch(ann, "Ann")
                        try await stage.beginControl(ann)
                        let line = "document.getElementById('controller').textContent"
                        #expect(try await bob.has("Ann controls this screen.", line))
                        #expect(
                            try await ann.evaluate(line)
                                == "You control this screen. Right Ctrl gives the keyboard back.")
                        try await bob.click("control")
                        let said = "document.getElementById('comments').textContent.includes('another viewer controls')"
                        #expect(try await bob.has(true, said.replacing("another", with: "Another")))
                        try await ann.act([.pressKey(.rightControl), .releaseKey(.rightControl)])
                        #expect(try await ann.has("pointer", "document.documentElement.dataset.controlling"))
                        // The key is the page's again.
                        try await ann.act([.pressKey(.character("s")), .releaseKey(.character("s"))])
                        #expect(try await ann.has(false, "document.getElementById('statistics').hidden"))
                        let frame = try await stage.frame(ann)
                        try await ann.act([frame.point(0.5, 0.5), .press(button: 0), .release(button: 0)])
                        #expect(try await ann.has("all", "document.documentElement.dataset.controlling"))
                        #expect(stage.inputs.with { !$0.contains(.key(keysym: 0x73, isPressed: true)) })
                        try await ann.click("control")
                        #expect(await waiting(stage.ends) { $0.first } == .released)
                        #expect(try await bob.has("", line))
                        #expect(try await ann.has("Control", "document.getElementById('control').textContent"))
                        // Nothing goes there any more, and Bob can have it.
                        try await bob.click("control")
                        #expect(try await bob.has("all", "document.documentElement.dataset.controlling"))
                        #expect(try await ann.has("Bob controls this screen.", line))
                    }
                }
            }
        }

        /// Keeps what the page's layer shows, as it may be gone when it is looked for.
        private static func recordPointers(_ browser: Browser) async throws {
            _ = try await browser.evaluate(
                """
                (() => {
                    const seen = window.seen = { rings: 0, lines: 0, name: "", places: [] };
                    new MutationObserver(() => {
                        const layer = document.getElementById("pointers");
                        seen.rings += layer.querySelectorAll("circle").length;
                        seen.lines += layer.querySelectorAll("path[stroke-linecap]").length;
                        for (const arrow of layer.querySelectorAll("g > g")) {
                            seen.name = arrow.querySelector("text").textContent;
                            seen.places.push(arrow.getAttribute("transform").match(/[\\d.]+/g).map(Number));
                        }
                    }).observe(document.getElementById("pointers"), { childList: true });
                    return true;
                })()
                """)
        }
    }
}

/// A host in this process whose screen is the test pattern, and what its viewers do with it.
private struct InteractionStage: Sendable {
    let host: HostSession
    let link: Link
    let pointers: Monitor<[PointerEvent]>
    let inputs: Monitor<[ControlInput]>
    let ends: Monitor<[ControlEnd]>
    private let drops: Monitor<Int>

    static func with(_ rights: ViewerRights, _ body: (InteractionStage) async throws -> Void) async throws {
        let (pointers, inputs) = (Monitor<[PointerEvent]>([]), Monitor<[ControlInput]>([]))
        let (ends, drops) = (Monitor<[ControlEnd]>([]), Monitor(0))
        var configuration = HostSession.Configuration(
            listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 15,
            maximumBitrate: .kilobits(2_000), contentHint: nil)
        var policy = MessagePolicy(rights: rights) { _ in true }
        policy.control = ControlTarget(apply: { input in inputs.change { $0.append(input) } }, releaseAll: {})
        policy.showPointers = { events in pointers.change { $0 += events.pointers } }
        configuration.viewers.messages = policy
        let host = try HostSession(
            configuration: configuration, identity: try .ephemeral(), source: TestVideoSource(framesPerSecond: 15),
            encoder: VP8Encoder(), audio: [], decide: { _ in .accepted },
            emit: { event in
                guard case .controlChanged(let change) = event, let end = change.end else { return }
                drops.change { $0 += change.dropped }
                ends.change { $0.append(end) }
            })
        let stage = InteractionStage(
            host: host, link: try await host.start(), pointers: pointers, inputs: inputs, ends: ends, drops: drops)
        do { try await body(stage) } catch { Issue.record(error) }
        await host.stop(EndReason(.stopped, "done"))
    }

    func dropped() -> Int { drops.with { $0 } }

    func watch(_ browser: Browser, _ name: String) async throws {
        try await browser.open(link.text)
        _ = try await browser.evaluate("(document.getElementById('name').value = '\(name)', true)")
        try await browser.click("watch")
        try await browser.waitForState("playing", within: .seconds(20))
    }

    func frame(_ browser: Browser) async throws -> PictureFrame { try await PictureFrame(browser) }

    /// Asks for the control, and waits until inputs arrive.
    func beginControl(_ browser: Browser) async throws {
        #expect(try await browser.has(false, "document.getElementById('control').hidden"))
        try await browser.click("control")
        #expect(try await browser.has("all", "document.documentElement.dataset.controlling"))
        let frame = try await frame(browser)
        let isHeard = try await repeating({ try await browser.act([frame.point(0.4, 0.4), frame.point(0.5, 0.5)]) }) {
            inputs.with { !$0.isEmpty }
        }
        #expect(isHeard)
        inputs.change { $0 = [] }
    }

    /// Does something until a condition holds, for 20 s at most.
    func repeating(_ action: () async throws -> Void, until holds: () -> Bool) async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            try await action()
            if holds() { return true }
        }
        return holds()
    }

    /// Whether these come, among others, in this order.
    func hasInputs(_ expected: [ControlInput]) async -> Bool {
        await waiting(inputs) { inputs in
            var rest = expected[...]
            for input in inputs where input == rest.first { rest = rest.dropFirst() }
            return rest.isEmpty ? true : nil
        } ?? false
    }
}
