import BrowserControl

extension Browser {
    /// Connects pages from now on to a host inside the page, made by the browser itself, with a moving canvas and two
    /// tones. The page checks the server's answer as usual, but does not connect to it. `window.host` is the inner
    /// host. It waits for the promise `window.holdPicture`, if there is one.
    /// - Parameters:
    ///   - width: of the picture; its height is 9/16 of it.
    ///   - picture: draws a frame with `context`, the `count`-th; nil: a color.
    func loopMediaBack(width: Int = 320, picture: String? = nil) async throws {
        let picture =
            picture ?? """
                context.fillStyle = `hsl(${count * 10}, 90%, 50%)`;
                context.fillRect(0, 0, canvas.width, canvas.height);
                """
        try await preload(
            """
            const original = RTCPeerConnection.prototype.setRemoteDescription;
            RTCPeerConnection.prototype.setRemoteDescription = async function (answer) {
                if (answer.type !== "answer" || this === window.host) return original.call(this, answer);
                await window.holdPicture;
                const host = window.host = new RTCPeerConnection();
                host.onicecandidate = event => event.candidate && this.addIceCandidate(event.candidate);
                this.addEventListener("icecandidate", event => event.candidate && host.addIceCandidate(event.candidate));
                const canvas = document.createElement("canvas");
                canvas.width = \(width);
                canvas.height = \(width * 9 / 16);
                const context = canvas.getContext("2d");
                let count = 0;
                const draw = () => {
                    \(picture)
                    count++;
                };
                draw();
                setInterval(draw, 33);
                await original.call(host, this.localDescription);
                const sound = new AudioContext();
                const tone = frequency => {
                    const source = new OscillatorNode(sound, { frequency });
                    const out = sound.createMediaStreamDestination();
                    source.connect(out);
                    source.start();
                    return out.stream.getAudioTracks()[0];
                };
                const tracks = [canvas.captureStream(30).getVideoTracks()[0], tone(440), tone(880)];
                // Without a hint a sender begins with a smaller picture, and takes seconds to come to the whole one.
                tracks[0].contentHint = "detail";
                for (const [index, each] of host.getTransceivers().entries()) {
                    each.direction = "sendonly";
                    await each.sender.replaceTrack(tracks[index]);
                    if (index === 0) {
                        const parameters = { ...each.sender.getParameters(), degradationPreference: "maintain-resolution" };
                        await each.sender.setParameters(parameters).catch(() => {});
                    }
                }
                await host.setLocalDescription();
                return original.call(this, host.localDescription);
            };
            """)
    }
}
