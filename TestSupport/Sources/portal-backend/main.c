// A compositor for tests: a backend of xdg-desktop-portal (org.freedesktop.impl.portal.ScreenCast, version 4, and
// .RemoteDesktop, version 1) that grants a PipeWire node with a drawn screen, and says what input it gets. The object
// /io/sharekit/TestCompositor obeys: Do(s) -> (s), one command a call.
// It has no windows and asks nobody: `answer` sets what Start answers. Notable events are lines on stdout.

#define _GNU_SOURCE
#include <fcntl.h>
#include <gio/gio.h>
#include <glib-unix.h>
#include <pipewire/pipewire.h>
#include <spa/debug/types.h>
#include <spa/param/video/format-utils.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAME "org.freedesktop.impl.portal.desktop.sharetest"
#define MAX_RECTS 16
#define CURSOR_SIDE 64
#define CURSOR_SIZE(w, h) (sizeof(struct spa_meta_cursor) + sizeof(struct spa_meta_bitmap) + (w) * (h) * 4)
#define LINEAR 0

typedef struct {
    int x, y, w, h;
} Rect;

static GMainLoop *main_loop;
static GDBusConnection *bus;
static struct pw_thread_loop *loop;
static struct pw_context *context;
static struct pw_core *core;
static struct spa_hook core_hook, stream_hook;
static struct pw_stream *stream;
static char session_path[256];
static guint session_object;
static GDBusMethodInvocation *waiting;  // Start, until the node has an id
static char answer[16] = "grant";
static bool is_restored;
static bool is_broken;

// The screen, as BGRx.
static uint32_t *screen;
static int width = 640, height = 480;
static uint32_t format = SPA_VIDEO_FORMAT_BGRx;
static bool is_dmabuf, has_damage = true, has_cursor_meta, is_lazy, has_begun;
// How many frames are still lost.
static int losses;
static uint32_t cursor_modes = 7;
// What is granted of the keyboard (1) and the pointer (2).
static uint32_t devices = 3;
// What is granted: 1 a monitor, 2 a window.
static uint32_t kind = 1;
static int padding;  // bytes after each row
static Rect crop;    // empty: none
static uint32_t transform;

static Rect damage[MAX_RECTS];
static int damages;
static bool is_full, is_pending, is_streaming, is_negotiating;
static char lie[16];

static struct {
    int x, y, w, h, hot_x, hot_y;
    uint32_t colour;
    bool is_visible, is_new;
} cursor;
static bool is_cursor_only;
static struct spa_source *timer;
static int video_step;
static Rect video;
static uint64_t video_interval;

static void say(const char *text) {
    puts(text);
    fflush(stdout);
}

// MARK: PipeWire

static void reset_screen(int w, int h) {
    free(screen);
    width = w;
    height = h;
    screen = calloc((size_t)w * h, 4);
    is_full = true;
}

static void add_damage(Rect rect) {
    if (damages < MAX_RECTS) damage[damages++] = rect;
    else is_full = true;
}

static void paint(Rect rect, uint32_t colour) {
    for (int y = rect.y; y < rect.y + rect.h; y++)
        for (int x = rect.x; x < rect.x + rect.w; x++)
            if (x >= 0 && y >= 0 && x < width && y < height) screen[y * width + x] = colour;
}

static uint32_t reordered(uint32_t pixel) {
    if (format == SPA_VIDEO_FORMAT_BGRx || format == SPA_VIDEO_FORMAT_BGRA) return pixel;
    return (pixel & 0xff00ff00) | (pixel >> 16 & 0xff) | (pixel & 0xff) << 16;
}

static void copy_screen(uint8_t *bytes, int stride) {
    for (int y = 0; y < height; y++) {
        uint32_t *row = (uint32_t *)(bytes + (size_t)y * stride);
        if (format == SPA_VIDEO_FORMAT_BGRx || format == SPA_VIDEO_FORMAT_BGRA)
            memcpy(row, screen + (size_t)y * width, (size_t)width * 4);
        else
            for (int x = 0; x < width; x++) row[x] = reordered(screen[y * width + x]);
    }
}

static void put_cursor(struct spa_buffer *buffer) {
    struct spa_meta *meta = spa_buffer_find_meta(buffer, SPA_META_Cursor);
    struct spa_meta_cursor *target = meta ? spa_buffer_find_meta_data(buffer, SPA_META_Cursor, sizeof *target) : NULL;
    if (!target) return;
    memset(target, 0, sizeof *target);
    target->id = cursor.is_visible ? 1 : 0;
    target->position = SPA_POINT(cursor.x, cursor.y);
    target->hotspot = SPA_POINT(cursor.hot_x, cursor.hot_y);
    if (!cursor.is_new || !cursor.is_visible) return;
    cursor.is_new = false;
    target->bitmap_offset = sizeof *target;
    struct spa_meta_bitmap *bitmap = SPA_PTROFF(target, sizeof *target, struct spa_meta_bitmap);
    bitmap->format = SPA_VIDEO_FORMAT_RGBA;
    bitmap->size = SPA_RECTANGLE(cursor.w, cursor.h);
    bitmap->stride = cursor.w * 4;
    bitmap->offset = sizeof *bitmap;
    uint32_t *pixels = SPA_PTROFF(bitmap, sizeof *bitmap, uint32_t);
    for (int i = 0; i < cursor.w * cursor.h; i++)
        pixels[i] = 0xff000000 | (cursor.colour >> 16 & 0xff) | (cursor.colour & 0xff00) | (cursor.colour & 0xff) << 16;
    if (!strcmp(lie, "bitmap")) target->bitmap_offset = meta->size - 8;
    if (!strcmp(lie, "bitmapsize")) bitmap->size = SPA_RECTANGLE(60000, 60000);
    if (!strcmp(lie, "bitmapstride")) bitmap->stride = 0x7fffffff;
    if (!strcmp(lie, "bitmapoffset")) bitmap->offset = 0xfffffff0;
}

static void put_damage(struct spa_buffer *buffer) {
    struct spa_meta *meta = spa_buffer_find_meta(buffer, SPA_META_VideoDamage);
    if (!meta) return;
    if (is_full) {
        damages = 0;
        add_damage((Rect){0, 0, width, height});
    }
    struct spa_meta_region *region;
    int i = 0;
    spa_meta_for_each(region, meta) {
        region->region = i < damages ? SPA_REGION(damage[i].x, damage[i].y, damage[i].w, damage[i].h)
                                     : SPA_REGION(0, 0, 0, 0);
        if (!strcmp(lie, "damage")) region->region = SPA_REGION(-0x7fffffff, 0x7fffffff, 0xffffffff, 0xffffffff);
        i++;
    }
}

// As a compositor's clock. PipeWire keeps a buffer that follows another one at once until the next comes.
static const int64_t frame_time = 20000000;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void send_frame(void) {
    static int64_t last = 0;
    if (!stream || !is_streaming) return;
    int64_t rest = last + frame_time - now();
    if (!video_interval && rest > 0) {
        struct timespec later = {0, rest};
        is_pending = true;
        pw_loop_update_timer(pw_thread_loop_get_loop(loop), timer, &later, NULL, false);
        return;
    }
    if (losses > 0 && !is_negotiating) {
        losses--;
        is_full = is_pending = false;
        damages = 0;
        return;
    }
    // Buffers of the old size are not used any more.
    struct pw_buffer *b = is_negotiating ? NULL : pw_stream_dequeue_buffer(stream);
    struct timespec soon = {0, 4000000}, never = {0, 0};
    is_pending = !b;
    if (!video_interval) pw_loop_update_timer(pw_thread_loop_get_loop(loop), timer, b ? &never : &soon, NULL, false);
    if (!b) return;
    struct spa_buffer *buffer = b->buffer;
    struct spa_data *data = &buffer->datas[0];
    int stride = width * 4 + padding;
    bool has_picture = is_full || damages > 0 || !is_cursor_only;
    data->chunk->offset = 0;
    data->chunk->stride = stride;
    data->chunk->size = has_picture ? stride * height : 0;
    data->chunk->flags = has_picture ? SPA_CHUNK_FLAG_NONE : SPA_CHUNK_FLAG_CORRUPTED;
    if (has_picture) copy_screen(data->data, stride);
    put_damage(buffer);
    put_cursor(buffer);
    struct spa_meta_region *area = spa_buffer_find_meta_data(buffer, SPA_META_VideoCrop, sizeof *area);
    if (area) {
        Rect r = crop.w ? crop : (Rect){0, 0, width, height};
        area->region = SPA_REGION(r.x, r.y, r.w, r.h);
        if (!strcmp(lie, "crop")) area->region = SPA_REGION(100, 100, 0xfffffff0, 0xfffffff0);
    }
    struct spa_meta_header *header = spa_buffer_find_meta_data(buffer, SPA_META_Header, sizeof *header);
    if (header) header->flags = !strcmp(lie, "header") ? SPA_META_HEADER_FLAG_CORRUPTED : 0;
    if (header && header->flags) memset(data->data, 0x55, (size_t)stride * height);
    struct spa_meta_videotransform *turned = spa_buffer_find_meta_data(buffer, SPA_META_VideoTransform, sizeof *turned);
    if (turned) turned->transform = !strcmp(lie, "transform") ? 0xffffffff : transform;
    if (!strcmp(lie, "corrupt")) {
        data->chunk->flags = SPA_CHUNK_FLAG_CORRUPTED;
        memset(data->data, 0x55, (size_t)stride * height);
    }
    if (!strcmp(lie, "offset")) data->chunk->offset = data->maxsize - 16;
    if (!strcmp(lie, "stride")) data->chunk->stride = 0x7ffffff0;
    if (!strcmp(lie, "negative")) data->chunk->stride = -stride;
    if (!strcmp(lie, "narrow")) data->chunk->stride = 4;
    if (!strcmp(lie, "size")) data->chunk->size = 0xfffffff0;
    if (!strcmp(lie, "short")) data->chunk->size = 64;
    if (!strcmp(lie, "truncated")) (void)!ftruncate(data->fd, 4096);
    lie[0] = 0;
    is_full = false;
    is_cursor_only = false;
    damages = 0;
    last = now();
    pw_stream_queue_buffer(stream, b);
}

static void on_timer(void *data, uint64_t expirations) {
    (void)data;
    (void)expirations;
    if (video_interval && !video.w) {
        video_step++;
        Rect letter = {video_step * 10 % (width - 20), video_step / 100 * 20 % (height - 20), 9, 18};
        paint(letter, (uint32_t)video_step * 0x9e3779b1u >> 8);
        add_damage(letter);
        send_frame();
    } else if (video_interval) {
        video_step++;
        for (int y = video.y; y < video.y + video.h && y < height; y++)
            for (int x = video.x; x < video.x + video.w && x < width; x++)
                screen[y * width + x] = (uint32_t)((x + video_step * 3) * 0x010204 ^ (y + video_step) * 0x030101);
        add_damage(video);
        send_frame();
    } else if (is_pending) {
        send_frame();
    }
}

static void on_param(void *data, uint32_t id, const struct spa_pod *param) {
    (void)data;
    if (!param || id != SPA_PARAM_Format) return;
    uint8_t bytes[1024];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(bytes, sizeof bytes);
    const struct spa_pod *params[8];
    int count = 0, stride = width * 4 + padding;
    params[count++] = spa_pod_builder_add_object(
        &b, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers, SPA_POD_CHOICE_RANGE_Int(4, 2, 8),
        SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1), SPA_PARAM_BUFFERS_size, SPA_POD_Int(stride * height),
        SPA_PARAM_BUFFERS_stride, SPA_POD_Int(stride), SPA_PARAM_BUFFERS_dataType,
        SPA_POD_CHOICE_FLAGS_Int(1 << (is_dmabuf ? SPA_DATA_DmaBuf : SPA_DATA_MemFd)));
    params[count++] = spa_pod_builder_add_object(&b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type,
                                                 SPA_POD_Id(SPA_META_VideoCrop), SPA_PARAM_META_size,
                                                 SPA_POD_Int(sizeof(struct spa_meta_region)));
    params[count++] = spa_pod_builder_add_object(&b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type,
                                                 SPA_POD_Id(SPA_META_Header), SPA_PARAM_META_size,
                                                 SPA_POD_Int(sizeof(struct spa_meta_header)));
    params[count++] = spa_pod_builder_add_object(&b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type,
                                                 SPA_POD_Id(SPA_META_VideoTransform), SPA_PARAM_META_size,
                                                 SPA_POD_Int(sizeof(struct spa_meta_videotransform)));
    if (has_damage)
        params[count++] = spa_pod_builder_add_object(
            &b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_VideoDamage),
            SPA_PARAM_META_size,
            SPA_POD_CHOICE_RANGE_Int(sizeof(struct spa_meta_region) * MAX_RECTS, sizeof(struct spa_meta_region),
                                     sizeof(struct spa_meta_region) * MAX_RECTS));
    if (has_cursor_meta)
        params[count++] = spa_pod_builder_add_object(
            &b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Cursor),
            SPA_PARAM_META_size, SPA_POD_Int(CURSOR_SIZE(CURSOR_SIDE, CURSOR_SIDE)));
    pw_stream_update_params(stream, params, count);
}

static void on_add_buffer(void *data, struct pw_buffer *buffer) {
    (void)data;
    is_negotiating = false;
    struct spa_data *d = &buffer->buffer->datas[0];
    size_t size = (size_t)(width * 4 + padding) * height;
    bool can_truncate = getenv("BACKEND_UNSEALED") != NULL, is_unmappable = getenv("BACKEND_UNMAPPABLE") != NULL;
    d->type = is_dmabuf ? SPA_DATA_DmaBuf : SPA_DATA_MemFd;
    d->flags = SPA_DATA_FLAG_READABLE | SPA_DATA_FLAG_WRITABLE;
    // A stand-in for a DMA-BUF is of the same memory: what differs is its type and that the modifier is negotiated.
    d->fd = memfd_create("frame", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    d->mapoffset = 0;
    d->maxsize = size;
    (void)!ftruncate(d->fd, size);
    if (!can_truncate) fcntl(d->fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    d->data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, 0);
    if (is_unmappable) {
        close(d->fd);
        d->fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    }
}

static void on_remove_buffer(void *data, struct pw_buffer *buffer) {
    (void)data;
    struct spa_data *d = &buffer->buffer->datas[0];
    munmap(d->data, d->maxsize);
    close(d->fd);
    d->fd = -1;
}

static gboolean finish_start(gpointer);

static void on_state(void *data, enum pw_stream_state old, enum pw_stream_state state, const char *error) {
    (void)data;
    (void)old;
    char line[256];
    snprintf(line, sizeof line, "stream %s%s%s", pw_stream_state_as_string(state), error ? ": " : "", error ? error : "");
    say(line);
    is_streaming = state == PW_STREAM_STATE_STREAMING;
    if (state == PW_STREAM_STATE_PAUSED && waiting) g_idle_add(finish_start, GINT_TO_POINTER(1));
    if (state == PW_STREAM_STATE_ERROR && waiting) g_idle_add(finish_start, GINT_TO_POINTER(0));
    if (is_streaming && !(is_lazy && has_begun)) {
        has_begun = is_full = true;
        cursor.is_new = true;
        send_frame();
    }
}

static const struct pw_stream_events stream_events = {
    PW_VERSION_STREAM_EVENTS,
    .state_changed = on_state,
    .param_changed = on_param,
    .add_buffer = on_add_buffer,
    .remove_buffer = on_remove_buffer,
};

static void on_core_error(void *data, uint32_t id, int seq, int result, const char *message) {
    (void)data;
    (void)seq;
    (void)message;
    if (id != PW_ID_CORE || result != -EPIPE) return;
    is_broken = true;
    is_streaming = false;
    say("pipewire lost");
}

static const struct pw_core_events core_events = {PW_VERSION_CORE_EVENTS, .error = on_core_error};

static void end_stream(void) {
    if (stream) pw_stream_destroy(stream);
    stream = NULL;
    is_streaming = is_negotiating = false;
}

static void disconnect_pipewire(void) {
    end_stream();
    if (core) pw_core_disconnect(core);
    core = NULL;
    is_broken = false;
}

static const struct spa_pod *screen_format(struct spa_pod_builder *b) {
    struct spa_pod_frame frame;
    spa_pod_builder_push_object(b, &frame, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    spa_pod_builder_add(b, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
                        SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), SPA_FORMAT_VIDEO_format, SPA_POD_Id(format), 0);
    if (is_dmabuf) {
        spa_pod_builder_prop(b, SPA_FORMAT_VIDEO_modifier, SPA_POD_PROP_FLAG_MANDATORY);
        spa_pod_builder_long(b, LINEAR);
    }
    spa_pod_builder_add(b, SPA_FORMAT_VIDEO_size, SPA_POD_Rectangle(&SPA_RECTANGLE(width, height)),
                        SPA_FORMAT_VIDEO_framerate, SPA_POD_Fraction(&SPA_FRACTION(0, 1)),
                        SPA_FORMAT_VIDEO_maxFramerate,
                        SPA_POD_CHOICE_RANGE_Fraction(&SPA_FRACTION(60, 1), &SPA_FRACTION(1, 1), &SPA_FRACTION(60, 1)), 0);
    return spa_pod_builder_pop(b, &frame);
}

static bool begin_stream(void) {
    if (is_broken) disconnect_pipewire();
    if (!core) {
        core = pw_context_connect(context, NULL, 0);
        if (!core) return false;
        spa_zero(core_hook);
        pw_core_add_listener(core, &core_hook, &core_events, NULL);
    }
    end_stream();
    stream = pw_stream_new(core, "test-screen-cast", pw_properties_new(PW_KEY_NODE_NAME, "test-screen-cast", NULL));
    if (!stream) return false;
    spa_zero(stream_hook);
    pw_stream_add_listener(stream, &stream_hook, &stream_events, NULL);
    uint8_t bytes[1024];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(bytes, sizeof bytes);
    const struct spa_pod *params[1] = {screen_format(&b)};
    return pw_stream_connect(stream, PW_DIRECTION_OUTPUT, PW_ID_ANY, PW_STREAM_FLAG_DRIVER | PW_STREAM_FLAG_ALLOC_BUFFERS,
                             params, 1) >= 0;
}

// MARK: The portal's backend

static void reply(GDBusMethodInvocation *call, guint32 response, GVariant *results) {
    if (!results) {
        GVariantBuilder empty;
        g_variant_builder_init(&empty, G_VARIANT_TYPE_VARDICT);
        results = g_variant_builder_end(&empty);
    }
    g_dbus_method_invocation_return_value(call, g_variant_new("(u@a{sv})", response, results));
}

static gboolean finish_start(gpointer is_good) {
    GDBusMethodInvocation *call = waiting;
    waiting = NULL;
    if (!call) return G_SOURCE_REMOVE;
    if (!GPOINTER_TO_INT(is_good)) {
        reply(call, 2, NULL);
        return G_SOURCE_REMOVE;
    }
    pw_thread_loop_lock(loop);
    guint32 node = pw_stream_get_node_id(stream);
    pw_thread_loop_unlock(loop);
    GVariantBuilder results, streams, properties;
    g_variant_builder_init(&properties, G_VARIANT_TYPE_VARDICT);
    // The logical size of a screen at scale 2.
    g_variant_builder_add(&properties, "{sv}", "size", g_variant_new("(ii)", width / 2, height / 2));
    g_variant_builder_add(&properties, "{sv}", "position", g_variant_new("(ii)", 0, 0));
    g_variant_builder_add(&properties, "{sv}", "source_type", g_variant_new_uint32(kind));
    g_variant_builder_init(&streams, G_VARIANT_TYPE("a(ua{sv})"));
    g_variant_builder_add(&streams, "(u@a{sv})", node, g_variant_builder_end(&properties));
    g_variant_builder_init(&results, G_VARIANT_TYPE_VARDICT);
    g_variant_builder_add(&results, "{sv}", "streams", g_variant_builder_end(&streams));
    g_variant_builder_add(&results, "{sv}", "devices", g_variant_new_uint32(devices));
    g_variant_builder_add(&results, "{sv}", "persist_mode", g_variant_new_uint32(2));
    g_variant_builder_add(&results, "{sv}", "restore_data",
                          g_variant_new("(suv)", "sharetest", (guint32)1, g_variant_new_string("screen")));
    reply(call, 0, g_variant_builder_end(&results));
    say("granted");
    return G_SOURCE_REMOVE;
}

static void on_session_call(GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                            const char *method, GVariant *arguments, GDBusMethodInvocation *call, gpointer data) {
    (void)connection, (void)sender, (void)path, (void)interface, (void)method, (void)arguments, (void)data;
    say("session closed by the application");
    pw_thread_loop_lock(loop);
    end_stream();
    pw_thread_loop_unlock(loop);
    g_dbus_method_invocation_return_value(call, NULL);
    if (session_object) g_dbus_connection_unregister_object(bus, session_object);
    session_object = 0;
}

static GVariant *get_property(GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                              const char *name, GError **error, gpointer data) {
    (void)connection, (void)sender, (void)path, (void)interface, (void)error, (void)data;
    if (!strcmp(name, "AvailableDeviceTypes")) return g_variant_new_uint32(7);
    if (!strcmp(name, "AvailableSourceTypes")) return g_variant_new_uint32(3);
    if (!strcmp(name, "AvailableCursorModes")) return g_variant_new_uint32(cursor_modes);
    return g_variant_new_uint32(4);
}

static const GDBusInterfaceVTable session_table = {on_session_call, get_property, NULL, {0}};

static GDBusNodeInfo *information;

static void take_restore_data(GVariant *options) {
    GVariant *data = g_variant_lookup_value(options, "restore_data", G_VARIANT_TYPE("(suv)"));
    const char *vendor = "";
    if (data) g_variant_get(data, "(&suv)", &vendor, NULL, NULL);
    is_restored = !strcmp(vendor, "sharetest");
    if (data) g_variant_unref(data);
}

static void on_call(GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                    const char *method, GVariant *arguments, GDBusMethodInvocation *call, gpointer data) {
    (void)connection, (void)sender, (void)path, (void)interface, (void)data;
    char line[256];
    if (!strcmp(method, "CreateSession")) {
        const char *session;
        g_variant_get(arguments, "(&o&o&s@a{sv})", NULL, &session, NULL, NULL);
        if (session_object) g_dbus_connection_unregister_object(bus, session_object);
        snprintf(session_path, sizeof session_path, "%s", session);
        session_object = g_dbus_connection_register_object(
            bus, session_path, g_dbus_node_info_lookup_interface(information, "org.freedesktop.impl.portal.Session"),
            &session_table, NULL, NULL, NULL);
        reply(call, 0, NULL);
    } else if (!strcmp(method, "SelectDevices")) {
        GVariant *options;
        guint32 types = 0;
        g_variant_get(arguments, "(&o&o&s@a{sv})", NULL, NULL, NULL, &options);
        g_variant_lookup(options, "types", "u", &types);
        g_variant_unref(options);
        snprintf(line, sizeof line, "devices %u", types);
        say(line);
        reply(call, 0, NULL);
    } else if (!strncmp(method, "Notify", 6)) {
        // Without the session and the options.
        int length = snprintf(line, sizeof line, "%s", method);
        for (gsize i = 2; i < g_variant_n_children(arguments) && length < (int)sizeof line; i++) {
            GVariant *value = g_variant_get_child_value(arguments, i);
            char *text = g_variant_print(value, FALSE);
            length += snprintf(line + length, sizeof line - length, " %s", text);
            g_free(text);
            g_variant_unref(value);
        }
        say(line);
        g_dbus_method_invocation_return_value(call, NULL);
    } else if (!strcmp(method, "SelectSources")) {
        GVariant *options;
        guint32 types = 0, mode = 0, persist = 0;
        g_variant_get(arguments, "(&o&o&s@a{sv})", NULL, NULL, NULL, &options);
        g_variant_lookup(options, "types", "u", &types);
        g_variant_lookup(options, "cursor_mode", "u", &mode);
        g_variant_lookup(options, "persist_mode", "u", &persist);
        take_restore_data(options);
        g_variant_unref(options);
        has_cursor_meta = mode == 4;
        snprintf(line, sizeof line, "select types %u cursor %u persist %u", types, mode, persist);
        say(line);
        reply(call, 0, NULL);
    } else {
        GVariant *options;
        g_variant_get(arguments, "(&o&o&s&s@a{sv})", NULL, NULL, NULL, NULL, &options);
        g_variant_unref(options);
        // Only a person can refuse; a grant that is restored asks nobody.
        snprintf(line, sizeof line, "start %s", is_restored ? "restored" : "asked");
        say(line);
        if (!is_restored && !strcmp(answer, "dismiss")) return reply(call, 1, NULL);
        if (!strcmp(answer, "refuse")) return reply(call, 2, NULL);
        if (!is_restored && !strcmp(answer, "hang")) return;
        waiting = call;
        pw_thread_loop_lock(loop);
        bool is_good = begin_stream();
        pw_thread_loop_unlock(loop);
        if (!is_good) finish_start(GINT_TO_POINTER(0));
    }
}

static const GDBusInterfaceVTable table = {on_call, get_property, NULL, {0}};

// MARK: Commands

static void renegotiate(int w, int h) {
    reset_screen(w, h);
    if (!stream) return;
    uint8_t bytes[1024];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(bytes, sizeof bytes);
    const struct spa_pod *params[1] = {screen_format(&b)};
    is_negotiating = is_streaming;
    pw_stream_update_params(stream, params, 1);
    send_frame();
}

static bool obey(const char *text) {
    char word[16] = "", second[16] = "";
    unsigned colour;
    int a, b, c, d;
    sscanf(text, "%15s %15s", word, second);
    if (!strcmp(word, "answer")) {
        snprintf(answer, sizeof answer, "%s", second);
    } else if (sscanf(text, "fill %x %d %d %d %d", &colour, &a, &b, &c, &d) == 5) {
        paint((Rect){a, b, c, d}, colour);
        add_damage((Rect){a, b, c, d});
        send_frame();
    } else if (sscanf(text, "damage %d %d %d %d", &a, &b, &c, &d) == 4) {
        add_damage((Rect){a, b, c, d});
        send_frame();
    } else if (sscanf(text, "size %d %d", &a, &b) == 2) {
        renegotiate(a, b);
    } else if (sscanf(text, "crop %d %d %d %d", &a, &b, &c, &d) == 4) {
        crop = (Rect){a, b, c, d};
        is_full = true;
        send_frame();
    } else if (sscanf(text, "transform %d", &a) == 1) {
        transform = a;
        is_full = true;
        send_frame();
    } else if (sscanf(text, "cursor %d %d", &a, &b) == 2) {
        cursor.x = a;
        cursor.y = b;
        is_cursor_only = true;
        send_frame();
    } else if (sscanf(text, "shape %x %d %d %d %d", &colour, &a, &b, &c, &d) == 5 && a <= CURSOR_SIDE && b <= CURSOR_SIDE) {
        cursor.colour = colour;
        cursor.w = a, cursor.h = b, cursor.hot_x = c, cursor.hot_y = d;
        cursor.is_visible = cursor.is_new = is_cursor_only = true;
        send_frame();
    } else if (!strcmp(word, "hide")) {
        cursor.is_visible = false;
        is_cursor_only = true;
        send_frame();
    } else if (!strcmp(word, "lie")) {
        snprintf(lie, sizeof lie, "%s", second);
        cursor.is_new = true;
        is_full = true;
        send_frame();
    } else if (!strcmp(word, "play") || !strcmp(word, "pause")) {
        if (stream) pw_stream_set_active(stream, !strcmp(word, "play"));
    } else if (!strcmp(word, "drop")) {
        end_stream();
    } else if (!strcmp(word, "close")) {
        g_dbus_connection_emit_signal(bus, NULL, session_path, "org.freedesktop.impl.portal.Session", "Closed", NULL, NULL);
        end_stream();
    } else if (sscanf(text, "video %d %d %d %d", &a, &b, &c, &d) == 4) {
        // 30 a second of this rectangle; empty: none.
        video = (Rect){a, b, c, d};
        video_interval = c ? 33333333 : 0;
        struct timespec interval = {0, (long)video_interval};
        pw_loop_update_timer(pw_thread_loop_get_loop(loop), timer, &interval, &interval, false);
    } else if (!strcmp(word, "typing")) {
        // Ten letters a second.
        video = (Rect){0, 0, 0, 0};
        video_interval = 100000000;
        struct timespec interval = {0, (long)video_interval};
        pw_loop_update_timer(pw_thread_loop_get_loop(loop), timer, &interval, &interval, false);
    } else if (!strcmp(word, "format")) {
        format = !strcmp(second, "BGRA")   ? SPA_VIDEO_FORMAT_BGRA
                 : !strcmp(second, "RGBx") ? SPA_VIDEO_FORMAT_RGBx
                 : !strcmp(second, "RGBA") ? SPA_VIDEO_FORMAT_RGBA
                 : !strcmp(second, "I420") ? SPA_VIDEO_FORMAT_I420
                                           : SPA_VIDEO_FORMAT_BGRx;
    } else if (!strcmp(word, "dmabuf")) {
        is_dmabuf = true;
    } else if (!strcmp(word, "lazy")) {
        // A screen that does not change is sent once.
        is_lazy = true;
    } else if (sscanf(text, "lose %d", &a) == 1) {
        // The next frames do not arrive.
        losses = a;
    } else if (!strcmp(word, "undamaged")) {
        has_damage = false;
    } else if (sscanf(text, "devices %d", &a) == 1) {
        devices = a;
    } else if (sscanf(text, "kind %d", &a) == 1) {
        kind = a;
    } else if (sscanf(text, "modes %d", &a) == 1) {
        cursor_modes = a;
    } else if (sscanf(text, "padding %d", &a) == 1) {
        padding = a;
    } else {
        return false;
    }
    return true;
}

static void on_command(GDBusConnection *connection, const char *sender, const char *path, const char *interface,
                       const char *method, GVariant *arguments, GDBusMethodInvocation *call, gpointer data) {
    (void)connection, (void)sender, (void)path, (void)interface, (void)method, (void)data;
    const char *text;
    g_variant_get(arguments, "(&s)", &text);
    pw_thread_loop_lock(loop);
    bool is_good = obey(text);
    pw_thread_loop_unlock(loop);
    g_dbus_method_invocation_return_value(call, g_variant_new("(s)", is_good ? "" : "unknown"));
}

static const GDBusInterfaceVTable command_table = {on_command, NULL, NULL, {0}};

static const char *introspection =
    "<node><interface name='org.freedesktop.impl.portal.ScreenCast'>"
    "<method name='CreateSession'><arg type='o' direction='in'/><arg type='o' direction='in'/>"
    "<arg type='s' direction='in'/><arg type='a{sv}' direction='in'/><arg type='u' direction='out'/>"
    "<arg type='a{sv}' direction='out'/></method>"
    "<method name='SelectSources'><arg type='o' direction='in'/><arg type='o' direction='in'/>"
    "<arg type='s' direction='in'/><arg type='a{sv}' direction='in'/><arg type='u' direction='out'/>"
    "<arg type='a{sv}' direction='out'/></method>"
    "<method name='Start'><arg type='o' direction='in'/><arg type='o' direction='in'/><arg type='s' direction='in'/>"
    "<arg type='s' direction='in'/><arg type='a{sv}' direction='in'/><arg type='u' direction='out'/>"
    "<arg type='a{sv}' direction='out'/></method>"
    "<property name='AvailableSourceTypes' type='u' access='read'/>"
    "<property name='AvailableCursorModes' type='u' access='read'/>"
    "<property name='version' type='u' access='read'/></interface>"
    "<interface name='org.freedesktop.impl.portal.RemoteDesktop'>"
    "<method name='CreateSession'><arg type='o' direction='in'/><arg type='o' direction='in'/>"
    "<arg type='s' direction='in'/><arg type='a{sv}' direction='in'/><arg type='u' direction='out'/>"
    "<arg type='a{sv}' direction='out'/></method>"
    "<method name='SelectDevices'><arg type='o' direction='in'/><arg type='o' direction='in'/>"
    "<arg type='s' direction='in'/><arg type='a{sv}' direction='in'/><arg type='u' direction='out'/>"
    "<arg type='a{sv}' direction='out'/></method>"
    "<method name='Start'><arg type='o' direction='in'/><arg type='o' direction='in'/><arg type='s' direction='in'/>"
    "<arg type='s' direction='in'/><arg type='a{sv}' direction='in'/><arg type='u' direction='out'/>"
    "<arg type='a{sv}' direction='out'/></method>"
    "<method name='NotifyPointerMotionAbsolute'><arg type='o' direction='in'/><arg type='a{sv}' direction='in'/>"
    "<arg type='u' direction='in'/><arg type='d' direction='in'/><arg type='d' direction='in'/></method>"
    "<method name='NotifyPointerButton'><arg type='o' direction='in'/><arg type='a{sv}' direction='in'/>"
    "<arg type='i' direction='in'/><arg type='u' direction='in'/></method>"
    "<method name='NotifyPointerAxisDiscrete'><arg type='o' direction='in'/><arg type='a{sv}' direction='in'/>"
    "<arg type='u' direction='in'/><arg type='i' direction='in'/></method>"
    "<method name='NotifyKeyboardKeysym'><arg type='o' direction='in'/><arg type='a{sv}' direction='in'/>"
    "<arg type='i' direction='in'/><arg type='u' direction='in'/></method>"
    "<property name='AvailableDeviceTypes' type='u' access='read'/>"
    "<property name='version' type='u' access='read'/></interface>"
    "<interface name='org.freedesktop.impl.portal.Session'><method name='Close'/><signal name='Closed'/>"
    "<property name='version' type='u' access='read'/></interface>"
    "<interface name='io.sharekit.TestCompositor'>"
    "<method name='Do'><arg type='s' direction='in'/><arg type='s' direction='out'/></method></interface></node>";

static void on_name(GDBusConnection *connection, const char *name, gpointer data) {
    (void)connection, (void)name, (void)data;
    say("ready");
}

int main(int count, char **arguments) {
    pw_init(NULL, NULL);
    reset_screen(width, height);
    for (int i = 1; i < count; i++) {
        if (!strncmp(arguments[i], "size ", 5)) {
            int w = 0, h = 0;
            sscanf(arguments[i], "size %d %d", &w, &h);
            reset_screen(w, h);
        }
    }
    loop = pw_thread_loop_new("compositor", NULL);
    context = loop ? pw_context_new(pw_thread_loop_get_loop(loop), NULL, 0) : NULL;
    if (!context) return 1;
    timer = pw_loop_add_timer(pw_thread_loop_get_loop(loop), on_timer, NULL);
    for (int i = 1; i < count; i++)
        if (strncmp(arguments[i], "size ", 5) && !obey(arguments[i])) return 2;
    pw_thread_loop_start(loop);
    bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);
    if (!bus) return 1;
    information = g_dbus_node_info_new_for_xml(introspection, NULL);
    g_dbus_connection_register_object(
        bus, "/org/freedesktop/portal/desktop",
        g_dbus_node_info_lookup_interface(information, "org.freedesktop.impl.portal.ScreenCast"), &table, NULL, NULL, NULL);
    g_dbus_connection_register_object(
        bus, "/org/freedesktop/portal/desktop",
        g_dbus_node_info_lookup_interface(information, "org.freedesktop.impl.portal.RemoteDesktop"), &table, NULL, NULL, NULL);
    g_dbus_connection_register_object(bus, "/io/sharekit/TestCompositor",
                                      g_dbus_node_info_lookup_interface(information, "io.sharekit.TestCompositor"),
                                      &command_table, NULL, NULL, NULL);
    g_bus_own_name_on_connection(bus, NAME, G_BUS_NAME_OWNER_FLAGS_NONE, on_name, NULL, NULL, NULL);
    main_loop = g_main_loop_new(NULL, FALSE);
    g_main_loop_run(main_loop);
    return 0;
}
