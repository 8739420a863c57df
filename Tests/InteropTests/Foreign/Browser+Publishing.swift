import BrowserControl
import TestSupport

extension Browser {
    /// Publishes a canvas of 320 x 240 pixels, as any page could, and returns the answer's status.
    func publish(to url: String, token: String, codec: String) async throws -> Double? {
        try await evaluate(
            """
            (async () => {
                const canvas = document.createElement("canvas");
                [canvas.width, canvas.height] = [320, 240];
                const context = canvas.getContext("2d");
                let number = 0;
                window.drawing = setInterval(() => {
                    context.fillStyle = `rgb(${number++ % 256}, 80, 80)`;
                    context.fillRect(0, 0, 320, 240);
                }, 50);
                const peer = window.peer = new RTCPeerConnection();
                const video = peer.addTransceiver(canvas.captureStream(20).getVideoTracks()[0],
                    { direction: "sendonly" });
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
