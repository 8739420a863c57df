import BrowserControl
import MediaCore
import Signaling
import TestSource
import Testing
import VPXCodec

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Viewer

extension InteropTests {
    /// Browsers that get two temporal layers, while a slower viewer gets only the base.
    @Suite struct LayeredTests {
        /// A host with two layers: a slow viewer, which gets the base alone, watches beside the browser.
        private func with(
            _ kind: Browser.Kind, token: String? = nil, _ body: (HostSession, Link, Browser) async throws -> Void
        ) async throws {
            var configuration = HostSession.Configuration(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: token, framesPerSecond: 60,
                maximumBitrate: .kilobits(8_000), contentHint: nil)
            configuration.viewers.bitrateLimit = { .kilobits($0.name == "slow" ? 120 : 320) }
            let host = try HostSession(
                configuration: configuration, identity: try .ephemeral(), source: TestVideoSource(framesPerSecond: 60),
                encoder: VP8Encoder(),
                audio: [], decide: { _ in .accepted }, emit: { _ in })
            let link = try await host.start()
            let slow = ViewerSession(
                link: link, identity: try .ephemeral(), name: "slow",
                sink: PlaybackSink(
                    decoders: VideoDecoders([.vp8]) { _ throws(CodecFailure) in VP8Decoder() }, videoSink: Nothing(),
                    audioDecoder: { () throws(CodecFailure) in throw CodecFailure(code: 0, message: "no sound") },
                    makeSpeaker: { Nothing() }), emit: { _ in })
            let watching = Task { await slow.run() }
            do {
                try await Browser.with(kind) { browser in try await body(host, link, browser) }
            } catch {
                Issue.record(error)
            }
            slow.leave()
            _ = await watching.value
            await host.stop(EndReason(.stopped, "done"))
        }

        @Test(arguments: Browser.Kind.allCases)
        func aBrowserShowsBothLayersBesideASlowerViewer(kind: Browser.Kind) async throws {
            try await with(kind) { host, link, browser in
                try await browser.recordPeers()
                try await browser.watch(link.text)
                try await browser.waitForState("playing", within: .seconds(20))
                var shown = 0
                for _ in 0..<60 where await (host.statistics()?.video.upperLayerFrames ?? 0) < 40 {
                    shown += 10
                    _ = try await browser.inbound("video", until: "entry.framesDecoded >= \(shown)")
                }
                let statistics = try #require(await host.statistics())
                #expect(statistics.video.upperLayerFrames >= 40)
                #expect(statistics.baseViewers >= 1)
                // The browser decodes about as many frames as are made, of both layers, and requests no key frames. On
                // a busy machine it may not keep up all the time, and its rate may fall so near to the slow viewer's
                // that both get all frames.
                var (video, later, made) = (JSON.null, statistics, Int.max)
                for _ in 0..<10
                where made >= 120 || later.video.upperLayerFrames == statistics.video.upperLayerFrames {
                    let start = try await browser.inbound("video", until: "entry.framesDecoded >= 1")
                    let before = try #require(await host.statistics()).video.frames
                    let goal = Int(start["framesDecoded"].number ?? 0) + 60
                    video = try await browser.inbound("video", until: "entry.framesDecoded >= \(goal)")
                    later = try #require(await host.statistics())
                    made = later.video.frames - before
                }
                #expect(made < 120)
                #expect(later.video.upperLayerFrames > statistics.video.upperLayerFrames)
                #expect((video["keyFramesDecoded"].number ?? 100) <= 3, "\(video.text)")
                let first = try #require(try await browser.pattern().frame)
                var moves = false
                for _ in 0..<10 where !moves {
                    moves = try await browser.pattern().frame.map { $0 > first } ?? false
                }
                #expect(moves)
            }
        }

        /// WHEP's extension for layers, in a page of another origin: it reads which layers there are, and takes the
        /// base alone.
        @Test(arguments: Browser.Kind.allCases)
        func aPlayerOfAnotherOriginSelectsLayers(kind: Browser.Kind) async throws {
            let token = "a-token-for-foreign-players"
            try await with(kind, token: token) { host, link, browser in
                /// Frames of the base layer and of layer 1 that the host has made, and those that the browser has
                /// decoded.
                func counts() async throws -> (base: Int, upper: Int, decoded: Int) {
                    let video = try #require(await host.statistics()).video
                    let decoded = try await browser.inbound("video", until: "true")["framesDecoded"].number ?? 0
                    return (video.frames - video.upperLayerFrames, video.upperLayerFrames, Int(decoded))
                }
                /// What came while the host made 30 frames of layer 1.
                func sample() async throws -> (base: Int, decoded: Int) {
                    let (begin, deadline) = (try await counts(), ContinuousClock.now + .seconds(60))
                    var end = begin
                    while end.upper < begin.upper + 30 {
                        try #require(ContinuousClock.now < deadline, "\(end.upper - begin.upper) frames of layer 1")
                        let more = end.decoded + 1
                        _ = try await browser.inbound(
                            "video", until: "entry.framesDecoded >= \(more)", within: .seconds(20))
                        end = try await counts()
                    }
                    return (end.base - begin.base, end.decoded - begin.decoded)
                }
                let url = "https://127.0.0.1:\(link.port)/\(link.id.text)/whep"
                #expect(try await browser.evaluate(Self.player(url, token)).number == 201)
                let layers = try await browser.evaluate(Self.layers, within: .seconds(30))
                #expect(layers["0"].array?.map { $0["temporalLayerId"].number } == [0, 1], "\(layers.text)")
                #expect(layers["0"].array?.first?["width"].number == 1_280, "\(layers.text)")
                let all = try await sample()
                #expect(all.decoded > all.base + 20, "\(all)")
                #expect(try await browser.evaluate("select({ maxTemporalLayerId: 0 })").number == 200)
                let base = try await sample()
                #expect(base.decoded < base.base + 8, "\(base)")
                #expect(try await browser.evaluate("select({ rid: 'hd' })").number == 422)
                #expect(try await browser.evaluate("select({ mediaId: '0' })").number == 200)
                let again = try await sample()
                #expect(again.decoded > again.base + 20, "\(again)")
            }
        }

        /// Plays, reads the events, and defines `select`. The value is the status of the answer.
        private static func player(_ url: String, _ token: String) -> String {
            """
            (async () => {
                const headers = { Authorization: "Bearer \(token)" };
                const peer = new RTCPeerConnection();
                window.peers = [peer];
                peer.addTransceiver("video", { direction: "recvonly" });
                await peer.setLocalDescription();
                while (peer.iceGatheringState !== "complete") await new Promise(done => setTimeout(done, 20));
                const answer = await fetch("\(url)", {
                    method: "POST", headers: { ...headers, "Content-Type": "application/sdp" },
                    body: peer.localDescription.sdp });
                await peer.setRemoteDescription({ type: "answer", sdp: await answer.text() });
                const target = name => new URL(
                    new RegExp('<([^>]*)>; *rel="urn:ietf:params:whep:ext:core:' + name + '"')
                        .exec(answer.headers.get("Link"))[1], "\(url)");
                window.select = async selection => (await fetch(target("layer"), {
                    method: "POST", headers: { ...headers, "Content-Type": "application/json" },
                    body: JSON.stringify(selection) })).status;
                const events = await fetch(target("server-sent-events"), { headers });
                const reader = events.body.pipeThrough(new TextDecoderStream()).getReader();
                window.events = "";
                (async () => {
                    for (;;) {
                        const { value, done } = await reader.read();
                        if (done) return;
                        window.events += value;
                    }
                })();
                return answer.status;
            })()
            """
        }

        /// The last event `layers` with two of them.
        private static let layers = """
            (async () => {
                for (;;) {
                    const found = [...window.events.matchAll(/event: layers\\ndata: (.*)\\n/g)].map(each => JSON.parse(each[1]));
                    const last = found.filter(each => each["0"]?.length === 2).at(-1);
                    if (last) return last;
                    await new Promise(done => setTimeout(done, 100));
                }
            })()
            """

        private final class Nothing: VideoSink, AudioSink {
            func show(_ frame: I420Frame, at time: MediaInstant?) {}
            func play(_ samples: UnsafeBufferPointer<Int16>) {}
            var latency: MediaDuration { .zero }
            func close() {}
        }
    }
}
