import Foundation

/// What the video element of a page holds.
struct PicturedVideo: Sendable {
    let width: Int
    let height: Int
    /// Red, green, blue of each pixel, 64 x 36, row by row.
    let pixels: [[Int]]

    /// How many of the pixels differ clearly from those of another picture.
    func difference(from other: PicturedVideo) -> Int {
        zip(pixels, other.pixels).filter { a, b in zip(a, b).contains { abs($0 - $1) > 24 } }.count
    }

    /// The distinct colours, coarsely.
    var colours: Int { Set(pixels.map { $0.map { $0 / 32 } }).count }
}

extension Browser {
    /// Keeps every `RTCPeerConnection` of pages that are opened from now on in `window.peers`.
    func recordPeers() async throws {
        let code = """
            window.peers = [];
            window.RTCPeerConnection = class extends RTCPeerConnection {
                constructor(...all) { super(...all); window.peers.push(this); }
            };
            """
        try await preload(code)
    }

    /// The next picture that the page's video presents.
    func picture() async throws -> PicturedVideo {
        let answer = try await evaluate(
            """
            new Promise(done => {
                const video = document.getElementById("video");
                const look = () => {
                    const canvas = document.createElement("canvas");
                    canvas.width = 64;
                    canvas.height = 36;
                    const context = canvas.getContext("2d");
                    context.drawImage(video, 0, 0, 64, 36);
                    const data = context.getImageData(0, 0, 64, 36).data;
                    const pixels = [];
                    for (let at = 0; at < data.length; at += 4) pixels.push([data[at], data[at + 1], data[at + 2]]);
                    done({ width: video.videoWidth, height: video.videoHeight, pixels });
                };
                if (video.requestVideoFrameCallback) video.requestVideoFrameCallback(look); else look();
            })
            """)
        guard let width = answer["width"].number, let height = answer["height"].number,
            let pixels = answer["pixels"].array
        else { throw Failure(description: "no picture in \(answer.text.prefix(200))") }
        return PicturedVideo(
            width: Int(width), height: Int(height),
            pixels: pixels.map { ($0.array ?? []).compactMap { $0.number.map { Int($0) } } })
    }

    /// Statistics of everything that is received, of one kind (`audio` or `video`), once `condition` (of `entry`) holds.
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
