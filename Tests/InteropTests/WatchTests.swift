import BrowserControl
import Foundation
import Testing

extension InteropTests {
    /// Browsers that watch a real `share host`.
    @Suite struct WatchTests {
        @Test(arguments: Browser.Kind.allCases)
        func pictureAndSoundArrive(kind: Browser.Kind) async throws {
            try await ShareHost.with { host in
                try await Browser.with(kind) { browser in
                    try await browser.recordPeers()
                    try await browser.watch(host.link)
                    try await browser.waitForState("playing", within: .seconds(20))
                    try await browser.expectMovingPattern()
                    let sound = try await browser.inbound(
                        "audio", until: "entry.totalAudioEnergy > 0.0001 && entry.packetsReceived > 20")
                    #expect((sound["totalSamplesReceived"].number ?? 0) > 0)
                    #expect(try await browser.evaluate("document.getElementById('mute').hidden") == false)
                    let video = try await browser.inbound(
                        "video", until: "entry.framesDecoded >= 200", within: .seconds(20))
                    #expect((video["keyFramesDecoded"].number ?? 100) <= 5, "\(video.text)")
                    _ = try await host.event("connected")
                }
                let left = try await host.event("viewer-left", within: .seconds(20))
                #expect(left["viewers"] == 0)
            }
        }

        /// The broadcast is one without sound.
        @Test func aHostThatStopsIsToldAbout() async {
            await withEachBrowser { kind in
                try await ShareHost.with(["--audio", "none"]) { host in
                    try await Browser.with(kind) { browser in
                        try await browser.watch(host.link)
                        try await browser.waitForState("playing", within: .seconds(20))
                        // There is no sound to mute.
                        #expect(try await browser.evaluate("document.getElementById('mute').hidden") == true)
                        host.interrupt()
                        let ended = try await browser.waitForState("ended", within: .seconds(20))
                        #expect(ended.sentence == "The host ended the broadcast.", "\(ended)")
                        #expect(await host.exitCode() == 0)
                    }
                }
            }
        }

        @Test func aPauseIsSaidOverTheLastFrameAndARemovalInItsPlace() async {
            await withEachBrowser { kind in
                try await ShareHost.with { host in
                    try await Browser.with(kind) { browser in
                        try await browser.watch(host.link)
                        try await browser.waitForState("playing", within: .seconds(20))
                        #expect(try await host.control("pause") == 0)
                        let paused = try await browser.look(until: "words.includes('paused')")
                        #expect(paused["words"] == "The host has paused the broadcast.", "\(paused.text)")
                        // Longer than the silence that would be an outage.
                        let later = try await browser.look(until: "isMarked || words === ''", limitSeconds: 6)
                        #expect(later["isThere"] == false && later["state"] == "playing", "\(later.text)")
                        #expect(try await host.control("resume") == 0)
                        let resumed = try await browser.look(until: "words === '' && frames > 10")
                        #expect(resumed["isThere"] == true, "\(resumed.text)")
                        #expect(try await host.control("remove", "1") == 0)
                        let removed = try await browser.waitForState("refused", within: .seconds(20))
                        #expect(removed.sentence == "The host removed you.", "\(removed)")
                    }
                }
            }
        }

        @Test func aHostThatDiesIsNoticedLongBeforeItsSilenceIs() async {
            await withEachBrowser { kind in
                try await ShareHost.with { host in
                    try await Browser.with(kind) { browser in
                        try await browser.watch(host.link)
                        try await browser.waitForState("playing", within: .seconds(20))
                        host.kill()
                        let ended = try await browser.waitForState("ended", within: .seconds(20))
                        #expect(ended.sentence.hasPrefix("The host has gone"), "\(ended)")
                    }
                }
            }
        }

        /// A stopped host looks like an outage: its port still accepts connections, but nothing answers.
        @Test func anOutageIsShownAndPassesWithoutAnotherKnock() async {
            await withEachBrowser { kind in
                try await ShareHost.with { host in
                    try await Browser.with(kind) { browser in
                        try await browser.recordPeers()
                        try await browser.watch(host.link)
                        try await browser.waitForState("playing", within: .seconds(20))
                        _ = try await browser.inbound("video", until: "entry.framesDecoded >= 20")

                        host.suspend()
                        let dim = try await browser.look(until: "look.seconds >= 5", limitSeconds: 20)
                        host.resume()
                        #expect(dim["isThere"] == true, "\(dim.text)")
                        #expect(dim["state"] == "playing")
                        #expect(dim["filter"].string?.hasPrefix("brightness(0.") == true, "\(dim.text)")
                        #expect(dim["words"].string?.hasPrefix("Connection lost, trying again") == true, "\(dim.text)")

                        let bright = try await browser.look(
                            until: "look.frames >= 10 && !look.isMarked", limitSeconds: 15)
                        #expect(bright["isThere"] == true, "\(bright.text)")
                        #expect(bright["words"] == "")
                        #expect(bright["filter"] == "none")
                        try await browser.expectMovingPattern()

                        // The connection lasts, so both sides agree on the pair: a side that did not would be silent
                        // again after 3 s.
                        let later = try await browser.look(until: "look.isMarked", limitSeconds: 6)
                        #expect(later["isThere"] == false, "\(later.text)")
                        #expect(later["state"] == "playing")
                        #expect(host.count("knock") == 1)
                    }
                }
            }
        }

        @Test func twoBrowsersWatchAtOnceAndOneLeaves() async throws {
            try await ShareHost.with { host in
                try await Browser.with(.firefox) { firefox in
                    try await firefox.recordPeers()
                    try await firefox.watch(host.link)
                    try await firefox.waitForState("playing", within: .seconds(20))
                    try await Browser.with(.chromium) { chromium in
                        try await chromium.watch(host.link)
                        try await chromium.waitForState("playing", within: .seconds(20))
                        try await chromium.click("leave")
                        #expect(try await chromium.waitForState("ended").sentence == "You have left.")
                    }
                    let left = try await host.event("viewer-left", within: .seconds(20))
                    #expect(left["viewers"] == 1)
                    try await firefox.expectMovingPattern()
                }
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func watchingAgainAfterLeavingWorks(kind: Browser.Kind) async throws {
            try await ShareHost.with { host in
                try await Browser.with(kind) { browser in
                    try await browser.recordPeers()
                    try await browser.watch(host.link)
                    try await browser.waitForState("playing", within: .seconds(20))
                    try await browser.click("leave")
                    try await browser.waitForState("ended")
                    try await browser.click("watch")
                    _ = try await browser.inbound("video", until: "entry.framesDecoded > 2")
                    try await browser.waitForState("playing", within: .seconds(20))
                }
            }
        }
    }
}
