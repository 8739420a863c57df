import Admission
import BrowserControl
import Signaling
import Testing

@testable import Identifiers

extension InteropTests {
    /// The page during playback, with media that the browser sends to itself.
    @Suite struct PlayingPageTests {
        @Test(arguments: Browser.Kind.allCases)
        func itPlaysCountsMutesAndLeaves(kind: Browser.Kind) async throws {
            try await playing(kind) { browser, stage in
                #expect(
                    try await browser.evaluate("getComputedStyle(document.getElementById('panel')).display") == "none")
                #expect(try await browser.evaluate("document.getElementById('video').videoWidth") == 320)
                #expect(
                    try await browser.evaluate("document.getElementById('video').srcObject.getAudioTracks().length")
                        == 1)
                #expect(try await browser.evaluate("document.getElementById('microphone').srcObject !== null") == true)

                // The event stream is opened after the answer; earlier events are not delivered.
                try await tellCount(3, stage, browser)
                #expect(try await browser.evaluate("document.getElementById('count').textContent") == "3 watching")

                #expect(try await browser.has([false, false], Self.isSilent))
                try await browser.click("mute")
                #expect(try await browser.has([true, true], Self.isSilent))
                _ = try await browser.evaluate("dispatchEvent(new KeyboardEvent('keydown', { key: 'M' }))")
                #expect(try await browser.has([false, false], Self.isSilent))

                try await browser.click("leave")
                #expect(try await browser.waitForState("ended").sentence == "You have left.")
                #expect(await stage.delegate.closed.next() != nil)
                #expect(try await browser.has(.null, "document.getElementById('video').srcObject"))
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func aHostWhoseMediaEndsIsMissed(kind: Browser.Kind) async throws {
            try await playing(kind) { browser, stage in
                _ = try await browser.evaluate("window.host.close()")
                await stage.server.stop()
                try await browser.waitForState("ended", within: .seconds(20))
            }
        }

        /// The reason arrives on another connection than the media.
        @Test(arguments: Browser.Kind.allCases)
        func aReasonThatArrivesAfterTheMediaHasEndedIsShown(kind: Browser.Kind) async throws {
            try await playing(kind) { browser, stage in
                try await tellCount(2, stage, browser)
                _ = try await browser.evaluate(
                    """
                    new Promise(done => {
                        const transport = window.peers[0].getReceivers()[0].transport;
                        transport.addEventListener("statechange", () => done(transport.state));
                        window.host.close();
                    })
                    """)
                await stage.broadcast.end(reason: "the host went for lunch")
                #expect(try await browser.waitForState("ended").sentence == "The host went for lunch.")
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func withoutAGestureThePictureComesFirstAndTheSoundWithAClick(kind: Browser.Kind) async throws {
            try await playing(kind, preload: Self.refusing(unless: "this.muted || window.mayPlay")) { browser, _ in
                #expect(try await browser.has([true, true], Self.isSilent))
                #expect(try await browser.has(false, Self.isUnmuteHidden))
                _ = try await browser.evaluate("window.mayPlay = true")
                try await browser.click("unmute")
                #expect(try await browser.has([false, false], Self.isSilent))
                #expect(try await browser.has(true, Self.isUnmuteHidden))
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func aBrowserThatPlaysNothingUnaskedIsAskedForAClick(kind: Browser.Kind) async throws {
            try await playing(kind, preload: Self.refusing(unless: "window.mayPlay")) { browser, _ in
                #expect(try await browser.has(false, Self.isUnmuteHidden))
                #expect(try await browser.evaluate("document.getElementById('unmute').textContent") == "Click to play")
                _ = try await browser.evaluate("window.mayPlay = true")
                try await browser.click("unmute")
                #expect(try await browser.has(true, Self.isUnmuteHidden))
            }
        }

        /// The video is paused, as Safari does after full screen.
        @Test(arguments: Browser.Kind.allCases)
        func aPausedPictureGoesOn(kind: Browser.Kind) async throws {
            try await playing(kind) { browser, _ in
                let goesOn = try await browser.evaluate(
                    """
                    new Promise(done => {
                        const video = document.getElementById("video");
                        video.addEventListener("playing", () => done(!video.paused), { once: true });
                        setTimeout(() => done(false), 20000);
                        video.pause();
                    })
                    """)
                #expect(goesOn == true)
            }
        }

        /// A telephone turns its display off where nobody touches it.
        @Test(arguments: Browser.Kind.allCases)
        func theDisplayStaysOnUntilTheViewerLeaves(kind: Browser.Kind) async throws {
            let recording = """
                window.locks = [];
                const { wakeLock } = navigator, request = wakeLock.request.bind(wakeLock);
                wakeLock.request = async kind => {
                    const lock = await request(kind);
                    window.locks.push(lock);
                    return lock;
                };
                """
            try await playing(kind, preload: recording) { browser, _ in
                #expect(try await browser.has(true, "window.locks.length === 1 && !window.locks[0].released"))
                try await browser.click("leave")
                try await browser.waitForState("ended")
                #expect(try await browser.has(true, "window.locks.length === 1 && window.locks[0].released"))
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func onAPhoneEveryButtonIsInReach(kind: Browser.Kind) async throws {
            try await playing(kind) { browser, stage in
                try await browser.setViewport(width: 360, height: 640)
                try await tellCount(12, stage, browser)
                let outside = try await browser.evaluate(
                    """
                    [...document.querySelectorAll("#bar > *")].filter(item => {
                        const box = item.getBoundingClientRect();
                        return box.left < 0 || box.top < 0 || box.right > innerWidth || box.bottom > innerHeight;
                    }).map(item => item.textContent)
                    """)
                #expect(try await browser.evaluate("innerWidth") == 360)
                #expect(outside == [])
            }
        }

        /// Focus by a pointer does not keep the bar visible; focus by the keyboard does.
        @Test(arguments: Browser.Kind.allCases)
        func theBarIsLeftByThePointerAlone(kind: Browser.Kind) async throws {
            try await playing(kind) { browser, _ in
                let focused = try await browser.evaluate(
                    """
                    [0, 1].map(detail => {
                        const button = document.getElementById("stats");
                        button.focus();
                        button.dispatchEvent(new MouseEvent("click", { bubbles: true, detail }));
                        return document.activeElement === button;
                    })
                    """)
                #expect(focused == [true, false])
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func itPlaysAgainAfterLeaving(kind: Browser.Kind) async throws {
            try await playing(kind) { browser, _ in
                try await browser.click("leave")
                try await browser.waitForState("ended")
                try await browser.click("watch")
                try await browser.waitForState("playing")
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func theStatisticsComeAndGo(kind: Browser.Kind) async throws {
            try await playing(kind) { browser, _ in
                #expect(try await browser.has(true, Self.isStatisticsHidden))
                _ = try await browser.evaluate("dispatchEvent(new KeyboardEvent('keydown', { key: 's' }))")
                // The second report contains rates, and some values come later.
                let words = ["320 x 180", "fps", "round trip", "packet loss", "bandwidth", "jitter buffer", "direct"]
                let text = try await browser.evaluate(
                    """
                    new Promise(done => {
                        const panel = document.getElementById("statistics");
                        const words = \(JSON.array(words.map { .string($0) }).text);
                        const isWhole = () => words.every(word => panel.innerText.includes(word));
                        const look = () => /\\d+ fps/.test(panel.textContent) && isWhole() && done(panel.innerText);
                        new MutationObserver(look).observe(panel, { subtree: true, childList: true });
                        look();
                        setTimeout(() => done(panel.innerText), 20000);
                    })
                    """)
                for word in words { #expect(text.string?.contains(word) == true, "\(word) in \(text)") }
                try await browser.click("stats")
                #expect(try await browser.has(true, Self.isStatisticsHidden))
            }
        }

        /// A fragment of another ICE session is ignored.
        @Test(arguments: Browser.Kind.allCases)
        func candidatesThatTheHostFindsLateAreTaken(kind: Browser.Kind) async throws {
            try await PageStage.with { stage in
                try await Browser.with(kind) { browser in
                    try await browser.preload(
                        """
                        window.late = [];
                        const take = RTCPeerConnection.prototype.addIceCandidate;
                        RTCPeerConnection.prototype.addIceCandidate = async function (candidate) {
                            await take.call(this, candidate);
                            window.late.push(candidate.candidate);
                            document.documentElement.dataset.late = window.late.length;
                        };
                        """)
                    try await browser.watch(stage.link.text)
                    let session = try #require(await stage.delegate.opened.next())
                    let candidate = "candidate:7 1 udp 16777215 127.0.0.1 9 typ relay raddr 127.0.0.1 rport 9"
                    let fragment = "a=ice-pwd:passwordpasswordpasswd\r\nm=video 9 UDP/TLS/RTP/SAVPF 0\r\n"
                    stage.broadcast.send(
                        .candidates(fragment: "a=ice-ufrag:else\r\n\(fragment)a=\(candidate)0\r\n"), to: [session])
                    stage.broadcast.send(
                        .candidates(fragment: "a=ice-ufrag:host\r\n\(fragment)a=\(candidate)\r\n"), to: [session])
                    let taken = try await browser.evaluate(
                        """
                        new Promise(done => {
                            const root = document.documentElement;
                            const look = () => root.dataset.late && done(window.late);
                            new MutationObserver(look).observe(root, { attributes: true });
                            look();
                            setTimeout(() => done(window.late), 20000);
                        })
                        """)
                    #expect(taken == [.string(candidate)])
                }
            }
        }

        private static let isStatisticsHidden = "document.getElementById('statistics').hidden"
        private static let isUnmuteHidden = "document.getElementById('unmute').hidden"
        private static let isSilent = "['video', 'microphone'].map(id => document.getElementById(id).muted)"

        /// Simulates a browser that plays nothing without a gesture, unless `condition` holds.
        private static func refusing(unless condition: String) -> String {
            """
            const play = HTMLMediaElement.prototype.play;
            HTMLMediaElement.prototype.play = function () {
                return \(condition) ? play.call(this) : Promise.reject(new DOMException("", "NotAllowedError"));
            };
            """
        }

        func playing(
            _ kind: Browser.Kind, preload: String? = nil, _ body: (Browser, PageStage) async throws -> Void
        ) async throws {
            try await PageStage.with { stage in
                try await Browser.with(kind) { browser in
                    try await browser.recordPeers()
                    try await browser.loopMediaBack()
                    if let preload { try await browser.preload(preload) }
                    try await browser.watch(stage.link.text)
                    try await browser.waitForState("playing")
                    try await body(browser, stage)
                }
            }
        }

        func tellCount(_ count: Int, _ stage: PageStage, _ browser: Browser) async throws {
            let seen = """
                new Promise(done => {
                    if (document.documentElement.dataset.viewers) return done(true);
                    const watcher = new MutationObserver(() => { watcher.disconnect(); done(true); });
                    watcher.observe(document.documentElement, { attributeFilter: ["data-viewers"] });
                    setTimeout(() => done(document.documentElement.dataset.viewers !== undefined), 300);
                })
                """
            for _ in 0..<60 {
                stage.broadcast.send(.viewerCount(count))
                if try await browser.evaluate(seen) == true { return }
            }
            Issue.record("the page was not told how many watch")
        }
    }
}
