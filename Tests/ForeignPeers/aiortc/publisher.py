"""A WHIP client (RFC 9725) made of aiortc: publishes a moving picture and a tone for some seconds, or until SIGINT.

Options: --url URL, --token TOKEN, --seconds S. Certificates are not checked. Prints a report, a line of JSON: status, answer,
deleted (the status of the DELETE).
"""

import argparse
import asyncio
import json
import os
import signal
import sys

from aiortc import RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.mediastreams import AudioStreamTrack, VideoStreamTrack

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir))
import whep


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--token", required=True)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    peer = RTCPeerConnection()
    video = peer.addTransceiver(VideoStreamTrack(), direction="sendonly")
    codecs = RTCRtpSender.getCapabilities("video").codecs
    video.setCodecPreferences([each for each in codecs if each.mimeType.lower() in ("video/vp8", "video/rtx")])
    peer.addTransceiver(AudioStreamTrack(), direction="sendonly")
    await peer.setLocalDescription(await peer.createOffer())
    http = whep.HTTP(options.url, options.token)
    status, headers, answer = await asyncio.to_thread(
        http.ask, "POST", options.url, peer.localDescription.sdp, Content_Type="application/sdp")
    report = {"status": status, "answer": answer}
    if status == 201:
        await peer.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        stopped = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stopped.set)
        try:
            await asyncio.wait_for(stopped.wait(), options.seconds)
        except asyncio.TimeoutError:
            pass
        report["deleted"], _, _ = await asyncio.to_thread(http.ask, "DELETE", headers["Location"])
    await peer.close()
    print(json.dumps(report), flush=True)


asyncio.run(main())
