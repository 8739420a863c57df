import BrowserControl
import MediaCore
import TestSource
import Testing

extension Browser {
    /// Expects the test pattern in its colours, with an increasing counter.
    func expectMovingPattern() async throws {
        let first = try await pattern()
        #expect(first.size == TestVideoSource.defaultSize)
        #expect(first.colourError <= 48, "\(first.corners)")
        let frame = try #require(first.frame)
        for _ in 0..<10 {
            let next = try #require(try await pattern().frame)
            if next != frame { return #expect(next > frame && next < frame + 300) }
        }
        Issue.record("the picture stands still at \(frame)")
    }

    /// Returns the page's state once `condition` holds, or when the time is over. In the condition, `frames` of `look`
    /// counts from now, or from the end of the last mark.
    func look(until condition: String, limitSeconds: Int = 10) async throws -> JSON {
        try await evaluate(
            """
            (async () => {
                const start = performance.now();
                \(Self.patience(milliseconds: Int64(limitSeconds) * 1_000))
                const root = document.documentElement, video = document.getElementById("video");
                const notice = document.getElementById("notice"), lastFrame = document.getElementById("last-frame");
                // Firefox counts no pictures of a stream in its playback quality.
                let frames = 0, wasMarked = false;
                const count = () => { frames++; video.requestVideoFrameCallback(count); };
                video.requestVideoFrameCallback(count);
                for (;;) {
                    const words = notice.hidden ? "" : notice.textContent;
                    const isMarked = root.dataset.outage !== undefined;
                    if (isMarked) { wasMarked = true; frames = 0; }
                    const look = {
                        state: root.dataset.state, isMarked, wasMarked, words, milliseconds: performance.now() - start,
                        seconds: Number((/(\\d+) s$/.exec(words) || [0, 0])[1]), filter: getComputedStyle(video).filter,
                        isStill: !lastFrame.hidden, status: document.getElementById("status").textContent, frames,
                    };
                    const isThere = Boolean(\(condition));
                    if (isOver() || isThere) return { isThere, ...look };
                    await new Promise(done => setTimeout(done, 50));
                }
            })()
            """, within: .seconds(limitSeconds + 30))
    }
}
