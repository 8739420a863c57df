"""A WHEP player made of GStreamer's webrtcbin. Options, files and report: see ../README.md."""

import json
import os
import sys
import time

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir))
import whep

TRANSPORT_SEQUENCE = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
FRAGMENT = "application/trickle-ice-sdpfrag"


def parse():
    parser = whep.options()
    parser.add_argument("--nack", action="store_true")
    parser.add_argument("--feedback", default="default")
    return parser.parse_args()


def missing(numbers):
    """Of RTP sequence numbers in order, as a jitter buffer gives them out."""
    return sum(((b - a) % 65536 or 1) - 1 for a, b in zip(numbers, numbers[1:]))


def without_rtx(sdp):
    lines, kept = sdp.split("\r\n"), []
    types = [line.split(":")[1].split(" ")[0] for line in lines if line.startswith("a=rtpmap:") and " rtx/" in line]
    for line in lines:
        if line.startswith("m="):
            words = line.split(" ")
            line = " ".join(words[:3] + [word for word in words[3:] if word not in types])
        if not line.startswith(tuple(f"a={name}:{number} " for name in ("rtpmap", "fmtp", "rtcp-fb") for number in types)):
            kept.append(line)
    return "\r\n".join(kept)


options = parse()
Gst.init(None)
http = whep.HTTP(options.url, options.token)


class Player:
    def __init__(self):
        self.loop = GLib.MainLoop()
        self.pipeline = Gst.Pipeline.new("player")
        self.webrtc = Gst.ElementFactory.make("webrtcbin", "webrtc")
        self.webrtc.set_property("bundle-policy", GstWebRTC.WebRTCBundlePolicy.MAX_BUNDLE)
        # webrtcbin keeps to the pace of RTCP: a NACK may wait for half a second, and then the default 200 ms are over.
        if options.nack or options.no_rtx:
            self.webrtc.set_property("latency", 1000)
        self.pipeline.add(self.webrtc)
        self.frames = self.keyframes = 0
        self.packets = {"video": [], "audio": []}
        self.arrivals, self.sounds, self.caps = [], [], None
        self.last = None
        self.candidates, self.session, self.states = [], None, []
        self.result = {"peer": "gstreamer", "connected": False}
        self.webrtc.connect("pad-added", self.pad_added)
        self.webrtc.connect("on-ice-candidate", self.found)
        self.webrtc.connect("notify::ice-gathering-state", self.gathering)
        self.webrtc.connect("notify::connection-state", self.state)
        bus = self.pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message::error", lambda _, message: self.fail(str(message.parse_error())))
        self.is_negotiating = False

    def fail(self, reason):
        self.result["error"] = reason
        self.finish()

    def run(self):
        self.pipeline.set_state(Gst.State.PLAYING)
        extension = "" if options.feedback == "remb" else f',extmap-1="{TRANSPORT_SEQUENCE}",rtcp-fb-transport-cc=true'
        for kind in options.media.split(","):
            if kind == "data":
                self.channel = self.webrtc.emit("create-data-channel", "x", None)
                continue
            if kind == "video":
                text = "application/x-rtp,media=video,encoding-name=VP8,clock-rate=90000,payload=96"
            else:
                number = 97 + len(self.sounds)
                text = f"application/x-rtp,media=audio,encoding-name=OPUS,clock-rate=48000,payload={number}"
                text += ",encoding-params=(string)2"
                self.sounds.append(b"")
            transceiver = self.webrtc.emit(
                "add-transceiver", GstWebRTC.WebRTCRTPTransceiverDirection.RECVONLY,
                Gst.Caps.from_string(text + extension))
            # Without it webrtcbin asks for nothing that is lost; with it, it offers RTX, too. In a bundle the last section's holds
            # for all: webrtcbin 1.22 sets every jitter buffer to what each section wants, one after the other.
            transceiver.set_property("do-nack", options.nack or options.no_rtx)
        self.sounds = []
        promise = Gst.Promise.new_with_change_func(self.offer_made, None)
        self.webrtc.emit("create-offer", None, promise)
        GLib.timeout_add_seconds(38, lambda: self.fail("no end within 38 s"))
        self.loop.run()
        self.pipeline.set_state(Gst.State.NULL)
        print(json.dumps(self.result), flush=True)

    def offer_made(self, promise, _):
        # The reply owns the offer.
        reply = promise.get_reply()
        offer = reply.get_value("offer")
        self.webrtc.emit("set-local-description", offer, None)
        if options.trickle:
            self.early = offer.sdp.as_text()
            GLib.idle_add(self.post, self.early)

    def gathering(self, *_):
        if self.webrtc.get_property("ice-gathering-state") != GstWebRTC.WebRTCICEGatheringState.COMPLETE:
            return
        if options.trickle:
            GLib.idle_add(self.found, self.webrtc, 0, None)
        else:
            GLib.idle_add(self.post, None)

    def state(self, *_):
        self.states.append(self.webrtc.get_property("connection-state").value_nick)

    def post(self, text):
        if self.session:
            return
        text = text or self.webrtc.get_property("local-description").sdp.as_text()
        if options.no_rtx:
            text = without_rtx(text)
        status, headers, answer = http.ask("POST", options.url, text, Content_Type="application/sdp")
        self.result.update(offer=text, status=status, answer=answer)
        if status != 201:
            return self.finish()
        self.session = headers
        self.offer = text
        _, description = GstSdp.SDPMessage.new_from_text(answer)
        answer = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, description)
        self.webrtc.emit("set-remote-description", answer, None)
        if options.trickle:
            self.flush()
        self.begin = time.monotonic()
        GLib.timeout_add(20, self.wait)

    def found(self, _, index, candidate):
        """A candidate, or None after the last."""
        self.candidates.append(candidate)
        if options.trickle and self.session:
            GLib.idle_add(self.flush)

    def flush(self):
        waiting, self.candidates = self.candidates, []
        if not waiting:
            return
        lines = self.offer.replace("\r", "").split("\n")

        def first(name):
            return next(line for line in lines if line.startswith(f"a={name}:"))

        fragment = [first("ice-ufrag"), first("ice-pwd"), "m=video 9 UDP/TLS/RTP/SAVPF 96", first("mid")]
        fragment += ["a=end-of-candidates" if each is None else "a=" + each for each in waiting]
        self.result["patched"], _, _ = http.ask(
            "PATCH", self.session["Location"], "\r\n".join(fragment) + "\r\n", Content_Type=FRAGMENT,
            If_Match=self.session["ETag"])

    def wait(self):
        if self.last is None:
            if time.monotonic() - self.begin < 8:
                return True
            self.finish()
            return False
        self.result["connected"] = True
        GLib.timeout_add(int(options.skip * 1000) + 1, self.count)
        return False

    def counters(self):
        promise = Gst.Promise.new()
        self.webrtc.emit("get-stats", None, promise)
        promise.wait()
        stats, kinds = promise.get_reply(), {}
        found = {"bytes": 0, "nacks": 0, "plis": 0}

        def look(field, value, *_):
            if not isinstance(value, Gst.Structure) or not value.get_name().startswith("inbound-rtp"):
                return True

            def number(key):
                return value.get_value(key) if value.has_field(key) else 0

            found["bytes"] += number("bytes-received")
            found["nacks"] += number("nack-count")
            found["plis"] += number("pli-count")
            return True

        stats.foreach(lambda field, value: look(GLib.quark_to_string(field), value))
        return found

    def count(self):
        self.before = self.frames, self.keyframes, len(self.arrivals), self.counters(), time.monotonic()
        GLib.timeout_add(int(options.seconds * 1000), self.end)
        return False

    def end(self):
        frames, keyframes, count, before, begin = self.before
        now = self.counters()
        moments = [begin] + self.arrivals[count:] + [time.monotonic()]
        self.result.update(
            seconds=time.monotonic() - begin, states=self.states, frames=self.frames - frames,
            keyFrames=self.keyframes - keyframes, longestGap=max(b - a for a, b in zip(moments, moments[1:])),
            bytes=now["bytes"] - before["bytes"], plis=now["plis"] - before["plis"],
            nacks=now["nacks"] - before["nacks"], audioPackets=[each[0] for each in self.packets["audio"]],
            videoPackets=sum(each[0] for each in self.packets["video"]),
            videoLost=sum(missing(each[1]) for each in self.packets["video"]), sounds=len(self.sounds))
        self.finish()
        return False

    def finish(self):
        if self.last:
            with open(f"{options.folder}/picture.i420", "wb") as file:
                file.write(self.last)
            self.result["size"] = self.caps
        for index, sound in enumerate(self.sounds):
            with open(f"{options.folder}/sound-{index}.pcm", "wb") as file:
                file.write(sound[-400_000:])
        if self.session:
            http.ask("DELETE", self.session["Location"])
        self.session = None
        self.loop.quit()

    def pad_added(self, _, pad):
        if pad.get_direction() != Gst.PadDirection.SRC:
            return
        caps = pad.get_current_caps() or pad.query_caps(None)
        media = caps.get_structure(0).get_string("media")
        if media == "video":
            chain = "rtpvp8depay name=depay request-keyframe=true wait-for-keyframe=true ! vp8dec ! video/x-raw,format=I420 ! appsink name=sink"
        else:
            chain = ("rtpopusdepay ! opusdec ! audioconvert ! audioresample ! "
                     "audio/x-raw,format=S16LE,rate=48000,channels=2 ! appsink name=sink")
        # What left the jitter buffer: what was lost for good is missing.
        counter = [0, []]
        self.packets[media].append(counter)
        pad.add_probe(Gst.PadProbeType.BUFFER, self.packet, counter)
        part = Gst.parse_bin_from_description("queue ! " + chain + " emit-signals=true sync=false", True)
        sink = part.get_by_name("sink")
        if media == "video":
            part.get_by_name("depay").get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, self.encoded)
            sink.connect("new-sample", self.picture)
        else:
            # The first or the second audio section, whichever plays first.
            place = pad.get_property("transceiver").get_property("mlineindex")
            kinds = options.media.split(",")
            index = kinds[:place].count("audio")
            self.sounds += [b""] * (index + 1 - len(self.sounds))
            sink.connect("new-sample", self.sound, index)
        self.pipeline.add(part)
        part.sync_state_with_parent()
        pad.link(part.get_static_pad("sink"))

    def packet(self, _, info, counter):
        counter[0] += 1
        counter[1].append(int.from_bytes(info.get_buffer().extract_dup(2, 2), "big"))
        return Gst.PadProbeReturn.OK

    def encoded(self, _, info):
        if not info.get_buffer().has_flags(Gst.BufferFlags.DELTA_UNIT):
            self.keyframes += 1
        return Gst.PadProbeReturn.OK

    def picture(self, sink):
        sample = sink.emit("pull-sample")
        shape = sample.get_caps().get_structure(0)
        self.caps = [shape.get_value("width"), shape.get_value("height")]
        data = sample.get_buffer()
        self.last = data.extract_dup(0, data.get_size())
        self.frames += 1
        self.arrivals.append(time.monotonic())
        return Gst.FlowReturn.OK

    def sound(self, sink, index):
        data = sink.emit("pull-sample").get_buffer()
        self.sounds[index] = (self.sounds[index] + data.extract_dup(0, data.get_size()))[-400_000:]
        return Gst.FlowReturn.OK


Player().run()
