"""A WHIP endpoint (RFC 9725) made of aiortc, for one session. It decodes what it gets, and answers PATCH with 405.

Options: --token TOKEN, --folder PATH. The first line on stdout is the endpoint's URL. It prints a line of JSON with `first` after the first
frame, and one with `many` after 20 frames and 50 of each audio track; after the DELETE a report, a line of JSON: connected, deleted, frames, keyFrames, size, audio (frames of each track), offer. Files: picture.i420, the last frame.
"""

import argparse
import asyncio
import json

from aiortc import RTCPeerConnection, RTCSessionDescription
from aiortc.codecs import vpx
import aiortc.codecs

report = {"connected": False, "deleted": False, "frames": 0, "keyFrames": 0, "size": None, "audio": []}
finished = None


class Decoder(vpx.Vp8Decoder):
    def decode(self, encoded):
        report["keyFrames"] += encoded.data[:1] != b"" and encoded.data[0] & 1 == 0
        return super().decode(encoded)


# The receiver looks its decoder up by name.
aiortc.codecs.Vp8Decoder = Decoder


class Session:
    def __init__(self, folder):
        self.peer = RTCPeerConnection()
        self.folder = folder
        self.tasks = []
        self.has_many = False
        self.peer.on("track", self.on_track)

    def on_track(self, track):
        if track.kind == "audio":
            report["audio"].append(0)
        index = len(report["audio"]) - 1
        self.tasks.append(asyncio.ensure_future(self.take(track, index)))

    async def take(self, track, index):
        while True:
            try:
                frame = await track.recv()
            except Exception:  # the track has ended
                return
            report["connected"] = True
            if track.kind == "audio":
                report["audio"][index] += 1
                self.tell_many()
                continue
            report["frames"] += 1
            report["size"] = [frame.width, frame.height]
            self.last = frame
            if report["frames"] == 1:
                print(json.dumps({"first": report["size"]}), flush=True)
            self.tell_many()

    def tell_many(self):
        if not self.has_many and report["frames"] > 20 and min(report["audio"], default=0) > 50:
            self.has_many = True
            print(json.dumps({"many": report["frames"]}), flush=True)

    async def answer(self, offer):
        report["offer"] = offer
        await self.peer.setRemoteDescription(RTCSessionDescription(offer, "offer"))
        await self.peer.setLocalDescription(await self.peer.createAnswer())
        return self.peer.localDescription.sdp

    async def close(self):
        if report["frames"]:
            frame = self.last.reformat(format="yuv420p")
            with open(f"{self.folder}/picture.i420", "wb") as file:
                for plane in frame.planes:
                    data = bytes(plane)
                    for row in range(plane.height):
                        file.write(data[row * plane.line_size:row * plane.line_size + plane.width])
        await self.peer.close()


async def serve(options):
    session = Session(options.folder)

    async def handle(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in head[1:] if ":" in line}
        body = (await reader.readexactly(int(headers.get("content-length", 0)))).decode()
        status, extra, text = "404 Not Found", [], ""
        if headers.get("authorization") != f"Bearer {options.token}":
            status = "401 Unauthorized"
        elif (method, path) == ("POST", "/whip/room"):
            text = await session.answer(body)
            status = "201 Created"
            extra = ["Location: /whip/room/1", "Content-Type: application/sdp", 'ETag: "1"']
        elif (method, path) == ("PATCH", "/whip/room/1"):
            status = "405 Method Not Allowed"
        elif (method, path) == ("DELETE", "/whip/room/1"):
            status, report["deleted"] = "200 OK", True
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(text.encode())}", "Connection: close"] + extra
        writer.write(("\r\n".join(lines) + "\r\n\r\n" + text).encode())
        await writer.drain()
        writer.close()
        if report["deleted"] and not finished.done():
            finished.set_result(None)

    server = await asyncio.start_server(handle, options.address, 0)
    host, port = server.sockets[0].getsockname()[:2]
    print(f"http://{host}:{port}/whip/room", flush=True)
    await finished
    await session.close()
    print(json.dumps(report), flush=True)


async def main():
    global finished
    parser = argparse.ArgumentParser()
    parser.add_argument("--token", default="")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--address", default="127.0.0.1")
    finished = asyncio.get_running_loop().create_future()
    await serve(parser.parse_args())


asyncio.run(main())
