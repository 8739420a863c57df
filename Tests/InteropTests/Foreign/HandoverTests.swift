import Admission
import BrowserControl
import Foundation
import Host
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import TestSource
import TestSupport
import Testing
import VPXCodec

extension InteropTests {
    /// A host sends its viewers to the relay while browsers watch (`share host --route auto`).
    @Suite struct HandoverTests {
        /// Records when the page shows frames.
        private static let recordFrames = """
            (() => {
                const video = document.getElementById("video");
                window.frameTimes = [];
                const note = now => { window.frameTimes.push(now); video.requestVideoFrameCallback(note); };
                video.requestVideoFrameCallback(note);
            })()
            """

        private struct Stage {
            let relay: Program
            let host: HostSession
            let link: Link
            let asked = Monitor(0)
            let left = Monitor(0)
            /// The comments, as the host gets them.
            let comments = Monitor<[String]>([])
            /// What viewers control and point at.
            let inputs = Monitor<[ControlInput]>([])
            let pointers = Monitor<[PointerEvent]>([])

            init(
                directViewers: Int, isRelayOnly: Bool = false, calmTime: MediaDuration = .seconds(60),
                rights: ViewerRights? = nil, in folder: TemporaryFolder
            ) async throws {
                relay = try Program(
                    Program.share(), ["relay", "--listen", "127.0.0.1:0", "--accept", "any", "--json"],
                    environment: ["XDG_DATA_HOME": folder.path, "TMPDIR": folder.path])
                let line = try await relay.line(.standard, within: .seconds(20)) { $0.contains("\"event\":\"link\"") }
                let place = try #require(try JSON(parsing: line)["link"].string)
                let identity = try Identity.ephemeral()
                let paired = try await ServicePairing(
                    link: try ServiceLink(parsing: place),
                    application: ApplicationInfo(id: "com.example.budget", name: "Budget"), identity: identity
                ).run { _ in [:] }
                var configuration = HostSession.Configuration(
                    listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil,
                    framesPerSecond: 30, maximumBitrate: .kilobits(4_000), contentHint: nil)
                configuration.tunnel = paired
                configuration.handover.directViewers = directViewers
                configuration.handover.isRelayOnly = isRelayOnly
                configuration.handover.calmTime = calmTime
                if let rights {
                    let (inputs, pointers) = (inputs, pointers)
                    var policy = MessagePolicy(rights: rights) { _ in true }
                    policy.control = ControlTarget(
                        apply: { input in inputs.change { $0.append(input) } }, releaseAll: {})
                    policy.showPointers = { events in pointers.change { $0 += events.pointers } }
                    configuration.viewers.messages = policy
                }
                let (asked, left, comments) = (asked, left, comments)
                host = try HostSession(
                    configuration: configuration, identity: identity, source: TestVideoSource(framesPerSecond: 30),
                    encoder: VP8Encoder(), audio: [],
                    decide: { _ in
                        asked.with { $0 += 1 }
                        return .accepted
                    },
                    emit: { event in
                        switch event {
                        case .viewerLeft: left.change { $0 += 1 }
                        case .comment(let comment, _): comments.change { $0.append(comment.text) }
                        default: break
                        }
                    })
                link = try await host.start()
            }

            /// Another viewer, beside the browser.
            /// - Parameter person: the name of the folder of its identity.
            func join(in folder: String, as person: String = "") throws -> Program {
                try Program(
                    Program.share(), ["join", "--headless", "--json"],
                    environment: ["XDG_DATA_HOME": folder + person, "TMPDIR": folder, "SHARE_LINK": link.text])
            }

            /// Those to whom the host itself sends.
            func served() async -> [ViewerSessionInfo] { await host.viewers().filter { !$0.isAtRelay } }

            /// Runs `body`, and ends both.
            func run(_ body: () async throws -> Void) async throws {
                defer { relay.kill() }
                do {
                    try await body()
                } catch {
                    await host.stop(EndReason(.stopped, "failed"))
                    throw error
                }
                await host.stop(EndReason(.stopped, "done"))
            }

            /// Waits until the host itself sends to a browser.
            func isWatchedByBrowser() async throws -> Bool {
                let deadline = ContinuousClock.now + .seconds(20)
                while ContinuousClock.now < deadline {
                    let kinds = await served().map(\.description.kind)
                    if kinds.contains(where: { $0 != "share" && $0 != "service" }) { return true }
                    try await Task.sleep(for: .milliseconds(50))
                }
                return false
            }

            /// Waits until so many viewers have left the host.
            func haveLeft(_ count: Int) -> Bool {
                left.wait(until: MonotonicClock.now + .seconds(30)) { $0 >= count ? true : nil } == true
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func aBrowserMovesToTheRelayWithoutAGap(kind: Browser.Kind) async throws {
            let folder = try TemporaryFolder()
            let stage = try await Stage(directViewers: 1, in: folder)
            try await stage.run {
                try await Browser.with(kind) { browser in
                    try await browser.watch(stage.link.text)
                    try await browser.waitForState("playing", within: .seconds(20))
                    _ = try await browser.look(until: "frames > 30")
                    _ = try await browser.evaluate(Self.recordFrames)
                    let other = try stage.join(in: folder.path)
                    defer { other.kill() }
                    // Both have left the host, which sends to the relay alone.
                    _ = try await stage.relay.line(.standard, within: .seconds(20)) {
                        $0.contains("\"event\":\"viewers\"") && $0.contains("\"viewers\":2")
                    }
                    let moved = try await browser.look(until: "frames > 60")
                    #expect(moved["isThere"] == true && moved["wasMarked"] == false, "\(moved.text)")
                    #expect(stage.haveLeft(2))
                    #expect(await stage.served().map(\.description.kind) == ["service"])
                    let gap = try await browser.evaluate(
                        "Math.max(...frameTimes.slice(1).map((time, i) => time - frameTimes[i]))")
                    #expect((gap.number ?? .infinity) < 700, "\(gap.text)")
                    #expect(stage.asked.with { $0 } == 2)
                    // The end comes over the relay.
                    await stage.host.stop(EndReason(.stopped, "done"))
                    let ended = try await browser.waitForState("ended", within: .seconds(20))
                    #expect(ended.sentence.contains("ended") || ended.sentence.contains("left"), "\(ended)")
                }
            }
        }

        /// Does something until a condition holds, for 20 s at most.
        private func repeating(
            _ action: () async throws -> Void, until holds: () async throws -> Bool
        ) async throws -> Bool {
            let deadline = ContinuousClock.now + .seconds(20)
            while ContinuousClock.now < deadline {
                if try await holds() { return true }
                try await action()
            }
            return try await holds()
        }

        /// The relay passes on what is written, and cannot read it. At the host first, and then at the relay.
        @Test(arguments: Browser.Kind.allCases)
        func aBrowserWritesOverTheRelay(kind: Browser.Kind) async throws {
            let folder = try TemporaryFolder()
            let stage = try await Stage(
                directViewers: 1, rights: ViewerRights(comment: .ask, point: .no, control: .no), in: folder)
            try await stage.run {
                try await Browser.with(kind) { browser in
                    func write(_ text: String) async throws {
                        _ = try await browser.evaluate(
                            "(document.getElementById('line').value = '\(text)', "
                                + "document.getElementById('writing').requestSubmit())")
                        #expect(
                            stage.comments.wait(until: MonotonicClock.now + .seconds(20)) {
                                $0.last == text ? true : nil
                            } == true)
                    }
                    let last = "document.getElementById('comments').lastChild.textContent"
                    try await browser.watch(stage.link.text)
                    try await browser.waitForState("playing", within: .seconds(20))
                    #expect(try await browser.has(false, "document.getElementById('comment').hidden"))
                    try await browser.click("comment")
                    #expect(try await browser.has("line", "document.activeElement.id"))
                    try await write("from home")
                    #expect(await stage.host.say("heard"))
                    #expect(try await browser.has("Host heard", last))
                    let other = try stage.join(in: folder.path)
                    defer { other.kill() }
                    _ = try await stage.relay.line(.standard, within: .seconds(20)) {
                        $0.contains("\"event\":\"viewers\"") && $0.contains("\"viewers\":2")
                    }
                    #expect(stage.haveLeft(2))
                    // Its right has come with it.
                    #expect(try await browser.has("yes", "document.documentElement.dataset.comment"))
                    try await write("from the relay")
                    // The page may not hear the relay yet.
                    let hears = try await repeating {
                        #expect(await stage.host.say("heard again"))
                    } until: {
                        try await browser.evaluate(last) == "Host heard again"
                    }
                    #expect(hears)
                    _ = try await other.line(.standard, within: .seconds(20)) { $0.contains("heard again") }
                }
            }
        }

        /// The relay alone sends, and it passes on what the browser does without reading it. An input says at which
        /// frame it aims, by the number that the host has given that (in browsers that tell which frame is shown).
        /// - Parameter isLocal: the page is that of `share join --browser`.
        @Test(arguments: Browser.Kind.allCases, [false, true])
        func aBrowserPointsAndControlsOverTheRelay(kind: Browser.Kind, isLocal: Bool) async throws {
            let folder = try TemporaryFolder()
            let stage = try await Stage(
                directViewers: 0, isRelayOnly: true, rights: ViewerRights(comment: .yes, point: .yes, control: .yes),
                in: folder)
            try await stage.run {
                let program = isLocal ? try Program.joiningInBrowser(stage.link, in: folder) : nil
                defer { program?.kill() }
                let address = try await program?.printedLink() ?? stage.link.text
                try await Browser.with(kind) { browser in
                    try await browser.watch(address)
                    try await browser.waitForState("playing", within: .seconds(20))
                    #expect(await stage.served().map(\.description.kind) == ["service"])
                    _ = try await browser.evaluate(
                        """
                        (() => {
                            const stringify = JSON.stringify;
                            window.aims = 0;
                            JSON.stringify = (...all) => {
                                const text = stringify(...all);
                                if (/"sealed":\\[\\d+,\\d+\\]/.test(text)) window.aims++;
                                return text;
                            };
                            return true;
                        })()
                        """)
                    #expect(try await browser.has(false, "document.getElementById('point').hidden"))
                    try await browser.click("point")
                    let frame = try await PictureFrame(browser)
                    // The socket may not be open yet, and what is not sent is lost.
                    #expect(
                        try await repeating {
                            try await browser.act([frame.point(0.25, 0.5), frame.point(0.26, 0.5)])
                        } until: {
                            stage.pointers.with { !$0.isEmpty }
                        })
                    // The page itself sees the ring when the host has told all viewers.
                    try await browser.act([frame.point(0.4, 0.5), .press(button: 0), .release(button: 0)])
                    #expect(try await browser.has(true, "document.querySelector('#pointers circle') !== null"))
                    try await browser.click("control")
                    #expect(try await browser.has("all", "document.documentElement.dataset.controlling"))
                    let key = ControlInput.key(keysym: 0x61, isPressed: true)
                    #expect(
                        try await repeating {
                            try await browser.act([.pressKey(.character("a")), .releaseKey(.character("a"))])
                        } until: {
                            stage.inputs.with { $0.contains(key) }
                        })
                    try await browser.act([frame.point(0.5, 0.5), .press(button: 2), .release(button: 2)])
                    let click = ControlInput.button(3, isPressed: false)
                    #expect(
                        stage.inputs.wait(until: MonotonicClock.now + .seconds(20)) {
                            $0.contains(click) ? true : nil
                        } == true)
                    if kind == .chromium { #expect(try await browser.has(true, "window.aims > 0")) }
                    try await browser.click("control")
                    _ = try await browser.evaluate(
                        "(document.getElementById('line').value = 'a line', "
                            + "document.getElementById('writing').requestSubmit())")
                    #expect(
                        stage.comments.wait(until: MonotonicClock.now + .seconds(20)) {
                            $0.last == "a line" ? true : nil
                        } == true)
                    #expect(try await browser.has("Control", "document.getElementById('control').textContent"))
                }
            }
        }

        /// The others leave, and the host serves the browser itself again.
        @Test(arguments: Browser.Kind.allCases)
        func aBrowserComesBackToTheHostWithoutAGap(kind: Browser.Kind) async throws {
            let folder = try TemporaryFolder()
            let stage = try await Stage(directViewers: 2, calmTime: .seconds(1), in: folder)
            try await stage.run {
                try await Browser.with(kind) { browser in
                    try await browser.watch(stage.link.text)
                    try await browser.waitForState("playing", within: .seconds(20))
                    // Two people: one who knocks twice at once takes the place of the first knock.
                    let others = try (0..<2).map { number in
                        try stage.join(in: folder.path, as: "/viewer-\(number)")
                    }
                    defer { for other in others { other.kill() } }
                    _ = try await stage.relay.line(.standard, within: .seconds(20)) {
                        $0.contains("\"event\":\"viewers\"") && $0.contains("\"viewers\":3")
                    }
                    #expect(stage.haveLeft(3))
                    _ = try await browser.look(until: "frames > 60")
                    _ = try await browser.evaluate(Self.recordFrames)
                    for other in others { other.interrupt() }
                    let isBack = try await stage.isWatchedByBrowser()
                    #expect(isBack)
                    // The publication ends when the browser is there.
                    _ = try await stage.relay.line(.standard, within: .seconds(20)) {
                        $0.contains("\"event\":\"closed\"")
                    }
                    let back = try await browser.look(until: "frames > 60")
                    #expect(back["isThere"] == true && back["wasMarked"] == false, "\(back.text)")
                    let gap = try await browser.evaluate(
                        "Math.max(...frameTimes.slice(1).map((time, i) => time - frameTimes[i]))")
                    #expect((gap.number ?? .infinity) < 700, "\(gap.text)")
                    #expect(stage.asked.with { $0 } == 3)
                }
            }
        }

        /// A browser that comes while the relay sends goes there at once, and comes back when the relay does not send
        /// any more. Nobody is asked again.
        @Test(arguments: Browser.Kind.allCases)
        func aBrowserComesBackToTheHost(kind: Browser.Kind) async throws {
            let folder = try TemporaryFolder()
            let stage = try await Stage(directViewers: 0, in: folder)
            try await stage.run {
                let first = try stage.join(in: folder.path)
                defer { first.kill() }
                #expect(stage.haveLeft(1))
                try await Browser.with(kind) { browser in
                    try await browser.watch(stage.link.text)
                    try await browser.waitForState("playing", within: .seconds(20))
                    _ = try await browser.look(until: "frames > 30")
                    let services = await stage.served()
                    #expect(services.map(\.description.kind) == ["service"])
                    let service = try #require(services.first)
                    await stage.host.remove(viewer: service.id)
                    let isBack = try await stage.isWatchedByBrowser()
                    #expect(isBack)
                    let back = try await browser.look(until: "frames > 30")
                    #expect(back["isThere"] == true && back["state"] == "playing", "\(back.text)")
                    #expect(stage.asked.with { $0 } == 2)
                }
            }
        }

        /// The relay alone sends (`--route relay`): a browser goes there at once, also after a reload, and again when
        /// the publication has ended. The host has been asked once.
        @Test(arguments: Browser.Kind.allCases)
        func aBrowserWatchesWhereTheRelayAloneSends(kind: Browser.Kind) async throws {
            let folder = try TemporaryFolder()
            let stage = try await Stage(directViewers: 0, isRelayOnly: true, in: folder)
            try await stage.run {
                try await Browser.with(kind) { browser in
                    func expectPlaying() async throws {
                        try await browser.waitForState("playing", within: .seconds(20))
                        let seen = try await browser.look(until: "frames > 30")
                        #expect(seen["isThere"] == true && seen["state"] == "playing", "\(seen.text)")
                        #expect(await stage.served().map(\.description.kind) == ["service"])
                        #expect(stage.asked.with { $0 } == 1)
                    }
                    try await browser.watch(stage.link.text)
                    try await expectPlaying()
                    try await browser.reload()
                    try await expectPlaying()
                    let service = try #require(await stage.served().first)
                    await stage.host.remove(viewer: service.id)
                    _ = try await stage.relay.line(.standard, within: .seconds(20)) {
                        $0.contains("\"event\":\"closed\"")
                    }
                    _ = try await stage.relay.line(.standard, within: .seconds(20)) {
                        $0.contains("\"event\":\"viewers\"") && $0.contains("\"viewers\":1")
                    }
                    try await expectPlaying()
                }
            }
        }

        /// `share join --browser`: the page and all its requests are this machine's, also those to the relay that alone
        /// sends. When the program ends, so does the session.
        @Test(arguments: Browser.Kind.allCases)
        func aBrowserWatchesWithThePageOfItsOwnMachine(kind: Browser.Kind) async throws {
            let folder = try TemporaryFolder()
            let stage = try await Stage(directViewers: 0, isRelayOnly: true, in: folder)
            try await stage.run {
                let program = try Program.joiningInBrowser(stage.link, in: folder)
                defer { program.kill() }
                let address = try await program.printedLink()
                try await Browser.with(kind) { browser in
                    try await browser.watch(address)
                    try await browser.waitForState("playing", within: .seconds(20))
                    let seen = try await browser.look(until: "frames > 30")
                    #expect(seen["isThere"] == true, "\(seen.text)")
                    #expect(
                        try await browser.evaluate("document.getElementById('live').textContent") == "Live, encrypted")
                    #expect(try await browser.evaluate("document.getElementById('name').value") == "Ann")
                    #expect(await stage.served().map(\.description.kind) == ["service"])
                    #expect(stage.asked.with { $0 } == 1)
                    let others = try await browser.evaluate(
                        """
                        performance.getEntriesByType("resource").map(entry => entry.name)
                            .filter(name => !name.startsWith(location.origin + "/")).join()
                        """)
                    #expect(others == "" && address.hasPrefix("http://127.0.0.1:"))
                    // The page that is loaded again is another viewer, and the program goes on.
                    try await browser.reload()
                    try await browser.waitForState("asking")
                    try await browser.click("watch")
                    try await browser.waitForState("playing", within: .seconds(20))
                    #expect(stage.asked.with { $0 } == 2)
                    program.interrupt()
                    let ended = try await browser.waitForState("ended", within: .seconds(20))
                    #expect(ended.sentence == "The program share has ended on this computer.", "\(ended)")
                    #expect(try await browser.evaluate("location.hash") == "")
                    _ = try await stage.relay.line(.standard, within: .seconds(20)) {
                        $0.contains("\"event\":\"viewers\"") && $0.contains("\"viewers\":0")
                    }
                }
                #expect(await program.exitCode() == 0)
            }
        }

        /// A viewer is removed, and the browser's picture goes on with the keys of the next epoch.
        @Test(arguments: Browser.Kind.allCases)
        func aBrowserGoesOnWithTheKeysOfTheNextEpoch(kind: Browser.Kind) async throws {
            let folder = try TemporaryFolder()
            let stage = try await Stage(directViewers: 0, isRelayOnly: true, in: folder)
            try await stage.run {
                try await Browser.with(kind) { browser in
                    try await browser.watch(stage.link.text)
                    try await browser.waitForState("playing", within: .seconds(20))
                    _ = try await browser.look(until: "frames > 30")
                    let other = try stage.join(in: folder.path)
                    defer { other.kill() }
                    _ = try await other.line(.standard, within: .seconds(20)) {
                        $0.contains("\"event\":\"first-picture\"")
                    }
                    let removed = try #require(await stage.host.viewers().first { $0.description.kind == "share" })
                    _ = try await browser.evaluate(Self.recordFrames)
                    #expect(await stage.host.remove(viewer: removed.id) == 1)
                    _ = try await other.line(.standard, within: .seconds(20)) { $0.contains("\"code\":\"removed\"") }
                    let seen = try await browser.look(until: "frames > 90")
                    #expect(seen["isThere"] == true && seen["wasMarked"] == false, "\(seen.text)")
                    let gap = try await browser.evaluate(
                        "Math.max(...frameTimes.slice(1).map((time, i) => time - frameTimes[i]))")
                    #expect((gap.number ?? .infinity) < 700, "\(gap.text)")
                }
            }
        }
    }
}
