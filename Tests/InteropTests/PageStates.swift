import Admission
import BrowserControl
import MediaCore
import Signaling
import Testing

@testable import Identifiers

/// The states that the page shows to a viewer, in the order in which one sees them.
enum PageStates: String, CaseIterable {
    case asking, words, connecting, playing, comments, pointing, controlling, help, statistics, paused, blank, ended

    /// Brings the page into each state in turn.
    /// - Parameters:
    ///   - scheme: `light` or `dark`; nil: the browser's own.
    static func visit(
        _ kind: Browser.Kind, scheme: String?, name: String = "Ann",
        _ look: (Browser, PageStates) async throws -> Void
    ) async throws {
        let (gate, open) = AsyncStream<KnockDecision>.makeStream(bufferingPolicy: .bufferingNewest(1))
        var preferences: [String: String] = [:]
        if kind == .firefox, let scheme {
            preferences["layout.css.prefers-color-scheme.content-override"] = scheme == "dark" ? "0" : "1"
        }
        try await PageStage.with(
            configure: { $0.name = name }, decision: { _ in await gate.next() ?? .unanswered }
        ) { stage in
            try await Browser.with(kind, preferences: preferences) { browser in
                if kind == .chromium { try await browser.emulate(colorScheme: scheme) }
                try await browser.loopMediaBack(width: 960, picture: Self.picture)
                try await browser.setViewport(width: 960, height: 600)
                try await browser.open(stage.link.text)
                try await browser.waitForState("asking")
                try await look(browser, .asking)
                try await browser.click("watch")
                try await browser.waitForState("waiting")
                try await look(browser, .words)
                // The picture begins when it is told to.
                _ = try await browser.evaluate(
                    "void (window.holdPicture = new Promise(done => { window.showPicture = done; }))")
                open.yield(.accepted)
                try await browser.waitForState("connecting")
                try await look(browser, .connecting)
                _ = try await browser.evaluate("window.showPicture()")
                try await browser.waitForState("playing")
                try await visitPlaying(browser, stage, look)
            }
        }
    }

    /// A document with a title, lines and a chart, in flat colors.
    private static let picture = """
        context.fillStyle = "#ffffff";
        context.fillRect(0, 0, canvas.width, canvas.height);
        context.fillStyle = "#1f3a5f";
        context.fillRect(0, 0, canvas.width, 48);
        context.fillStyle = "#ffffff";
        context.font = "24px sans-serif";
        context.fillText("Quarterly report", 24, 33);
        context.fillStyle = "#303030";
        context.font = "20px sans-serif";
        for (let line = 1; line < 7; line++) context.fillText(`Total of region ${line}: ${line * 117}`, 40, 74 + 36 * line);
        context.fillStyle = "#3cb44b";
        for (let bar = 0; bar < 6; bar++) context.fillRect(480 + 72 * bar, 300 - 24 * bar, 48, 24 * bar + 40);
        """

    private static func visitPlaying(
        _ browser: Browser, _ stage: PageStage, _ look: (Browser, PageStates) async throws -> Void
    ) async throws {
        // The event stream is opened after the answer; earlier events are not delivered.
        try await InteropTests.PlayingPageTests().tellCount(3, stage, browser)
        let session = try #require(await stage.delegate.opened.next())
        stage.broadcast.send(
            .rights(GrantedRights(ViewerRights(comment: .yes, point: .no, control: .no))), to: [session])
        #expect(try await browser.has("yes", "document.documentElement.dataset.comment"))
        let showControls = "dispatchEvent(new KeyboardEvent('keydown', { key: 'Shift' }))"
        _ = try await browser.evaluate(showControls)
        stage.broadcast.send(.viewers(WatchingNames(["Ann", "Bob", "Cem"])))
        #expect(try await browser.has(false, "document.getElementById('watchers').hidden"))
        try await look(browser, .playing)

        for (name, text) in [
            ("Bob", "Can you scroll down a bit?"), (nil, "Of course."), ("Cem", "The second total is wrong."),
        ] {
            stage.broadcast.send(.comment(try #require(BroadcastComment(from: name, text))))
        }
        #expect(try await browser.has(3, "document.querySelectorAll('#comments li').length"))
        try await browser.click("comment")
        #expect(try await browser.has("line", "document.activeElement.id"))
        _ = try await browser.evaluate("(document.getElementById('watchers').open = true)")
        try await look(browser, .comments)
        _ = try await browser.evaluate("(document.getElementById('watchers').open = false)")
        _ = try await browser.evaluate("document.activeElement.blur()")
        _ = try await browser.evaluate("(document.getElementById('writing').hidden = true)")

        try await visitParticipating(browser, stage, session, look)
        _ = try await browser.evaluate(showControls)

        try await browser.click("keys")
        try await look(browser, .help)
        try await browser.click("close-help")

        try await browser.click("stats")
        #expect(try await browser.has(true, "document.getElementById('statistics').children.length > 5"))
        try await look(browser, .statistics)
        try await browser.click("stats")

        for (hold, state) in [(BroadcastHold.pause, PageStates.paused), (.blank, .blank)] {
            stage.broadcast.send(.held(hold))
            #expect(try await browser.has(false, "document.getElementById('notice').hidden"))
            _ = try await browser.evaluate(showControls)
            try await look(browser, state)
            stage.broadcast.send(.resumed)
            #expect(try await browser.has(true, "document.getElementById('notice').hidden"))
        }
        await stage.broadcast.end(reason: "the host has stopped sharing")
        try await browser.waitForState("ended")
        try await look(browser, .ended)
    }

    /// Others point at the picture, and this viewer controls the host's screen.
    private static func visitParticipating(
        _ browser: Browser, _ stage: PageStage, _ session: SessionID,
        _ look: (Browser, PageStates) async throws -> Void
    ) async throws {
        stage.broadcast.send(
            .rights(GrantedRights(ViewerRights(comment: .yes, point: .yes, control: .ask), pointer: 1)), to: [session])
        #expect(try await browser.has(false, "document.getElementById('point').hidden"))
        func point(_ x: Double, _ y: Double) -> PicturePoint { PicturePoint(horizontal: x, vertical: y) }
        var events = PointerEvents([])
        for (gesture, id, name) in [
            (PointerGesture(.draw, [point(0.04, 0.62), point(0.2, 0.64), point(0.38, 0.62)]), 2, "Bob"),
            (PointerGesture(.click, [point(0.75, 0.5)]), 3, "Cem"),
        ] { _ = events.add(gesture, of: id, named: name) }
        stage.broadcast.sendDroppable(.pointers(events))
        #expect(try await browser.has(2, "document.querySelectorAll('#pointers text').length"))
        try await look(browser, .pointing)
        let rights = ViewerRights(comment: .yes, point: .yes, control: .yes)
        stage.broadcast.send(.rights(GrantedRights(rights, grant: 1, pointer: 1)), to: [session])
        #expect(try await browser.has(false, "document.getElementById('control').hidden"))
        try await browser.click("control")
        #expect(try await browser.has("all", "document.documentElement.dataset.controlling"))
        try await look(browser, .controlling)
        try await browser.click("control")
        stage.broadcast.send(
            .rights(GrantedRights(ViewerRights(comment: .yes, point: .no, control: .no))), to: [session])
        #expect(try await browser.has(true, "document.getElementById('control').hidden"))
        #expect(try await browser.has(0, "document.querySelectorAll('#pointers text').length"))
    }
}
