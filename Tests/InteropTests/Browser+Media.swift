import BrowserControl
import Foundation
import MediaCore
import TestSource

/// The test pattern as shown by a page's video.
struct ShownPattern: Sendable {
    let size: PixelSize
    /// Red, green, blue (0...255) in the middle of the corners: red, green, blue, white.
    let corners: [[Int]]
    /// The counter; nil if the frame shows none.
    let frame: Int?

    /// The largest deviation of the corners from their colours; 255 if there is no frame.
    var colourError: Int {
        let expected = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]
        guard corners.map(\.count) == [3, 3, 3, 3] else { return 255 }
        return zip(corners, expected).flatMap { zip($0, $1).map { abs($0 - $1) } }.max() ?? 255
    }
}

extension Browser {
    /// Keeps every `RTCPeerConnection` of pages that are opened from now on in `window.peers`.
    func recordPeers() async throws {
        try await preload(
            """
            window.peers = [];
            window.RTCPeerConnection = class extends RTCPeerConnection {
                constructor(...all) { super(...all); window.peers.push(this); }
            };
            """)
    }

    /// Returns the pattern in the next frame that the page's video presents.
    func pattern(_ size: PixelSize = TestVideoSource.defaultSize) async throws -> ShownPattern {
        let pattern = TestPattern(size)
        let rects = [pattern.red, pattern.green, pattern.blue, pattern.white] + pattern.cells
        let points = JSON.array(
            rects.map { [.number(Double($0.x + $0.width / 2)), .number(Double($0.y + $0.height / 2))] })
        let answer = try await evaluate(
            """
            new Promise(done => {
                const video = document.getElementById("video");
                const look = () => {
                    const canvas = document.createElement("canvas");
                    canvas.width = video.videoWidth;
                    canvas.height = video.videoHeight;
                    const context = canvas.getContext("2d");
                    context.drawImage(video, 0, 0);
                    const pixels = \(points.text).map(([x, y]) => [...context.getImageData(x, y, 1, 1).data].slice(0, 3));
                    done({ width: video.videoWidth, height: video.videoHeight, pixels });
                };
                if (video.requestVideoFrameCallback) video.requestVideoFrameCallback(look); else look();
            })
            """)
        let pixels = (answer["pixels"].array ?? []).map { ($0.array ?? []).compactMap { $0.number.map { Int($0) } } }
        guard let width = answer["width"].number, let height = answer["height"].number, pixels.count == rects.count
        else {
            throw Failure(description: "no picture in \(answer.text.prefix(200))")
        }
        let levels = pixels.dropFirst(4).map { $0.reduce(0, +) / 3 }
        var frame: Int?
        if levels[0] > 180, levels[1] < 70 { frame = levels.dropFirst(2).reduce(0) { $0 << 1 | ($1 > 127 ? 1 : 0) } }
        return ShownPattern(
            size: PixelSize(width: Int(width), height: Int(height)), corners: Array(pixels.prefix(4)), frame: frame)
    }

    /// Returns the inbound statistics of one kind (`audio` or `video`), once `condition` (of `entry`) holds.
    func inbound(_ kind: String, until condition: String, within limit: Duration = .seconds(10)) async throws -> JSON {
        try await evaluate(
            """
            (async () => {
                const end = performance.now() + \(limit.components.seconds * 1_000);
                let last = null;
                while (performance.now() < end) {
                    for (const entry of (await window.peers.at(-1).getStats()).values()) {
                        if (entry.type !== "inbound-rtp" || entry.kind !== "\(kind)") continue;
                        last = entry;
                        if (\(condition)) return entry;
                    }
                    await new Promise(done => setTimeout(done, 100));
                }
                throw new Error("not within the time: " + JSON.stringify(last));
            })()
            """, within: limit + .seconds(10))
    }
}
