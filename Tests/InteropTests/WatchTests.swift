import Foundation
import MediaCore
import TestSource
import Testing

extension InteropTests {
    /// Browsers that watch a real `share host`.
    @Suite struct WatchTests {
        @Test(arguments: Browser.Kind.allCases)
        func pictureAndSoundArrive(kind: Browser.Kind) async throws {
            try await ShareHost.with { host in
                try await Browser.with(kind) { browser in
                    try await browser.recordPeers()
                    try await browser.open(host.link)
                    try await browser.waitForState("playing", within: .seconds(20))
                    try await expectMovingPattern(browser)
                    let sound = try await browser.inbound(
                        "audio", until: "entry.totalAudioEnergy > 0.0001 && entry.packetsReceived > 20")
                    #expect((sound["totalSamplesReceived"].number ?? 0) > 0)
                    let video = try await browser.inbound("video", until: "entry.framesDecoded >= 20")
                    #expect((video["keyFramesDecoded"].number ?? 1) <= 3, "\(video.text)")
                    _ = try await host.event("connected")
                }
                let left = try await host.event("viewer-left", within: .seconds(8))
                #expect(left["viewers"] == 0)
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func aHostThatStopsIsToldAboutWithinFiveSeconds(kind: Browser.Kind) async throws {
            try await ShareHost.with { host in
                try await Browser.with(kind) { browser in
                    try await browser.open(host.link)
                    try await browser.waitForState("playing", within: .seconds(20))
                    host.interrupt()
                    let ended = try await browser.waitForState("ended", within: .seconds(5))
                    #expect(!ended.sentence.isEmpty)
                    #expect(await host.exitCode() == 0)
                }
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func aHostThatDiesIsNoticedWithinFiveSeconds(kind: Browser.Kind) async throws {
            try await ShareHost.with { host in
                try await Browser.with(kind) { browser in
                    try await browser.open(host.link)
                    try await browser.waitForState("playing", within: .seconds(20))
                    host.kill()
                    // That nothing comes is said; that it is over, only where the browser can tell a refusal from an outage.
                    let isSaid = try await browser.evaluate(
                        """
                        new Promise(done => {
                            const root = document.documentElement;
                            const look = isLate => {
                                const isSaid = root.dataset.outage !== undefined || root.dataset.state === "ended";
                                if (isSaid || isLate) done(isSaid);
                            };
                            new MutationObserver(() => look(false)).observe(root, { attributes: true });
                            setTimeout(() => look(true), 5000);
                            look(false);
                        })
                        """, within: .seconds(15))
                    #expect(isSaid == true)
                }
            }
        }

        @Test func twoBrowsersWatchAtOnceAndOneLeaves() async throws {
            try await ShareHost.with { host in
                try await Browser.with(.firefox) { firefox in
                    try await firefox.recordPeers()
                    try await firefox.open(host.link)
                    try await firefox.waitForState("playing", within: .seconds(20))
                    try await Browser.with(.chromium) { chromium in
                        try await chromium.open(host.link)
                        try await chromium.waitForState("playing", within: .seconds(20))
                        try await chromium.click("leave")
                        #expect(try await chromium.waitForState("ended").sentence == "You have left.")
                    }
                    let left = try await host.event("viewer-left", within: .seconds(5))
                    #expect(left["viewers"] == 1)
                    try await expectMovingPattern(firefox)
                }
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func watchingAgainAfterLeavingWorks(kind: Browser.Kind) async throws {
            try await ShareHost.with { host in
                try await Browser.with(kind) { browser in
                    try await browser.recordPeers()
                    try await browser.open(host.link)
                    try await browser.waitForState("playing", within: .seconds(20))
                    try await browser.click("leave")
                    try await browser.waitForState("ended")
                    try await browser.click("watch")
                    _ = try await browser.inbound("video", until: "entry.framesDecoded > 2")
                    try await browser.waitForState("playing", within: .seconds(20))
                }
            }
        }

        /// The test picture in its colours, and its counter going up.
        private func expectMovingPattern(_ browser: Browser) async throws {
            let first = try await browser.pattern()
            #expect(first.size == TestPicture.defaultSize)
            #expect(first.colourError <= 48, "\(first.corners)")
            let frame = try #require(first.frame)
            for _ in 0..<10 {
                let next = try #require(try await browser.pattern().frame)
                if next != frame { return #expect(next > frame && next < frame + 300) }
            }
            Issue.record("the picture stands still at \(frame)")
        }
    }
}
