"""A WHEP player made of aiortc. Options, files and report: see ../README.md."""

import asyncio
import json
import os
import sys
import time

from aiortc import RTCBundlePolicy, RTCConfiguration, RTCPeerConnection, RTCRtpReceiver, RTCSessionDescription
from aiortc.codecs import vpx
from aiortc.rtcrtpreceiver import RTCRtpReceiver as Receiver

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir))
import whep


class Report:
    """What is counted from `--skip` on; files hold the last picture and the sound."""

    def __init__(self, options):
        self.options = options
        self.frames = self.keyframes = self.plis = self.nacks = 0
        self.first_picture = None
        self.arrivals = []
        self.size = None
        self.sounds = []
        self.start = time.monotonic()
        self.base = None

    def count(self):
        report = self

        class Decoder(vpx.Vp8Decoder):
            def decode(self, encoded):
                report.keyframes += encoded.data[:1] != b"" and encoded.data[0] & 1 == 0
                return super().decode(encoded)

        # The receiver looks its decoder up by name.
        import aiortc.codecs
        aiortc.codecs.Vp8Decoder = Decoder
        pli, nack = Receiver._send_rtcp_pli, Receiver._send_rtcp_nack

        async def count_pli(self, ssrc):
            report.plis += 1
            await pli(self, ssrc)

        async def count_nack(self, ssrc, lost):
            report.nacks += 1
            await nack(self, ssrc, lost)

        Receiver._send_rtcp_pli, Receiver._send_rtcp_nack = count_pli, count_nack

    async def take(self, track, index):
        try:
            while True:
                frame = await track.recv()
                if track.kind == "video":
                    now = time.monotonic() - self.start
                    self.first_picture = self.first_picture or now
                    self.arrivals.append(now)
                    self.frames += 1
                    self.last = frame
                else:
                    # 48 kHz, stereo, 16 bits; the plane may be longer.
                    self.sounds[index].append(bytes(frame.planes[0])[:4 * frame.samples])
        except Exception as error:  # the track has ended
            self.ended = repr(error)

    def save(self):
        folder = self.options.folder
        if self.frames:
            frame = self.last.reformat(format="yuv420p")
            self.size = [frame.width, frame.height]
            with open(f"{folder}/picture.i420", "wb") as file:
                for plane in frame.planes:
                    bytes_ = bytes(plane)
                    for row in range(plane.height):
                        file.write(bytes_[row * plane.line_size:row * plane.line_size + plane.width])
        for index, sound in enumerate(self.sounds):
            with open(f"{folder}/sound-{index}.pcm", "wb") as file:
                file.write(b"".join(sound[-100:]))


def without_candidates(sdp):
    lines = sdp.split("\r\n")
    kept = [line for line in lines if not line.startswith(("a=candidate:", "a=end-of-candidates"))]
    # The ports of the first section are that of the bundle; its candidates go by PATCH.
    first = sdp.split("\r\nm=")[1].split("\r\n")
    found = [line for line in first if line.startswith(("a=candidate:", "a=end-of-candidates"))]
    head = [line for line in first if line.startswith(("a=ice-ufrag:", "a=ice-pwd:"))]
    mid = [line for line in first if line.startswith("a=mid:")]
    fragment = "\r\n".join(head + ["m=" + first[0]] + mid + found) + "\r\n"
    return "\r\n".join(kept), fragment


def read(stats, key, kind=None):
    return [getattr(entry, key) for entry in stats.values()
            if getattr(entry, "type", "") == ("inbound-rtp" if kind else "transport")
            and (kind is None or entry.kind == kind)]


async def main():
    options = whep.options().parse_args()
    report = Report(options)
    report.count()
    kinds = options.media.split(",")
    # By default aiortc leaves a second section of a kind on a transport that it then gives up.
    policy = RTCBundlePolicy.MAX_BUNDLE if kinds.count("audio") > 1 else RTCBundlePolicy.BALANCED
    peer = RTCPeerConnection(RTCConfiguration(bundlePolicy=policy))
    tasks = []
    for kind in kinds:
        if kind == "data":
            peer.createDataChannel("x")
            continue
        transceiver = peer.addTransceiver(kind, direction="recvonly")
        if kind == "video":
            codecs = RTCRtpReceiver.getCapabilities("video").codecs
            wanted = ["video/vp8"] + ([] if options.no_rtx else ["video/rtx"])
            transceiver.setCodecPreferences([each for each in codecs if each.mimeType.lower() in wanted])

    @peer.on("track")
    def on_track(track):
        same = [each for each in peer.getTransceivers() if each.kind == track.kind]
        index = next(number for number, each in enumerate(same) if each.receiver.track is track)
        while track.kind == "audio" and len(report.sounds) <= index:
            report.sounds.append([])
        tasks.append(asyncio.ensure_future(report.take(track, index)))

    states = []

    @peer.on("connectionstatechange")
    def on_state():
        states.append(peer.connectionState)

    await peer.setLocalDescription(await peer.createOffer())
    offer = peer.localDescription.sdp
    fragment = None
    if options.trickle:
        offer, fragment = without_candidates(offer)
    http = whep.HTTP(options.url, options.token)
    result = {"peer": "aiortc", "connected": False, "offer": offer}
    status, headers, answer = await asyncio.to_thread(
        http.ask, "POST", options.url, offer, Content_Type="application/sdp")
    result.update(status=status, answer=answer)
    if status == 201:
        try:
            await peer.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        except Exception as error:
            result["error"] = repr(error)
        if fragment:
            patched, _, _ = await asyncio.to_thread(
                http.ask,
                "PATCH", headers["Location"], fragment, Content_Type="application/trickle-ice-sdpfrag",
                If_Match=headers["ETag"])
            result["patched"] = patched
        begin = time.monotonic()
        while report.first_picture is None and time.monotonic() - begin < 8 and "error" not in result:
            await asyncio.sleep(0.02)
        result["connected"] = report.first_picture is not None
        await asyncio.sleep(options.skip)
        before = report.frames, report.keyframes, len(report.arrivals), report.plis, report.nacks
        stats = await peer.getStats()
        bytes_before = sum(read(stats, "bytesReceived"))
        begin = time.monotonic()
        if result["connected"]:
            await asyncio.sleep(options.seconds)
        stats = await peer.getStats()
        arrivals = report.arrivals[before[2]:] + [time.monotonic() - report.start]
        gaps = [b - a for a, b in zip(arrivals, arrivals[1:])]
        result.update(
            seconds=time.monotonic() - begin, states=states, frames=report.frames - before[0],
            keyFrames=report.keyframes - before[1], longestGap=max(gaps, default=options.seconds),
            plis=report.plis - before[3], nacks=report.nacks - before[4],
            bytes=sum(read(stats, "bytesReceived")) - bytes_before,
            videoPackets=sum(read(stats, "packetsReceived", "video")),
            videoLost=sum(read(stats, "packetsLost", "video")),
            audioPackets=read(stats, "packetsReceived", "audio"))
        report.save()
        result["size"] = report.size
        result["sounds"] = len(report.sounds)
        await asyncio.to_thread(http.ask, "DELETE", headers["Location"])
    await peer.close()
    for task in tasks:
        task.cancel()
    print(json.dumps(result), flush=True)


asyncio.run(main())
