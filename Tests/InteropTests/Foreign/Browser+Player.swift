import BrowserControl
import Foundation

extension Browser {
    /// Plays WHEP sessions, all at once, without the host's page.
    func play(_ all: [PlayerOptions], url: String, token: String) async throws -> [PlayerRun] {
        if try await evaluate("typeof play") != "function" { _ = try await evaluate("(() => { \(Self.player) })()") }
        let list = JSON.array(
            all.map { options in
                [
                    "media": .array(options.media.map { .string($0) }), "isTrickling": .bool(options.isTrickling),
                    "hasRTX": .bool(options.hasRTX), "feedback": .string(options.feedback.rawValue),
                    "restarts": .bool(options.restarts), "skip": .number(options.skip),
                    "seconds": .number(options.seconds),
                ]
            })
        let reports = try await evaluate(
            "play(\(JSON.string(url).text), \(JSON.string(token).text), \(list.text))",
            within: .seconds(60))
        return (reports.array ?? []).map { report in
            func bytes(_ text: JSON) -> Data { text.string.flatMap { Data(base64Encoded: $0) } ?? Data() }
            let size = report["size"].array?.compactMap { $0.number.map { Int($0) } } ?? []
            return PlayerRun(
                report: report, picture: ReceivedVideo([UInt8](bytes(report["picture"])), size: size),
                sounds: (report["soundData"].array ?? []).map { ReceivedAudio(bytes($0)) })
        }
    }

    /// Defines `play(url, token, list)`.
    private static let player = """
        const wait = seconds => new Promise(done => setTimeout(done, seconds * 1000));
        const base64 = bytes => {
            let text = "";
            for (let i = 0; i < bytes.length; i += 0x8000) {
                text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
            }
            return btoa(text);
        };
        const fragmentType = "application/trickle-ice-sdpfrag";
        const field = (sdp, name) => (new RegExp("^a=" + name + ":(.*)$", "m").exec(sdp) || ["", ""])[1].trim();

        const stereo = sdp => sdp.replace(/(a=fmtp:\\d+ minptime=10;useinbandfec=1)(?=\\r?\\n)/g, "$1;stereo=1");

        // What is told to the host; the browser itself keeps its own offer.
        const told = (sdp, { hasRTX, feedback }) => {
            let lines = sdp.split("\\r\\n");
            if (!hasRTX) {
                const types = lines.map(each => /^a=rtpmap:(\\d+) rtx\\//.exec(each)).filter(Boolean).map(each => each[1]);
                lines = lines.filter(each => !types.some(type => new RegExp("^a=(rtpmap|fmtp|rtcp-fb):" + type + " ").test(each)));
                lines = lines.map(each => each.startsWith("m=video")
                    ? each.split(" ").filter((word, place) => place < 3 || !types.includes(word)).join(" ") : each);
            }
            if (feedback === "remb") lines = lines.filter(each => !/transport-cc|transport-wide-cc/.test(each));
            if (feedback === "transport-cc") lines = lines.filter(each => !/goog-remb|abs-send-time/.test(each));
            return lines.join("\\r\\n");
        };

        const planes = image => {
            const { width, height } = image;
            const canvas = document.createElement("canvas");
            canvas.width = width;
            canvas.height = height;
            const context = canvas.getContext("2d");
            context.drawImage(image, 0, 0);
            const pixels = context.getImageData(0, 0, width, height).data;
            const out = new Uint8ClampedArray(width * height * 3 / 2);
            for (let i = 0; i < width * height; i++) {
                const [r, g, b] = [pixels[4 * i], pixels[4 * i + 1], pixels[4 * i + 2]];
                out[i] = 16 + 0.25679 * r + 0.50413 * g + 0.09791 * b;
            }
            const [u, v] = [width * height, width * height * 5 / 4];
            for (let y = 0; y < height; y += 2) {
                for (let x = 0; x < width; x += 2) {
                    const sum = [0, 0, 0];
                    for (const i of [y * width + x, y * width + x + 1, (y + 1) * width + x, (y + 1) * width + x + 1]) {
                        for (let c = 0; c < 3; c++) sum[c] += pixels[4 * i + c] / 4;
                    }
                    const [r, g, b] = sum, place = y / 2 * (width / 2) + x / 2;
                    out[u + place] = 128 - 0.14822 * r - 0.29099 * g + 0.43922 * b;
                    out[v + place] = 128 + 0.43922 * r - 0.36779 * g - 0.07143 * b;
                }
            }
            return new Uint8Array(out.buffer);
        };

        // Left and right of the last 0.68 s.
        const listen = (context, track) => {
            const element = new Audio();
            element.srcObject = new MediaStream([track]);
            element.muted = true;
            element.play();
            const splitter = context.createChannelSplitter(2);
            const source = context.createMediaStreamSource(element.srcObject);
            source.connect(splitter);
            const sides = [0, 1].map(side => {
                const analyser = context.createAnalyser();
                analyser.fftSize = 32768;
                splitter.connect(analyser, side);
                return analyser;
            });
            return () => {
                const out = new Int16Array(65536);
                sides.forEach((analyser, side) => {
                    const samples = new Float32Array(32768);
                    analyser.getFloatTimeDomainData(samples);
                    samples.forEach((sample, i) => out[2 * i + side] = 32767 * Math.max(-1, Math.min(1, sample)));
                });
                return base64(new Uint8Array(out.buffer));
            };
        };

        const counters = async peer => {
            const found = {
                frames: 0, keyFrames: 0, plis: 0, nacks: 0, bytes: 0, videoPackets: 0, videoLost: 0, audioPackets: [] };
            for (const entry of (await peer.getStats()).values()) {
                if (entry.type === "candidate-pair") found.bytes += entry.bytesReceived || 0;
                if (entry.type !== "inbound-rtp") continue;
                if (entry.kind === "audio") { found.audioPackets.push(entry.packetsReceived); continue; }
                found.frames += entry.framesDecoded;
                found.keyFrames += entry.keyFramesDecoded || 0;
                found.plis += entry.pliCount || 0;
                found.nacks += entry.nackCount || 0;
                found.videoPackets += entry.packetsReceived;
                found.videoLost += entry.packetsLost;
            }
            return found;
        };

        // What costs much time comes last, when no session is measured any more.
        window.play = async (url, token, list) => {
            const reports = await Promise.all(list.map(each => session(url, token, each)));
            for (const report of reports) if (report.picture) report.picture = base64(planes(report.picture));
            return reports;
        };

        const session = async (url, token, options) => {
            const report = { connected: false };
            const peer = new RTCPeerConnection();
            const context = new AudioContext({ sampleRate: 48000 });
            const video = document.createElement("video");
            const sounds = [];
            let resource, tag, first, moments = [];
            const ask = (method, address, body, headers) => fetch(new URL(address, url), {
                method, body, headers: { Authorization: "Bearer " + token, ...headers } });
            const patch = async (fragment, match) => {
                const answer = await ask("PATCH", resource, fragment, { "Content-Type": fragmentType, "If-Match": match });
                report.patched = answer.status;
                return answer;
            };
            const fragment = (sdp, lines) => [
                "a=ice-ufrag:" + field(sdp, "ice-ufrag"), "a=ice-pwd:" + field(sdp, "ice-pwd"),
                "m=video 9 UDP/TLS/RTP/SAVPF 0", "a=mid:" + field(sdp, "mid"), ...lines, ""].join("\\r\\n");
            const waiting = [];
            let isTold = false;
            const tell = async () => {
                if (!isTold) return;
                for (const each of waiting.splice(0)) {
                    const line = each ? "a=" + each : "a=end-of-candidates";
                    await patch(fragment(peer.localDescription.sdp, [line]), tag);
                }
            };
            peer.onicecandidate = event => { waiting.push(event.candidate?.candidate); tell(); };
            peer.ontrack = ({ track, transceiver }) => {
                if (track.kind === "audio") {
                    const same = peer.getTransceivers().filter(each => each.receiver.track.kind === "audio");
                    sounds[same.indexOf(transceiver)] = listen(context, track);
                    return;
                }
                video.srcObject = new MediaStream([track]);
                video.muted = true;
                video.width = 320;
                const count = () => {
                    first ??= performance.now();
                    moments.push(performance.now());
                    video.requestVideoFrameCallback(count);
                };
                video.requestVideoFrameCallback(count);
                document.body.append(video);
                video.play();
            };
            for (const kind of options.media) {
                if (kind === "data") peer.createDataChannel("x");
                else peer.addTransceiver(kind, { direction: "recvonly" });
            }
            try {
                // A browser plays Opus in mono unless its own description says otherwise.
                const own = await peer.createOffer();
                await peer.setLocalDescription({ type: "offer", sdp: stereo(own.sdp) });
                while (!options.isTrickling && peer.iceGatheringState !== "complete") await wait(0.02);
                const offer = told(peer.localDescription.sdp, options);
                report.offer = offer;
                const answer = await ask("POST", url, offer, { "Content-Type": "application/sdp" });
                report.status = answer.status;
                report.answer = await answer.text();
                if (answer.status !== 201) return report;
                [resource, tag] = [answer.headers.get("Location"), answer.headers.get("ETag") || "*"];
                await peer.setRemoteDescription({ type: "answer", sdp: report.answer });
                if (options.isTrickling) {
                    isTold = true;
                    await tell();
                }
                for (let i = 0; i < 400 && !first; i++) await wait(0.02);
                report.connected = Boolean(first);
                if (!first) return report;
                if (options.restarts) {
                    await wait(0.5);
                    // As the page does it: Chromium must not have such an offer for long without its answer.
                    const next = await peer.createOffer({ iceRestart: true });
                    const answer = await patch(fragment(next.sdp, []), "*");
                    const found = await answer.text();
                    tag = answer.headers.get("ETag") || "*";
                    if (answer.status !== 200) throw new Error("a restart was answered with " + answer.status);
                    waiting.splice(0);
                    isTold = true;
                    await peer.setLocalDescription(next);
                    let isFirst = true;
                    const lines = report.answer.split("\\r\\n").flatMap(line => {
                        if (/^a=(candidate:|end-of-candidates)/.test(line)) return [];
                        if (line.startsWith("a=ice-ufrag:")) return ["a=ice-ufrag:" + field(found, "ice-ufrag")];
                        if (line.startsWith("a=ice-pwd:")) return ["a=ice-pwd:" + field(found, "ice-pwd")];
                        if (line === "a=rtcp-mux" && isFirst) {
                            isFirst = false;
                            return [line, ...found.split("\\r\\n").filter(each => each.startsWith("a=candidate:"))];
                        }
                        return [line];
                    });
                    await peer.setRemoteDescription({ type: "answer", sdp: lines.join("\\r\\n") });
                }
                await wait(options.skip);
                const before = await counters(peer), begin = performance.now();
                moments = [begin];
                await wait(options.seconds);
                const after = await counters(peer);
                moments.push(performance.now());
                Object.assign(report, after);
                for (const key of ["frames", "keyFrames", "plis", "nacks", "bytes"]) report[key] = after[key] - before[key];
                report.seconds = (performance.now() - begin) / 1000;
                report.longestGap = Math.max(...moments.slice(1).map((each, i) => each - moments[i])) / 1000;
                report.size = [video.videoWidth, video.videoHeight];
                report.state = peer.connectionState;
                report.picture = await createImageBitmap(video);
                report.sounds = sounds.length;
                report.soundData = sounds.map(each => each());
            } catch (error) {
                report.error = String(error);
            } finally {
                if (resource) await ask("DELETE", resource).catch(() => {});
                peer.close();
                context.close();
                video.remove();
            }
            return report;
        };
        """
}
