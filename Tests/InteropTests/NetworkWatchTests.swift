import BrowserControl
import Foundation
import NetworkBed
import Testing

extension InteropTests {
    /// A browser watches a real `share host` over an emulated network, which is interrupted or changes. The last frame
    /// stays visible, marked. The video resumes after the network's return, without a new question to the host.
    @Suite struct NetworkWatchTests {
        /// A browser and a host with an emulated link and a router between them.
        private struct Street {
            static let host = "10.9.2.2"
            let bed: NetworkBed
            let viewerNode: NetworkNode
            let router: NetworkNode
            let hostNode: NetworkNode
            let link: EmulatedLink
            let conditions = LinkConditions(kilobits: 20_000, delayMilliseconds: 20)

            init() throws {
                bed = try NetworkBed()
                viewerNode = try bed.node()
                router = try bed.node()
                hostNode = try bed.node()
                link = try bed.link(
                    viewerNode, "10.9.1.2/24", router, "10.9.1.1/24", interface: "wlan0", conditions: conditions)
                // The address would become usable a second later, which browsers take for a change of the network.
                try viewerNode.run("ip -6 addr flush dev wlan0")
                try bed.wire(router, "10.9.2.1/24", hostNode, "\(Self.host)/24", interface: "eth0")
                try router.forward()
                try viewerNode.run("ip route add default via 10.9.1.1")
                try hostNode.run("ip route add default via 10.9.2.1")
            }

            /// Changes the network as from Wi-Fi to mobile: the old address disappears with all its connections.
            func readdress(_ address: String) throws {
                try viewerNode.run("ip addr flush dev wlan0")
                try viewerNode.run("ip addr add \(address)/24 dev wlan0")
                try viewerNode.run("ip route add default via 10.9.1.1")
            }

            func setDown(_ isDown: Bool) throws {
                var conditions = conditions
                conditions.isDown = isDown
                try link.set(conditions)
            }

            /// Drops media, but not HTTPS.
            func dropUDP() throws {
                for rule in [
                    "add table inet cut",
                    "add chain inet cut everything { type filter hook prerouting priority -400; }",
                    "add rule inet cut everything meta l4proto udp drop",
                ] {
                    try router.run("nft \(rule)")
                }
            }

            func passUDP() throws { try router.run("nft delete table inet cut") }
        }

        /// Watches until the video moves.
        private func watching(
            _ kind: Browser.Kind, preload: String? = nil, _ body: (Street, ShareHost, Browser) async throws -> Void
        ) async throws {
            let street = try Street()
            try await ShareHost.with(listen: "\(Street.host):8443", in: street.hostNode) { host in
                try await Browser.with(kind, in: street.viewerNode) { browser in
                    try await browser.recordPeers()
                    if let preload { try await browser.preload(preload) }
                    try await browser.watch(host.link)
                    try await browser.waitForState("playing", within: .seconds(20))
                    _ = try await browser.inbound("video", until: "entry.framesDecoded >= 20")
                    try await body(street, host, browser)
                }
            }
        }

        private func expectMark(_ browser: Browser, within seconds: Int = 15) async throws {
            let dim = try await browser.look(until: "look.isMarked", limitSeconds: seconds)
            #expect(dim["isThere"] == true && dim["state"] == "playing", "\(dim.text)")
            #expect(dim["words"].string?.hasPrefix("Connection lost, trying again") == true, "\(dim.text)")
        }

        private func expectReturn(_ browser: Browser, _ host: ShareHost) async throws {
            let bright = try await browser.look(
                until: "look.frames >= 5 && !look.isMarked && !look.isStill", limitSeconds: 15)
            #expect(bright["isThere"] == true, "\(bright.text)")
            #expect(bright["words"] == "" && bright["filter"] == "none", "\(bright.text)")
            try await browser.expectMovingPattern()
            // The new path lasts: both sides agree on it.
            let later = try await browser.look(until: "look.isMarked", limitSeconds: 6)
            #expect(later["isThere"] == false && later["state"] == "playing", "\(later.text)")
            #expect(host.count("knock") == 1, "somebody was asked again")
        }

        /// Video packets are duplicated unrequested on the RTX stream. Audio packets repeat older ones if the browser
        /// has offered that (RFC 2198), as Chromium does.
        @Test(arguments: Browser.Kind.allCases)
        func lossIsHardlySeenOrHeard(kind: Browser.Kind) async throws {
            try await watching(kind) { street, host, browser in
                let good = try await browser.inbound("audio", until: "entry.packetsReceived > 100")
                var conditions = street.conditions
                conditions.lossPercent = 8
                try street.link.set(conditions)
                // Until the host has detected the loss.
                let begin = try await browser.inbound("audio", until: "entry.packetsLost > 8", within: .seconds(20))
                let first = try await browser.inbound("video", until: "true")
                // 8 s of audio.
                func later(_ from: JSON) async throws -> JSON {
                    let packets = (from["packetsReceived"].number ?? 0) + 400
                    return try await browser.inbound(
                        "audio", until: "entry.packetsReceived >= \(Int(packets))", within: .seconds(20))
                }
                let end = try await later(begin)
                let last = try await browser.inbound("video", until: "true")

                func grown(_ field: String, _ from: JSON, _ to: JSON) -> Double {
                    (to[field].number ?? 0) - (from[field].number ?? 0)
                }
                // At least 8 s of 30 frames each.
                #expect(grown("framesDecoded", first, last) > 120, "\(last.text)")
                #expect(grown("keyFramesDecoded", first, last) <= 4, "\(last.text)")
                try await browser.expectMovingPattern()
                if kind == .chromium {
                    let size = (good["bytesReceived"].number ?? 0) / (good["packetsReceived"].number ?? 1)
                    let carried = grown("bytesReceived", begin, end) / grown("packetsReceived", begin, end)
                    #expect(carried > 1.5 * size, "\(end.text)")
                    // A suspended machine conceals audio, too: one good interval of three is enough.
                    func silent(_ from: JSON, _ to: JSON) -> Double {
                        grown("concealedSamples", from, to) / grown("totalSamplesReceived", from, to)
                    }
                    var (from, to) = (begin, end)
                    for _ in 0..<2 where silent(from, to) >= 0.04 { (from, to) = (to, try await later(to)) }
                    #expect(silent(from, to) < 0.04, "\(to.text)")
                }
                #expect(host.count("connected") == 1)
            }
        }

        @Test func anotherAddressOfTheViewerIsFoundAndAgain() async {
            await withEachBrowser { kind in
                try await watching(kind) { street, host, browser in
                    for address in ["10.9.1.7", "10.9.1.8"] {
                        try street.readdress(address)
                        // The page is not marked if the host has followed it within 3 s.
                        let bright = try await browser.look(
                            until: "look.frames >= 5 && (look.wasMarked || look.milliseconds > 4500)", limitSeconds: 15)
                        #expect(bright["isThere"] == true, "\(bright.text)")
                        try await expectReturn(browser, host)
                    }
                    #expect(host.count("connected") == 1, "another session, where a restart of ICE would have done")
                }
            }
        }

        @Test func anOutageOfTwentySecondsIsSurvived() async {
            await withEachBrowser { kind in
                try await watching(kind) { street, host, browser in
                    try street.setDown(true)
                    let dim = try await browser.look(until: "look.seconds >= 19", limitSeconds: 24)
                    #expect(
                        dim["isThere"] == true && dim["isMarked"] == true && dim["state"] == "playing", "\(dim.text)")
                    try street.setDown(false)
                    try await expectReturn(browser, host)
                }
            }
        }

        /// The host runs, but has given the session up: the page opens another with its token.
        @Test func aSessionThatIsGoneIsReplacedByAnother() async {
            await withEachBrowser { kind in
                try await watching(kind, preload: Self.noting) { street, host, browser in
                    try street.dropUDP()
                    try await expectMark(browser)
                    _ = try await browser.evaluate("window.giveUp()")
                    _ = try await host.event("viewer-left")
                    let still = try await browser.look(until: "look.isStill")
                    #expect(still["isThere"] == true && still["isMarked"] == true, "\(still.text)")
                    try street.passUDP()
                    try await expectReturn(browser, host)
                    #expect(host.count("connected") == 2)
                }
            }
        }

        /// The responses of a server that does not support restarts, or whose restart leads to no pair.
        @Test(arguments: ["412", "elsewhere"])
        func aRestartThatIsRefusedOrLeadsNowhereIsFollowedByAnotherSession(answer: String) async {
            await withEachBrowser { kind in
                try await watching(kind, preload: Self.noting + "window.restarts = '\(answer)';") {
                    street, host, browser in
                    try street.dropUDP()
                    let still = try await browser.look(until: "look.isStill", limitSeconds: 20)
                    #expect(still["isThere"] == true && still["isMarked"] == true, "\(still.text)")
                    try street.passUDP()
                    try await expectReturn(browser, host)
                    #expect(host.count("connected") == 2)
                }
            }
        }

        @Test func aHostThatStopsMeanwhileEndsTheSessionWithItsWords() async {
            await withEachBrowser { kind in
                try await watching(kind) { street, host, browser in
                    try street.setDown(true)
                    try await expectMark(browser)
                    host.interrupt()
                    _ = await host.exitCode()
                    try street.setDown(false)
                    let ended = try await browser.waitForState("ended", within: .seconds(31))
                    #expect(ended.sentence.contains("host"), "\(ended)")
                    #expect(host.count("knock") == 1)
                }
            }
        }

        /// Stores the session's address and token for `giveUp`, and answers restarts as `restarts` says.
        private static let noting = """
            const ask = window.fetch;
            let session = null, headers = null;
            window.giveUp = () => ask(session, { method: "DELETE", headers }).then(answer => answer.status);
            window.fetch = async (path, options = {}) => {
                const isRestart = options.method === "PATCH" && options.headers["If-Match"] === "*";
                if (isRestart && /^[0-9]+$/.test(window.restarts)) return new Response("", { status: Number(window.restarts) });
                const answer = await ask(path, options);
                if (options.method === "POST" && answer.status === 201) {
                    session = answer.headers.get("Location");
                    headers = { Authorization: options.headers.Authorization };
                }
                if (!isRestart || window.restarts !== "elsewhere") return answer;
                const fragment = (await answer.text()).replace(/^a=ice-pwd:.*$/m, "a=ice-pwd:" + "x".repeat(22));
                return new Response(fragment, { status: answer.status, headers: answer.headers });
            };

            """
    }
}
