// gstreamer: GStreamer as a screen share: this process captures a display, a child shows it on another, WebRTC between them.
// usage: gstreamer DISPLAY_A DISPLAY_B [NETWORK]   (without displays: exits with 1 and names what is missing, if something is)
//   NETWORK: the file of the network namespace that the child is in
// prints {"event": "playing"} at the first picture, then {"event": "statistics", "bytes": RTP with headers, "frames": N} each second.
#define _GNU_SOURCE
#include <stdio.h>
#if !__has_include(<gst/webrtc/webrtc.h>)
int main(void) {
    fprintf(stderr, "gstreamer: its development files were missing when this was built\n");
    return 1;
}
#else
#define GST_USE_UNSTABLE_API // its WebRTC library is one
#include <gst/gst.h>
#include <gst/webrtc/webrtc.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// What gave the lowest latency in the stamp scene on two cores, at about thirty pictures a second as the others have:
// - 31 captures a second: at the stamp's own 30, how the two happen to be in step decides, and p50 is anything between 23 and 52 ms;
//   61 captures take at most 8 ms off, double the CPU, and are behind as soon as the machine is not idle.
// - One thread to encode with, at a fixed speed: a second gains nothing, and loses stamps when the machine is busy;
//   a positive cpu-used adapts the speed, and was slower.
// - One waiting picture, the newest, so that capturing goes on while a picture is encoded.
// - A quantizer up to 63, no key frames but those asked for, and retransmission: without them bursts overflow the receiver's socket
//   in the scrolling scene, and the picture stays broken.
// - A jitter buffer of 100 ms to wait for retransmissions: what comes in order is shown at once (sync=0), and with 0 ms few stamps came through.
static const char *sending =
    "ximagesrc use-damage=1 show-pointer=1 ! video/x-raw,framerate=31/1 ! videoconvert "
    "! queue leaky=downstream max-size-buffers=1 max-size-bytes=0 max-size-time=0 "
    "! vp8enc name=encoder deadline=1 cpu-used=-8 threads=1 lag-in-frames=0 static-threshold=100 keyframe-mode=disabled "
    "end-usage=cbr target-bitrate=6000000 min-quantizer=4 max-quantizer=63 undershoot=100 overshoot=15 "
    "buffer-initial-size=500 buffer-optimal-size=600 buffer-size=1000 "
    "! rtpvp8pay name=packets mtu=1200 ! application/x-rtp,media=video,encoding-name=VP8,payload=96 "
    "! webrtcbin name=peer bundle-policy=max-bundle latency=0";
static const char *receiving = "webrtcbin name=peer bundle-policy=max-bundle latency=100";
static const char *showing =
    "rtpvp8depay request-keyframe=1 wait-for-keyframe=1 ! vp8dec threads=1 ! videoconvert ! ximagesink name=window sync=0";

static const char *elements[] = { "ximagesrc", "videoconvert", "queue", "capsfilter", "vp8enc", "rtpvp8pay", "webrtcbin", "rtpvp8depay",
                                  "vp8dec", "ximagesink", "nicesink", "dtlssrtpenc", "srtpenc", "rtpbin" };

static _Atomic long bytes, frames;

static void die(const char *what, const char *why) {
    fprintf(stderr, "gstreamer: %s%s%s\n", what, why ? ": " : "", why ? why : "");
    exit(1);
}

static GstElement *named(GstElement *bin, const char *name) { return gst_bin_get_by_name(GST_BIN(bin), name); }

static GstElement *parse(const char *text) {
    GError *error = NULL;
    GstElement *pipeline = gst_parse_launch(text, &error);
    if (error) die("no pipeline", error->message);
    return pipeline;
}

static void probe(GstElement *bin, const char *element, const char *pad, GstPadProbeType type, GstPadProbeCallback callback) {
    GstElement *e = named(bin, element);
    GstPad *p = gst_element_get_static_pad(e, pad);
    gst_pad_add_probe(p, type, callback, NULL, NULL);
    gst_object_unref(p);
    gst_object_unref(e);
}

static GstPadProbeReturn count_packets(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
    (void)pad; (void)data;
    if (info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST) bytes += (long)gst_buffer_list_calculate_size(GST_PAD_PROBE_INFO_BUFFER_LIST(info));
    else bytes += (long)gst_buffer_get_size(GST_PAD_PROBE_INFO_BUFFER(info));
    return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn count_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
    (void)pad; (void)info; (void)data;
    frames++;
    return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn say_playing(GstPad *pad, GstPadProbeInfo *info, gpointer data) {
    (void)pad; (void)info; (void)data;
    puts("{\"event\": \"playing\"}");
    return GST_PAD_PROBE_REMOVE;
}

// The descriptions go through a socket pair, with all candidates in them: the length, then the text.
static void send_local(int s, GstElement *peer) {
    GstWebRTCSessionDescription *d = NULL;
    g_object_get(peer, "local-description", &d, NULL);
    char *text = gst_sdp_message_as_text(d->sdp);
    size_t length = strlen(text);
    if (write(s, &length, sizeof length) != sizeof length || write(s, text, length) != (ssize_t)length) die("the other side is gone", NULL);
    g_free(text);
    gst_webrtc_session_description_free(d);
}

static void receive_remote(int s, GstElement *peer, GstWebRTCSDPType type) {
    size_t length = 0;
    if (recv(s, &length, sizeof length, MSG_WAITALL) != sizeof length || length > 1 << 20) die("the other side is gone", NULL);
    char *text = g_malloc(length + 1);
    if (recv(s, text, length, MSG_WAITALL) != (ssize_t)length) die("the other side is gone", NULL);
    text[length] = 0;
    GstSDPMessage *sdp;
    if (gst_sdp_message_new_from_text(text, &sdp) != GST_SDP_OK) die("no session description", text);
    g_free(text);
    GstWebRTCSessionDescription *d = gst_webrtc_session_description_new(type, sdp);
    GstPromise *done = gst_promise_new();
    g_signal_emit_by_name(peer, "set-remote-description", d, done);
    gst_promise_wait(done);
    gst_promise_unref(done);
    gst_webrtc_session_description_free(d);
}

static void gathered(GstElement *peer, GParamSpec *spec, gpointer queue) {
    (void)spec;
    GstWebRTCICEGatheringState state;
    g_object_get(peer, "ice-gathering-state", &state, NULL);
    if (state == GST_WEBRTC_ICE_GATHERING_STATE_COMPLETE) g_async_queue_push(queue, peer);
}

// Lost packets are asked for again.
static void repair(GstElement *peer, GstWebRTCRTPTransceiver *transceiver) {
    (void)peer;
    g_object_set(transceiver, "do-nack", TRUE, NULL);
}

// Makes an offer or answer and waits until all candidates are gathered.
static void describe(GstElement *peer, const char *what) {
    GAsyncQueue *queue = g_async_queue_new();
    gulong handler = g_signal_connect(peer, "notify::ice-gathering-state", G_CALLBACK(gathered), queue);
    char signal[32];
    snprintf(signal, sizeof signal, "create-%s", what);
    GstPromise *done = gst_promise_new();
    g_signal_emit_by_name(peer, signal, NULL, done);
    gst_promise_wait(done);
    GstWebRTCSessionDescription *d = NULL;
    gst_structure_get(gst_promise_get_reply(done), what, GST_TYPE_WEBRTC_SESSION_DESCRIPTION, &d, NULL);
    gst_promise_unref(done);
    if (!d) die("no session description", what);
    done = gst_promise_new();
    g_signal_emit_by_name(peer, "set-local-description", d, done);
    gst_promise_wait(done);
    gst_promise_unref(done);
    gst_webrtc_session_description_free(d);
    if (!g_async_queue_timeout_pop(queue, 10 * G_TIME_SPAN_SECOND)) die("no candidates after 10 s", NULL);
    g_signal_handler_disconnect(peer, handler);
    g_async_queue_unref(queue);
}

// Until an error, or until the other process ends; tells the figures each second if it sends.
static void run(GstElement *pipeline, pid_t child) {
    GstBus *bus = gst_element_get_bus(pipeline);
    for (;;) {
        GstMessage *m = gst_bus_timed_pop_filtered(bus, GST_SECOND, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
        if (m && GST_MESSAGE_TYPE(m) == GST_MESSAGE_EOS) die("the stream ended", NULL);
        if (m) {
            GError *error = NULL;
            gst_message_parse_error(m, &error, NULL);
            die(GST_OBJECT_NAME(m->src), error->message);
        }
        if (!child) continue;
        if (waitpid(child, NULL, WNOHANG) == child) die("the receiving process ended", NULL);
        printf("{\"event\": \"statistics\", \"bytes\": %ld, \"frames\": %ld}\n", bytes, frames);
    }
}

static void send_screen(int s, pid_t child) {
    GstElement *pipeline = parse(sending), *peer = named(pipeline, "peer");
    probe(pipeline, "packets", "src", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, count_packets);
    probe(pipeline, "encoder", "src", GST_PAD_PROBE_TYPE_BUFFER, count_frame);
    GAsyncQueue *queue = g_async_queue_new();
    g_signal_connect_swapped(peer, "on-negotiation-needed", G_CALLBACK(g_async_queue_push), queue);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    // It comes when the first packet's format is known; an offer made earlier would have no media.
    if (!g_async_queue_timeout_pop(queue, 10 * G_TIME_SPAN_SECOND)) {
        GstMessage *m = gst_bus_pop_filtered(gst_element_get_bus(pipeline), GST_MESSAGE_ERROR);
        GError *error = NULL;
        if (m) gst_message_parse_error(m, &error, NULL);
        die("nothing to send after 10 s", error ? error->message : NULL);
    }
    GstWebRTCRTPTransceiver *transceiver = NULL;
    g_signal_emit_by_name(peer, "get-transceiver", 0, &transceiver);
    repair(peer, transceiver);
    describe(peer, "offer");
    send_local(s, peer);
    receive_remote(s, peer, GST_WEBRTC_SDP_TYPE_ANSWER);
    run(pipeline, child);
}

static void show(GstElement *peer, GstPad *pad, gpointer data) {
    (void)data;
    if (GST_PAD_DIRECTION(pad) != GST_PAD_SRC) return;
    GstElement *pipeline = GST_ELEMENT(gst_element_get_parent(peer));
    GstElement *bin = gst_parse_bin_from_description(showing, TRUE, NULL);
    if (!bin) die("no pipeline", showing);
    probe(bin, "window", "sink", GST_PAD_PROBE_TYPE_BUFFER, say_playing);
    gst_bin_add(GST_BIN(pipeline), bin);
    gst_element_sync_state_with_parent(bin);
    if (gst_pad_link(pad, gst_element_get_static_pad(bin, "sink")) != GST_PAD_LINK_OK) die("what came is not VP8", NULL);
}

static void receive_screen(int s) {
    GstElement *pipeline = gst_pipeline_new(NULL), *peer = parse(receiving);
    gst_bin_add(GST_BIN(pipeline), peer);
    g_signal_connect(peer, "on-new-transceiver", G_CALLBACK(repair), NULL);
    g_signal_connect(peer, "pad-added", G_CALLBACK(show), NULL);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    receive_remote(s, peer, GST_WEBRTC_SDP_TYPE_OFFER);
    describe(peer, "answer");
    send_local(s, peer);
    run(pipeline, 0);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    int s[2];
    if (argc == 1) {
        gst_init(NULL, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(elements); i++) {
            GstElementFactory *factory = gst_element_factory_find(elements[i]);
            if (!factory) die("a plugin is missing, the one with the element", elements[i]);
            gst_object_unref(factory);
        }
        return 0;
    }
    if (argc < 3 || argc > 4 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s)) {
        fprintf(stderr, "usage: gstreamer DISPLAY_A DISPLAY_B [NETWORK]\n");
        return 2;
    }
    // Two processes, each of which starts GStreamer, so that the CPU of sending can be told from that of receiving.
    pid_t parent = getpid(), child = fork();
    if (child < 0) die("no second process", NULL);
    close(s[child != 0]);
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) return 1;
        int network = argc == 4 ? open(argv[3], O_RDONLY | O_CLOEXEC) : -1;
        if (argc == 4 && (network < 0 || setns(network, CLONE_NEWNET))) die("no such network", argv[3]);
    }
    setenv("DISPLAY", argv[child ? 1 : 2], 1);
    gst_init(NULL, NULL);
    if (child) send_screen(s[0], child);
    else receive_screen(s[1]);
    return 1;
}
#endif
