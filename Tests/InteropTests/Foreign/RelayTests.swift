import Admission
import BrowserControl
import Foundation
import Host
import Identifiers
import Identity
import MediaCore
import PeerConnection
import TestSource
import TestSupport
import Testing
import VPXCodec

extension InteropTests {
    /// Browsers watch at a real `share relay` what another implementation of WebRTC publishes there.
    @Suite struct RelayTests {
        private func event(_ name: String, of relay: Program) async throws -> JSON {
            try JSON(
                parsing: try await relay.line(.standard, within: .seconds(20)) { $0.contains("\"event\":\"\(name)\"") })
        }

        private static let token = "a-token-for-foreign-clients"

        /// Starts a relay.
        /// - Returns: the relay, and the URL of its WHIP endpoint.
        private func relay(in folder: TemporaryFolder, _ more: [String] = []) async throws -> (Program, String) {
            try (Self.token + "\n").write(toFile: folder.file("token"), atomically: true, encoding: .utf8)
            let relay = try Program(
                Program.share(),
                ["relay", "--listen", "127.0.0.1:0", "--publish-token", folder.file("token"), "--json"] + more,
                environment: ["XDG_DATA_HOME": folder.path, "TMPDIR": folder.path])
            let link = try #require(try await event("link", of: relay)["link"].string)
            return (relay, (link.split(separator: "#").first.map(String.init) ?? "") + "/whip")
        }

        @Test func browsersWatchWhatAWHIPToolPublishes() async throws {
            let folder = try TemporaryFolder()
            let (relay, url) = try await relay(in: folder)
            defer { relay.kill() }
            let program = try ForeignPeer.aiortc.program("publisher.py")
            let publisher = try Program(
                program[0], [program[1], "--url", url, "--token", Self.token, "--seconds", "40"])
            let live = try #require(try await event("live", of: relay)["link"].string)
            for kind in Browser.Kind.allCases {
                try await Browser.with(kind) { browser in
                    try await browser.recordPeers()
                    try await browser.watch(live)
                    try await browser.waitForState("playing", within: .seconds(20))
                    let video = try await browser.inbound("video", until: "entry.framesDecoded >= 60")
                    #expect(video["frameWidth"] == 640 && video["frameHeight"] == 480, "\(video.text)")
                    #expect(video["keyFramesDecoded"].number ?? 100 <= 5, "\(video.text)")
                    _ = try await browser.inbound("audio", until: "entry.packetsReceived > 40")
                }
            }
            publisher.interrupt()
            _ = try await event("closed", of: relay)
        }

        /// A browser's relay stops, or is killed: the page of another relay of the cluster goes on.
        @Test(arguments: [SIGTERM, SIGKILL])
        func aBrowserGoesOnAtAnotherRelay(signal: CInt) async {
            await withEachBrowser { try await goOnAtAnotherRelay($0, signal) }
        }

        /// The page of `share join --browser` does so, too, and stays that of this machine.
        @Test func thePageOfThisMachineGoesOnAtAnotherRelay() async throws {
            try await goOnAtAnotherRelay(.chromium, SIGTERM, isLocal: true)
        }

        /// - Parameter isLocal: the page is that of `share join --browser`.
        private func goOnAtAnotherRelay(_ kind: Browser.Kind, _ signal: CInt, isLocal: Bool = false) async throws {
            let (folder, otherFolder) = (try TemporaryFolder(), try TemporaryFolder())
            let server = try NATSServer()
            defer { server.kill() }
            let (relay, url) = try await relay(in: folder, ["--cluster", server.url, "--node", "a"])
            defer { relay.kill() }
            let other = try Program(
                Program.share(),
                [
                    "relay", "--listen", "127.0.0.1:0", "--accept", "any", "--json", "--cluster", server.url,
                    "--node", "b",
                ],
                environment: ["XDG_DATA_HOME": otherFolder.path, "TMPDIR": otherFolder.path])
            defer { other.kill() }
            let place = try ServiceLink(parsing: try #require(try await event("link", of: other)["link"].string))
            _ = try await event("relay-joined", of: relay)
            let program = try ForeignPeer.aiortc.program("publisher.py")
            let publisher = try Program(
                program[0], [program[1], "--url", url, "--token", Self.token, "--seconds", "60"])
            defer { publisher.kill() }
            let live = try Link(parsing: try #require(try await event("live", of: relay)["link"].string))
            let link = Link(
                host: place.host, port: place.port, id: live.id, secret: live.secret, fingerprint: place.fingerprint)
            let joining = isLocal ? try Program.joiningInBrowser(link, in: folder) : nil
            defer { joining?.kill() }
            let address = try await joining?.printedLink() ?? link.text
            try await Browser.with(kind) { browser in
                try await browser.preload(
                    """
                    const verify = SubtleCrypto.prototype.verify;
                    SubtleCrypto.prototype.verify = async function (...values) {
                        const isRight = await verify.apply(this, values);
                        const text = new TextDecoder().decode(values[3]);
                        // The first list may be empty.
                        if (text.startsWith("share v1 alternates") && text.includes("https://")) window.knowsOthers = isRight;
                        return isRight;
                    };
                    """)
                try await browser.watch(address)
                try await browser.waitForState("playing", within: .seconds(20))
                try await browser.wait(until: "window.knowsOthers")
                let first = isLocal ? URL(string: address)?.port : place.port
                #expect(try await browser.evaluate("Number(location.port)").number == first.map { Double($0) })
                if signal == SIGKILL { other.kill() } else { other.requestEnd() }
                try await browser.waitForPage(
                    isLocal ? "location.pathname.endsWith('/1/\(link.id.text)')" : "location.port === '\(live.port)'")
                try await browser.waitForState("playing", within: .seconds(20))
                #expect(try await browser.evaluate("location.search").string?.isEmpty == true)
                if isLocal {
                    #expect(try await browser.evaluate("location.origin").string.map(address.hasPrefix) == true)
                }
            }
        }

        /// The page comes from the relay, and the picture from the host.
        @Test(arguments: Browser.Kind.allCases)
        func browsersMeetAHostAtTheRelay(kind: Browser.Kind) async throws {
            let folder = try TemporaryFolder()
            let relay = try Program(
                Program.share(), ["relay", "--listen", "127.0.0.1:0", "--accept", "any", "--json"],
                environment: ["XDG_DATA_HOME": folder.path, "TMPDIR": folder.path])
            defer { relay.kill() }
            let place = try #require(try await event("link", of: relay)["link"].string)
            let identity = try Identity.ephemeral()
            let paired = try await ServicePairing(
                link: try ServiceLink(parsing: place),
                application: ApplicationInfo(id: "com.example.budget", name: "Budget"), identity: identity
            ).run { _ in [:] }
            var configuration = HostSession.Configuration(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 30,
                maximumBitrate: .kilobits(4_000), contentHint: nil)
            configuration.tunnel = paired
            let host = try HostSession(
                configuration: configuration, identity: identity, source: TestVideoSource(framesPerSecond: 30),
                encoder: VP8Encoder(), audio: [], decide: { _ in .accepted }, emit: { _ in })
            do {
                let link = try await host.start()
                #expect(link.relay != nil && link.authority == URL(string: place)?.authority)
                try await Browser.with(kind) { browser in
                    try await browser.recordPeers()
                    try await browser.watch(link.text)
                    try await browser.waitForState("playing", within: .seconds(20))
                    let video = try await browser.inbound("video", until: "entry.framesDecoded >= 40")
                    #expect(video["frameWidth"] == 1_280 && video["frameHeight"] == 720, "\(video.text)")
                    #expect(video["freezeCount"].number ?? 0 <= 1, "\(video.text)")
                    // The events of the host reach the page, too.
                    await host.stop(EndReason(.stopped, "done"))
                    try await browser.waitForState("ended", within: .seconds(20))
                }
            } catch {
                await host.stop(EndReason(.stopped, "failed"))
                throw error
            }
            _ = try await event("meeting-closed", of: relay)
        }

        /// The relay's page shows what is live, and leads to it.
        @Test(arguments: Browser.Kind.allCases)
        func theDirectoryLeadsToABroadcast(kind: Browser.Kind) async throws {
            let folder = try TemporaryFolder()
            let relay = try Program(
                Program.share(),
                ["relay", "--listen", "127.0.0.1:0", "--accept", "any", "--region", "eu-west", "--json"],
                environment: ["XDG_DATA_HOME": folder.path, "TMPDIR": folder.path])
            defer { relay.kill() }
            let place = try #require(try await event("link", of: relay)["link"].string)
            let front = "https://\(URL(string: place)?.authority ?? "")/"
            try await Browser.with(kind) { browser in
                try await browser.open(front)
                let nothing = "document.getElementById('status').textContent"
                try await browser.wait(until: "\(nothing) === 'Nobody shares a screen here at the moment.'")
                let (host, link) = try await listedHost(at: place, title: "<b>Keynote</b>")
                do {
                    // The page looks again by itself.
                    let titles = "[...document.querySelectorAll('.title')].map((title) => title.textContent).join()"
                    try await browser.wait(until: "\(titles) === '<b>Keynote</b>'")
                    let facts = try await browser.evaluate("document.querySelector('.facts').textContent")
                    let expected = "Budget · eu-west · end-to-end encrypted · just now"
                    #expect(facts.string?.contains(expected) == true, "\(facts.text)")
                    for (search, count) in [("asia", 0), ("keynote west", 1)] {
                        let found = try await browser.evaluate(
                            """
                            (() => {
                              const search = document.getElementById('search');
                              search.value = '\(search)';
                              search.dispatchEvent(new Event('input'));
                              return document.querySelectorAll('#broadcasts a').length;
                            })()
                            """)
                        #expect(found.number == Double(count), "\(search)")
                    }
                    let target = try await browser.evaluate("document.querySelector('#broadcasts a').href")
                    #expect(target.string == link.text)
                    try await browser.watch(try #require(target.string))
                    try await browser.waitForState("playing", within: .seconds(20))
                } catch {
                    await host.stop(EndReason(.stopped, "failed"))
                    throw error
                }
                await host.stop(EndReason(.stopped, "done"))
            }
        }

        /// A host that is met at the relay, and is in its directory.
        private func listedHost(at place: String, title: String) async throws -> (HostSession, Link) {
            let identity = try Identity.ephemeral()
            var paired = try await ServicePairing(
                link: try ServiceLink(parsing: place),
                application: ApplicationInfo(id: "com.example.budget", name: "Budget"), identity: identity
            ).run { _ in [:] }
            paired.title = title
            var configuration = HostSession.Configuration(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 30,
                maximumBitrate: .kilobits(4_000), contentHint: nil)
            configuration.tunnel = paired
            let host = try HostSession(
                configuration: configuration, identity: identity, source: TestVideoSource(framesPerSecond: 30),
                encoder: VP8Encoder(), audio: [], decide: { _ in .accepted }, emit: { _ in })
            return (host, try await host.start())
        }

        /// With a certificate that tools know, they need not be told to trust anything.
        @Test func aWHIPToolThatChecksCertificatesPublishes() async throws {
            let folder = try TemporaryFolder()
            let (authority, unknown) = (try CertificateAuthority(), try CertificateAuthority())
            defer { withExtendedLifetime((authority, unknown)) {} }
            let certificate = try authority.issue("DNS:localhost")
            let (relay, url) = try await relay(in: folder, certificate.arguments)
            defer { relay.kill() }
            #expect(url.hasPrefix("https://localhost:"))
            let program = try ForeignPeer.aiortc.program("publisher.py")
            func publish(to url: String, trusting file: String) throws -> Program {
                try Program(
                    program[0], [program[1], "--url", url, "--token", Self.token, "--seconds", "2"],
                    environment: ["SHARE_TEST_AUTHORITY": file])
            }
            let publisher = try publish(to: url, trusting: authority.file)
            _ = try await event("live", of: relay)
            #expect(publisher.exitCode(seconds: 30) == 0)
            let stranger = try publish(to: url, trusting: unknown.file)
            #expect(stranger.exitCode(seconds: 30) != 0)
            #expect(stranger.text.errors.contains("CERTIFICATE_VERIFY_FAILED"), "\(stranger.text.errors)")
        }

        /// A relay forwards what it could not decode.
        @Test(arguments: ["vp9", "av1", "h264"])
        func aBrowserPublishesInAnyCodec(codec: String) async throws {
            let folder = try TemporaryFolder()
            let (relay, url) = try await relay(in: folder)
            defer { relay.kill() }
            try await Browser.with(.chromium) { publisher in
                #expect(try await publisher.publish(to: url, token: Self.token, codec: codec) == 201)
                let live = try #require(try await event("live", of: relay)["link"].string)
                let file = folder.file(codec == "h264" ? "kept.mkv" : "kept.webm")
                let recorder = try Program(
                    Program.share(), ["record", live, "-o", file, "--for", "6s"],
                    environment: ["XDG_DATA_HOME": folder.path, "TMPDIR": folder.path])
                try await Browser.with(.chromium) { viewer in
                    try await viewer.recordPeers()
                    try await viewer.watch(live)
                    try await viewer.waitForState("playing", within: .seconds(20))
                    let video = try await viewer.inbound("video", until: "entry.framesDecoded >= 40")
                    #expect(video["frameWidth"] == 320 && video["frameHeight"] == 240, "\(video.text)")
                    #expect(video["keyFramesDecoded"].number ?? 100 <= 4, "\(video.text)")
                    #expect(video["freezeCount"].number ?? 0 <= 1, "\(video.text)")
                }
                #expect(await recorder.exitCode() == 0, "\(recorder.text.errors)")
                let probe = try Program(
                    "ffprobe",
                    ["-v", "error", "-show_entries", "stream=codec_name,width,height", "-of", "csv=p=0", file])
                #expect(await probe.exitCode() == 0 && probe.text.output == "\(codec),320,240\n")
                #expect(try await publisher.endPublishing(token: Self.token) == 200)
            }
            _ = try await event("closed", of: relay)
        }
    }
}

extension URL {
    /// `HOST:PORT`.
    fileprivate var authority: String { "\(host ?? ""):\(port ?? 0)" }
}

extension Browser {
    /// Waits until an expression is true.
    fileprivate func wait(until condition: String) async throws {
        let isTrue = try await evaluate(
            """
            new Promise((resolve) => {
              const look = () => { if (\(condition)) resolve(true); else setTimeout(look, 50); };
              look();
            })
            """, within: .seconds(20))
        #expect(isTrue == true)
    }

    /// Waits until an expression is true, on this page or one that is loaded meanwhile.
    fileprivate func waitForPage(_ condition: String) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            // The page may have gone while it is asked.
            if (try? await evaluate(condition, within: .seconds(2))) == true { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("never true: \(condition)")
    }
}
