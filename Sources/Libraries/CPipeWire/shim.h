#ifndef SHARE_CPIPEWIRE_H
#define SHARE_CPIPEWIRE_H

#include <errno.h>
#include <fcntl.h>
#include <pipewire/pipewire.h>
#include <spa/buffer/meta.h>
#include <spa/param/video/format-utils.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

// A video stream that is received, with PipeWire's macros and varargs around it. One thread at a time uses it, between cpw_enter
// and cpw_leave; the callbacks run on that thread, in cpw_iterate.

// DRM_FORMAT_MOD_LINEAR of drm_fourcc.h: rows of pixels, as in memory.
#define CPW_LINEAR 0

typedef struct {
    void *_Nullable owner;
    // The format was set; `has_modifier`: buffers are DMA-BUFs.
    void (*_Nonnull format)(void *_Nullable owner, uint32_t format, uint32_t width, uint32_t height, bool has_modifier);
    void (*_Nonnull add)(void *_Nullable owner, struct pw_buffer *_Nonnull buffer);
    void (*_Nonnull remove)(void *_Nullable owner, struct pw_buffer *_Nonnull buffer);
    // The sender has begun, or goes on.
    void (*_Nonnull started)(void *_Nullable owner);
    // The stream has failed, or the whole connection.
    void (*_Nonnull failed)(void *_Nullable owner, const char *_Nullable why, bool is_connection);
} cpw_handler;

typedef struct cpw_stream {
    cpw_handler handler;
    struct pw_loop *_Nullable loop;
    struct pw_context *_Nullable context;
    struct pw_core *_Nullable core;
    struct pw_stream *_Nullable stream;
    struct spa_source *_Nullable arrived;
    struct spa_hook core_hook;
    struct spa_hook stream_hook;
} cpw_stream;

static inline void cpw_on_event(void *_Nullable data, uint64_t count) {
    (void)data;
    (void)count;
}

// On PipeWire's data thread: wakes the loop, whose owner takes the buffers.
static inline void cpw_on_process(void *_Nullable data) {
    cpw_stream *s = (cpw_stream *)data;
    pw_loop_signal_event(s->loop, s->arrived);
}

static inline void cpw_on_state(void *_Nullable data, enum pw_stream_state old, enum pw_stream_state state,
                                const char *_Nullable error) {
    cpw_stream *s = (cpw_stream *)data;
    (void)old;
    if (state == PW_STREAM_STATE_ERROR || state == PW_STREAM_STATE_UNCONNECTED)
        s->handler.failed(s->handler.owner, error, false);
    else if (state == PW_STREAM_STATE_STREAMING)
        s->handler.started(s->handler.owner);
}

static inline void cpw_on_param(void *_Nullable data, uint32_t id, const struct spa_pod *_Nullable param) {
    cpw_stream *s = (cpw_stream *)data;
    struct spa_video_info_raw info;
    uint32_t type = 0, subtype = 0;
    if (!param || id != SPA_PARAM_Format) return;
    spa_zero(info);
    if (spa_format_parse(param, &type, &subtype) < 0 || type != SPA_MEDIA_TYPE_video || subtype != SPA_MEDIA_SUBTYPE_raw ||
        spa_format_video_raw_parse(param, &info) < 0)
        return;
    bool has_modifier = spa_pod_find_prop(param, NULL, SPA_FORMAT_VIDEO_modifier) != NULL;
    uint8_t bytes[1024];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(bytes, sizeof bytes);
    const struct spa_pod *params[6];
    const int region = sizeof(struct spa_meta_region), cursor = sizeof(struct spa_meta_cursor) + sizeof(struct spa_meta_bitmap);
    params[0] = (const struct spa_pod *)spa_pod_builder_add_object(
        &b, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_dataType,
        SPA_POD_CHOICE_FLAGS_Int(has_modifier ? 1 << SPA_DATA_DmaBuf : 1 << SPA_DATA_MemFd));
    params[1] = (const struct spa_pod *)spa_pod_builder_add_object(
        &b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_VideoCrop),
        SPA_PARAM_META_size, SPA_POD_Int(region));
    params[2] = (const struct spa_pod *)spa_pod_builder_add_object(
        &b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_VideoDamage),
        SPA_PARAM_META_size, SPA_POD_CHOICE_RANGE_Int(region * 16, region, region * 64));
    params[3] = (const struct spa_pod *)spa_pod_builder_add_object(
        &b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Cursor),
        SPA_PARAM_META_size,
        SPA_POD_CHOICE_RANGE_Int(cursor + 64 * 64 * 4, cursor + 4, cursor + 1024 * 1024 * 4));
    params[4] = (const struct spa_pod *)spa_pod_builder_add_object(
        &b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Header),
        SPA_PARAM_META_size, SPA_POD_Int(sizeof(struct spa_meta_header)));
    params[5] = (const struct spa_pod *)spa_pod_builder_add_object(
        &b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_VideoTransform),
        SPA_PARAM_META_size, SPA_POD_Int(sizeof(struct spa_meta_videotransform)));
    s->handler.format(s->handler.owner, info.format, info.size.width, info.size.height, has_modifier);
    pw_stream_update_params(s->stream, params, 6);
}

static inline void cpw_on_add(void *_Nullable data, struct pw_buffer *_Nonnull buffer) {
    cpw_stream *s = (cpw_stream *)data;
    s->handler.add(s->handler.owner, buffer);
}

static inline void cpw_on_remove(void *_Nullable data, struct pw_buffer *_Nonnull buffer) {
    cpw_stream *s = (cpw_stream *)data;
    s->handler.remove(s->handler.owner, buffer);
}

static inline void cpw_on_core_error(void *_Nullable data, uint32_t id, int seq, int result, const char *_Nullable why) {
    cpw_stream *s = (cpw_stream *)data;
    (void)seq;
    if (id == PW_ID_CORE) s->handler.failed(s->handler.owner, why, result == -EPIPE);
}

static inline const struct pw_stream_events *_Nonnull cpw_stream_events(void) {
    static const struct pw_stream_events events = {
        .version = PW_VERSION_STREAM_EVENTS,
        .state_changed = cpw_on_state,
        .param_changed = cpw_on_param,
        .add_buffer = cpw_on_add,
        .remove_buffer = cpw_on_remove,
        .process = cpw_on_process,
    };
    return &events;
}

static inline const struct pw_core_events *_Nonnull cpw_core_events(void) {
    static const struct pw_core_events events = {.version = PW_VERSION_CORE_EVENTS, .error = cpw_on_core_error};
    return &events;
}

// The formats that are taken, best first: 4 bytes a pixel. With a modifier, buffers are DMA-BUFs.
static inline const struct spa_pod *_Nonnull cpw_format(struct spa_pod_builder *_Nonnull b, bool has_modifier) {
    struct spa_pod_frame frame;
    struct spa_rectangle usual = SPA_RECTANGLE(1920, 1080), least = SPA_RECTANGLE(1, 1), most = SPA_RECTANGLE(16384, 16384);
    struct spa_fraction rate = SPA_FRACTION(60, 1), none = SPA_FRACTION(0, 1), fast = SPA_FRACTION(1000, 1);
    spa_pod_builder_push_object(b, &frame, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    spa_pod_builder_add(b, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
                        SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), SPA_FORMAT_VIDEO_format,
                        SPA_POD_CHOICE_ENUM_Id(5, SPA_VIDEO_FORMAT_BGRx, SPA_VIDEO_FORMAT_BGRx, SPA_VIDEO_FORMAT_BGRA,
                                               SPA_VIDEO_FORMAT_RGBx, SPA_VIDEO_FORMAT_RGBA),
                        0);
    if (has_modifier) {
        spa_pod_builder_prop(b, SPA_FORMAT_VIDEO_modifier, SPA_POD_PROP_FLAG_MANDATORY);
        spa_pod_builder_long(b, CPW_LINEAR);
    }
    spa_pod_builder_add(b, SPA_FORMAT_VIDEO_size, SPA_POD_CHOICE_RANGE_Rectangle(&usual, &least, &most),
                        SPA_FORMAT_VIDEO_framerate, SPA_POD_CHOICE_RANGE_Fraction(&rate, &none, &fast), 0);
    return (const struct spa_pod *)spa_pod_builder_pop(b, &frame);
}

static inline void cpw_enter(cpw_stream *_Nonnull s) { pw_loop_enter(s->loop); }
static inline void cpw_leave(cpw_stream *_Nonnull s) { pw_loop_leave(s->loop); }

// Handles what has arrived, without waiting.
static inline void cpw_iterate(cpw_stream *_Nonnull s) {
    while (pw_loop_iterate(s->loop, 0) > 0) {}
}

// Readable when cpw_iterate has something to do.
static inline int cpw_descriptor(cpw_stream *_Nonnull s) { return pw_loop_get_fd(s->loop); }

// May be called after any failure of cpw_open, and once.
static inline void cpw_close(cpw_stream *_Nonnull s) {
    if (s->loop) cpw_enter(s);
    if (s->stream) pw_stream_destroy(s->stream);
    if (s->core) pw_core_disconnect(s->core);
    if (s->context) pw_context_destroy(s->context);
    if (s->arrived) pw_loop_destroy_source(s->loop, s->arrived);
    if (s->loop) {
        cpw_leave(s);
        pw_loop_destroy(s->loop);
    }
    free(s);
}

// Connects to PipeWire and to a node. `descriptor` is closed in any case. Returns NULL with errno set.
static inline cpw_stream *_Nullable cpw_open(int descriptor, uint32_t node, const cpw_handler *_Nonnull handler) {
    cpw_stream *s = (cpw_stream *)calloc(1, sizeof *s);
    int code = ENOMEM;
    bool is_owned = false;
    if (!s) return NULL;
    s->handler = *handler;
    s->loop = pw_loop_new(NULL);
    if (!s->loop) goto failed;
    cpw_enter(s);
    s->arrived = pw_loop_add_event(s->loop, cpw_on_event, s);
    s->context = pw_context_new(s->loop, NULL, 0);
    if (!s->context || !s->arrived) {
        code = errno;
        cpw_leave(s);
        goto failed;
    }
    is_owned = true;
    s->core = pw_context_connect_fd(s->context, descriptor, NULL, 0);
    if (s->core) {
        pw_core_add_listener(s->core, &s->core_hook, cpw_core_events(), s);
        s->stream = pw_stream_new(s->core, "share",
                                  pw_properties_new(PW_KEY_MEDIA_TYPE, "Video", PW_KEY_MEDIA_CATEGORY, "Capture",
                                                    PW_KEY_MEDIA_ROLE, "Screen", PW_KEY_NODE_DONT_RECONNECT, "true", NULL));
    }
    if (s->stream) {
        uint8_t bytes[2048];
        struct spa_pod_builder b = SPA_POD_BUILDER_INIT(bytes, sizeof bytes);
        // Ordinary memory first: processors read that of graphics cards slowly.
        const struct spa_pod *params[2] = {cpw_format(&b, false), cpw_format(&b, true)};
        pw_stream_add_listener(s->stream, &s->stream_hook, cpw_stream_events(), s);
        // Without conversion by the session manager, so that damage and cursor reach this side.
        code = -pw_stream_connect(s->stream, PW_DIRECTION_INPUT, node,
                                  (enum pw_stream_flags)(PW_STREAM_FLAG_AUTOCONNECT | PW_STREAM_FLAG_RT_PROCESS |
                                                         PW_STREAM_FLAG_DONT_RECONNECT),
                                  params, 2);
    } else {
        code = errno;
    }
    cpw_leave(s);
    if (s->stream && code <= 0) return s;
failed:
    if (!is_owned) close(descriptor);
    cpw_close(s);
    errno = code;
    return NULL;
}

// A copy: the sender may change the chunk, which is in shared memory, at any time.
static inline struct spa_chunk cpw_chunk(const struct spa_data *_Nonnull data) {
    const volatile struct spa_chunk *chunk = data->chunk;
    struct spa_chunk copy = {chunk->offset, chunk->size, chunk->stride, chunk->flags};
    return copy;
}

static inline bool cpw_has_corrupted_chunk(struct spa_chunk chunk) { return chunk.flags & SPA_CHUNK_FLAG_CORRUPTED; }

// Whether the frame's header says that its pixels are no good.
static inline bool cpw_is_corrupted(const struct spa_buffer *_Nonnull buffer) {
    const struct spa_meta_header *header =
        (const struct spa_meta_header *)spa_buffer_find_meta_data(buffer, SPA_META_Header, sizeof *header);
    return header && (header->flags & SPA_META_HEADER_FLAG_CORRUPTED);
}

// The transformation that was applied to the picture in the buffer (enum spa_meta_videotransform_value).
static inline uint32_t cpw_transform(const struct spa_buffer *_Nonnull buffer) {
    const struct spa_meta_videotransform *transform = (const struct spa_meta_videotransform *)spa_buffer_find_meta_data(
        buffer, SPA_META_VideoTransform, sizeof *transform);
    return transform ? *(const volatile uint32_t *)&transform->transform : SPA_META_TRANSFORMATION_None;
}

// Copies a picture of `width` x `height` and undoes its transformation, by an odd one of which the sides are exchanged.
static inline void cpw_upright(uint32_t *_Nonnull target, const void *_Nonnull source, size_t stride, int width, int height,
                               uint32_t transform) {
    bool is_turned = transform & 1, is_flipped = transform & 4;
    int columns = is_turned ? height : width, rows = is_turned ? width : height;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            // The flip came before the rotation, which is a quarter counter-clockwise for each step.
            int u = is_flipped ? columns - 1 - x : x, sx, sy;
            switch (transform & 3) {
            case 1: sx = y, sy = height - 1 - u; break;
            case 2: sx = width - 1 - u, sy = height - 1 - y; break;
            case 3: sx = width - 1 - y, sy = u; break;
            default: sx = u, sy = y; break;
            }
            *target++ = *(const uint32_t *)((const char *)source + (size_t)sy * stride + (size_t)sx * 4);
        }
}

// Copies pixels with the first and the third byte exchanged: RGBX to BGRX.
static inline void cpw_swap(uint32_t *_Nonnull target, const uint32_t *_Nonnull source, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = source[i];
        target[i] = (pixel & 0xff00ff00) | (pixel >> 16 & 0xff) | (pixel & 0xff) << 16;
    }
}

// PipeWire's own messages go to stderr only if they are asked for.
static inline void cpw_init(void) {
    pw_init(NULL, NULL);
    if (!getenv("PIPEWIRE_DEBUG")) pw_log_set_level(SPA_LOG_LEVEL_NONE);
}

#endif
