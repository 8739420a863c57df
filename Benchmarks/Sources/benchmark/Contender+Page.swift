import Foundation

/// A session of `share host` with its page in Chromium.
struct PageSession {
    let from: String
    let to: String
    let host: ShareHost
    let tools: DevTools

    /// The page's state when it plays, or after 15 s. Asks to watch if the keys came before the page took them.
    fileprivate static let playing = """
        (async () => {
            const state = () => document.documentElement.dataset.state;
            for (let tenths = 0; tenths < 150 && state() !== "playing"; tenths++) {
                if (tenths === 30 && !document.getElementById("watch").disabled) document.getElementById("watch").click();
                await new Promise(done => setTimeout(done, 100));
            }
            return state();
        })()
        """
}

/// Runs `body` while Chromium shows the page of a `share host` on another display.
/// - Parameter start: starts the programs on the host's display.
func withPage<Result>(
    _ chromium: String, binary: String, over path: EmulatedPath? = nil, start: (String) throws -> [Subprocess],
    _ body: (PageSession) throws -> Result
) throws -> Result {
    try withDisplays(start: start) { from, to in
        let host = try ShareHost(binary: binary, display: from, over: path)
        defer { host.stop() }
        let folder = try TemporaryDirectory()
        let tools = try DevTools(chromium, in: folder.path)
        let viewer = try PageViewer.chromium.start(
            tools.launcher, binary: binary, link: host.link, display: to, folder: folder.path, in: path?.viewer)
        defer { viewer.terminate() }
        guard try tools.evaluate(PageSession.playing) == "playing" else {
            throw BenchmarkFailure("the page in Chromium does not play")
        }
        // Until the rate has settled, and the page has hidden its bar.
        Thread.sleep(forTimeInterval: 6)
        return try body(PageSession(from: from, to: to, host: host, tools: tools))
    }
}

/// `share host` on one display and its page in Chromium on another.
func measurePage(_ chromium: String, _ scene: Scene, binary: String, seconds: Int) throws -> Measurement {
    try withPage(chromium, binary: binary, start: { try scene.start(on: $0, seconds: seconds + 60) }) { session in
        var probe: Probe?
        let figures = try session.host.measure { probe = try Probe.run(session.to, seconds: seconds) }
        var row = Measurement("share's page", scene, probe)
        row.hostCPU = figures.cpu
        row.kilobits = figures.kilobits
        do {
            row.add(note: try PageLatency(of: session.tools).description)
        } catch {
            row.add(note: "\(error)")
        }
        return row
    }
}

/// What the browser adds, by part: medians of three seconds, as `requestVideoFrameCallback` tells them.
private struct PageLatency: CustomStringConvertible, Decodable {
    /// How long decoding took, in ms.
    var decoding: Double
    /// From a frame's last packet until the frame was given to the compositor.
    var composed: Double
    /// From then until the time when the compositor expects it to be seen.
    var expected: Double

    init(of tools: DevTools) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(tools.evaluate(Self.script).utf8))
    }

    var description: String {
        "in the browser: received to composed \(cell(composed, 1)) (decoding \(cell(decoding, 1))), "
            + "until it is seen \(cell(expected, 1)) ms"
    }

    private static let script = """
        (async () => {
            const video = document.querySelector("video"), frames = [], end = performance.now() + 3000;
            await new Promise(done => {
                const note = (_, frame) => {
                    frames.push(frame);
                    if (performance.now() < end) video.requestVideoFrameCallback(note); else done();
                };
                video.requestVideoFrameCallback(note);
            });
            const median = of => frames.map(of).sort((a, b) => a - b)[frames.length >> 1] || 0;
            return JSON.stringify({
                decoding: median(frame => frame.processingDuration * 1000),
                composed: median(frame => frame.presentationTime - frame.receiveTime),
                expected: median(frame => frame.expectedDisplayTime - frame.presentationTime),
            });
        })()
        """
}
