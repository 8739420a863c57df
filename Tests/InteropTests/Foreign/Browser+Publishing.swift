import BrowserControl
import TestSupport

extension Browser {
    /// What a page publishes, of 320 x 240 pixels.
    enum Picture {
        /// A canvas whose colour changes.
        case canvas
        /// Dark grey (64) on the left and light grey (200) on the right, in full range, as cameras with JPEG have it.
        case greyOfFullRange

        /// Makes the track.
        fileprivate var script: String {
            switch self {
            case .canvas:
                """
                const canvas = document.createElement("canvas");
                [canvas.width, canvas.height] = [320, 240];
                const context = canvas.getContext("2d");
                let number = 0;
                window.drawing = setInterval(() => {
                    context.fillStyle = `rgb(${number++ % 256}, 80, 80)`;
                    context.fillRect(0, 0, 320, 240);
                }, 50);
                const track = canvas.captureStream(20).getVideoTracks()[0];
                """
            case .greyOfFullRange:
                """
                const track = new MediaStreamTrackGenerator({ kind: "video" });
                const writer = track.writable.getWriter();
                const data = new Uint8Array(320 * 240 * 3 / 2).fill(128);
                for (let at = 0; at < 320 * 240; at++) data[at] = at % 320 < 160 ? 64 : 200;
                let timestamp = 0;
                const colorSpace =
                    { primaries: "bt709", transfer: "iec61966-2-1", matrix: "smpte170m", fullRange: true };
                window.drawing = setInterval(() => writer.write(new VideoFrame(data, {
                    format: "I420", codedWidth: 320, codedHeight: 240, timestamp: timestamp += 50000, colorSpace,
                })), 50);
                """
            }
        }
    }

    /// Publishes a picture, as any page could, and returns the answer's status.
    func publish(
        to url: String, token: String, codec: String, _ picture: Picture = .canvas
    ) async throws -> Double? {
        try await evaluate(
            """
            (async () => {
                \(picture.script)
                const peer = window.peer = new RTCPeerConnection();
                const video = peer.addTransceiver(track, { direction: "sendonly" });
                const codecs = RTCRtpSender.getCapabilities("video").codecs;
                const wanted = new RegExp("/(\(codec)|rtx)$", "i");
                video.setCodecPreferences?.(codecs.filter(each => wanted.test(each.mimeType)));
                await peer.setLocalDescription();
                if (peer.iceGatheringState !== "complete") {
                    await new Promise(done => peer.addEventListener("icegatheringstatechange", () => {
                        if (peer.iceGatheringState === "complete") done();
                    }));
                }
                const answer = await fetch("\(url)", {
                    method: "POST", body: peer.localDescription.sdp,
                    headers: { "Content-Type": "application/sdp", Authorization: "Bearer \(token)" },
                });
                window.session = new URL(answer.headers.get("Location"), "\(url)").href;
                await peer.setRemoteDescription({ type: "answer", sdp: await answer.text() });
                return answer.status;
            })()
            """
        ).number
    }

    /// Ends what `publish` has begun.
    /// - Returns: the status.
    func endPublishing(token: String) async throws -> Double? {
        try await evaluate(
            """
            fetch(window.session, { method: "DELETE", headers: { Authorization: "Bearer \(token)" } })
                .then(answer => answer.status)
            """
        ).number
    }
}
