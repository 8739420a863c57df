#ifndef SHARE_CPIPEWIRE_CAMERA_H
#define SHARE_CPIPEWIRE_CAMERA_H

#include "shim.h"
#include <string.h>
#include <time.h>

// Cameras of PipeWire: their list, and streams that are received from them, as a cpw_stream. The format of such a stream is
// a spa_video_format; SPA_VIDEO_FORMAT_ENCODED stands for MJPEG.

typedef void (*cpw_camera_found)(void *_Nullable owner, const char *_Nonnull serial, const char *_Nonnull name,
                                 const char *_Nonnull description, const char *_Nonnull path);

typedef struct {
    void *_Nullable owner;
    cpw_camera_found _Nonnull found;
    int result;
    int seq;
    bool is_done;
} cpw_camera_list;

static inline const char *_Nonnull cpw_text(const struct spa_dict *_Nonnull props, const char *_Nonnull key) {
    const char *value = spa_dict_lookup(props, key);
    return value ? value : "";
}

// A camera is a source of video that does not say it is something else, as the screen casts of some compositors do.
static inline void cpw_on_global(void *_Nullable data, uint32_t id, uint32_t permissions, const char *_Nullable type,
                                 uint32_t version, const struct spa_dict *_Nullable props) {
    cpw_camera_list *list = (cpw_camera_list *)data;
    (void)id, (void)permissions, (void)version;
    if (!type || !props || strcmp(type, PW_TYPE_INTERFACE_Node) || strcmp(cpw_text(props, PW_KEY_MEDIA_CLASS), "Video/Source"))
        return;
    const char *role = cpw_text(props, PW_KEY_MEDIA_ROLE);
    if (*role && strcmp(role, "Camera")) return;
    list->found(list->owner, cpw_text(props, PW_KEY_OBJECT_SERIAL), cpw_text(props, PW_KEY_NODE_NAME),
                cpw_text(props, PW_KEY_NODE_DESCRIPTION), cpw_text(props, PW_KEY_OBJECT_PATH));
}

static inline void cpw_on_list_done(void *_Nullable data, uint32_t id, int seq) {
    cpw_camera_list *list = (cpw_camera_list *)data;
    if (id == PW_ID_CORE && seq == list->seq) list->is_done = true;
}

static inline void cpw_on_list_error(void *_Nullable data, uint32_t id, int seq, int result, const char *_Nullable why) {
    cpw_camera_list *list = (cpw_camera_list *)data;
    (void)seq, (void)why;
    if (id == PW_ID_CORE) list->result = result;
}

static inline int64_t cpw_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Calls `found` with each camera, on this thread. `descriptor` is a connection to PipeWire, and closed in any case.
// Returns 0, or a negative errno; -ETIMEDOUT if PipeWire does not answer in time.
static inline int cpw_list_cameras(int descriptor, int timeout, void *_Nullable owner, cpw_camera_found _Nonnull found) {
    static const struct pw_core_events core_events = {
        .version = PW_VERSION_CORE_EVENTS, .done = cpw_on_list_done, .error = cpw_on_list_error};
    static const struct pw_registry_events registry_events = {.version = PW_VERSION_REGISTRY_EVENTS, .global = cpw_on_global};
    cpw_camera_list list = {owner, found, 0, 0, false};
    struct spa_hook core_hook, registry_hook;
    struct pw_context *context = NULL;
    struct pw_core *core = NULL;
    struct pw_registry *registry = NULL;
    struct pw_loop *loop = pw_loop_new(NULL);
    spa_zero(core_hook);
    spa_zero(registry_hook);
    if (!loop) {
        close(descriptor);
        return -ENOMEM;
    }
    pw_loop_enter(loop);
    context = pw_context_new(loop, NULL, 0);
    if (context) core = pw_context_connect_fd(context, descriptor, NULL, 0);
    else close(descriptor);
    if (!core) {
        list.result = errno ? -errno : -EIO;
    } else {
        pw_core_add_listener(core, &core_hook, &core_events, &list);
        registry = pw_core_get_registry(core, PW_VERSION_REGISTRY, 0);
        if (registry) pw_registry_add_listener(registry, &registry_hook, &registry_events, &list);
        list.seq = pw_core_sync(core, PW_ID_CORE, 0);
        int64_t end = cpw_milliseconds() + timeout;
        while (!list.is_done && !list.result) {
            int64_t left = end - cpw_milliseconds();
            if (left <= 0) list.result = -ETIMEDOUT;
            else pw_loop_iterate(loop, (int)left);
        }
        if (registry) pw_proxy_destroy((struct pw_proxy *)registry);
        pw_core_disconnect(core);
    }
    if (context) pw_context_destroy(context);
    pw_loop_leave(loop);
    pw_loop_destroy(loop);
    return list.result;
}

static inline void cpw_on_camera_param(void *_Nullable data, uint32_t id, const struct spa_pod *_Nullable param) {
    cpw_stream *s = (cpw_stream *)data;
    uint32_t type = 0, subtype = 0, format, width, height;
    if (!param || id != SPA_PARAM_Format || spa_format_parse(param, &type, &subtype) < 0 || type != SPA_MEDIA_TYPE_video)
        return;
    if (subtype == SPA_MEDIA_SUBTYPE_mjpg) {
        struct spa_video_info_mjpg info;
        spa_zero(info);
        if (spa_format_video_mjpg_parse(param, &info) < 0) return;
        format = SPA_VIDEO_FORMAT_ENCODED, width = info.size.width, height = info.size.height;
    } else {
        struct spa_video_info_raw info;
        spa_zero(info);
        if (subtype != SPA_MEDIA_SUBTYPE_raw || spa_format_video_raw_parse(param, &info) < 0) return;
        format = info.format, width = info.size.width, height = info.size.height;
    }
    uint8_t bytes[512];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(bytes, sizeof bytes);
    const struct spa_pod *params[2];
    params[0] = (const struct spa_pod *)spa_pod_builder_add_object(
        &b, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1),
        SPA_PARAM_BUFFERS_dataType, SPA_POD_CHOICE_FLAGS_Int(1 << SPA_DATA_MemFd | 1 << SPA_DATA_DmaBuf));
    params[1] = (const struct spa_pod *)spa_pod_builder_add_object(
        &b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Header),
        SPA_PARAM_META_size, SPA_POD_Int(sizeof(struct spa_meta_header)));
    s->handler.format(s->handler.owner, format, width, height, false);
    pw_stream_update_params(s->stream, params, 2);
}

static inline const struct pw_stream_events *_Nonnull cpw_camera_events(void) {
    static const struct pw_stream_events events = {
        .version = PW_VERSION_STREAM_EVENTS,
        .state_changed = cpw_on_state,
        .param_changed = cpw_on_camera_param,
        .add_buffer = cpw_on_add,
        .remove_buffer = cpw_on_remove,
        .process = cpw_on_process,
    };
    return &events;
}

// One choice of formats. `step` 0: exactly that size; 1: about that size; 2: any. Formats that need little work come first.
static inline const struct spa_pod *_Nonnull cpw_camera_format(struct spa_pod_builder *_Nonnull b, bool is_jpeg, int step,
                                                                uint32_t width, uint32_t height) {
    struct spa_pod_frame frame;
    struct spa_rectangle usual = SPA_RECTANGLE(width, height);
    struct spa_rectangle least = step == 0 ? usual : step == 1 ? SPA_RECTANGLE(160, 120) : SPA_RECTANGLE(2, 2);
    struct spa_rectangle most =
        step == 0 ? usual : step == 1 ? SPA_RECTANGLE(width * 2, height * 2) : SPA_RECTANGLE(16382, 16382);
    struct spa_fraction rate = SPA_FRACTION(30, 1), slow = step < 2 ? SPA_FRACTION(15, 1) : SPA_FRACTION(0, 1);
    struct spa_fraction fast = step < 2 ? SPA_FRACTION(30, 1) : SPA_FRACTION(1000, 1);
    spa_pod_builder_push_object(b, &frame, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    spa_pod_builder_add(b, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
                        SPA_POD_Id(is_jpeg ? SPA_MEDIA_SUBTYPE_mjpg : SPA_MEDIA_SUBTYPE_raw), 0);
    if (!is_jpeg)
        spa_pod_builder_add(
            b, SPA_FORMAT_VIDEO_format,
            SPA_POD_CHOICE_ENUM_Id(12, SPA_VIDEO_FORMAT_I420, SPA_VIDEO_FORMAT_I420, SPA_VIDEO_FORMAT_NV12,
                                   SPA_VIDEO_FORMAT_YUY2, SPA_VIDEO_FORMAT_UYVY, SPA_VIDEO_FORMAT_BGRx, SPA_VIDEO_FORMAT_BGRA,
                                   SPA_VIDEO_FORMAT_RGBx, SPA_VIDEO_FORMAT_RGBA, SPA_VIDEO_FORMAT_RGB, SPA_VIDEO_FORMAT_BGR,
                                   SPA_VIDEO_FORMAT_GRAY8),
            0);
    spa_pod_builder_add(b, SPA_FORMAT_VIDEO_size, SPA_POD_CHOICE_RANGE_Rectangle(&usual, &least, &most),
                        SPA_FORMAT_VIDEO_framerate, SPA_POD_CHOICE_RANGE_Fraction(&rate, &slow, &fast), 0);
    return (const struct spa_pod *)spa_pod_builder_pop(b, &frame);
}

// Connects to PipeWire and to a camera. `descriptor` is closed in any case. Returns NULL with errno set.
static inline cpw_stream *_Nullable cpw_open_camera(int descriptor, const char *_Nonnull serial, uint32_t width,
                                                    uint32_t height, const cpw_handler *_Nonnull handler) {
    cpw_stream *s = (cpw_stream *)calloc(1, sizeof *s);
    int code = ENOMEM;
    if (s) s->loop = pw_loop_new(NULL);
    if (!s || !s->loop) {
        close(descriptor);
        free(s);
        errno = code;
        return NULL;
    }
    s->handler = *handler;
    cpw_enter(s);
    s->arrived = pw_loop_add_event(s->loop, cpw_on_event, s);
    s->context = pw_context_new(s->loop, NULL, 0);
    if (s->context && s->arrived) s->core = pw_context_connect_fd(s->context, descriptor, NULL, 0);
    else close(descriptor);
    if (s->core) {
        pw_core_add_listener(s->core, &s->core_hook, cpw_core_events(), s);
        s->stream = pw_stream_new(s->core, "share",
                                  pw_properties_new(PW_KEY_MEDIA_TYPE, "Video", PW_KEY_MEDIA_CATEGORY, "Capture",
                                                    PW_KEY_MEDIA_ROLE, "Camera", PW_KEY_NODE_DONT_RECONNECT, "true",
                                                    PW_KEY_TARGET_OBJECT, serial, NULL));
    }
    code = errno;
    if (s->stream) {
        uint8_t bytes[4096];
        struct spa_pod_builder b = SPA_POD_BUILDER_INIT(bytes, sizeof bytes);
        // MJPEG costs a decoder, and comes before formats that are too slow or of another size.
        const struct spa_pod *params[6] = {
            cpw_camera_format(&b, false, 0, width, height), cpw_camera_format(&b, false, 1, width, height),
            cpw_camera_format(&b, true, 0, width, height),  cpw_camera_format(&b, true, 1, width, height),
            cpw_camera_format(&b, false, 2, width, height), cpw_camera_format(&b, true, 2, width, height)};
        pw_stream_add_listener(s->stream, &s->stream_hook, cpw_camera_events(), s);
        code = -pw_stream_connect(s->stream, PW_DIRECTION_INPUT, PW_ID_ANY,
                                  (enum pw_stream_flags)(PW_STREAM_FLAG_AUTOCONNECT | PW_STREAM_FLAG_RT_PROCESS |
                                                         PW_STREAM_FLAG_DONT_RECONNECT),
                                  params, 6);
    }
    cpw_leave(s);
    if (s->stream && code <= 0) return s;
    cpw_close(s);
    errno = code;
    return NULL;
}

// How the next row of the first plane is reached; planes that begin elsewhere than `offset` are not told apart.
static inline bool cpw_camera_chunk(const struct spa_buffer *_Nonnull buffer, uint32_t *_Nonnull offset,
                                    uint32_t *_Nonnull size, int32_t *_Nonnull stride) {
    if (buffer->n_datas < 1 || !buffer->datas || !buffer->datas[0].chunk) return false;
    struct spa_chunk chunk = cpw_chunk(&buffer->datas[0]);
    if (chunk.size == 0 || cpw_has_corrupted_chunk(chunk) || cpw_is_corrupted(buffer)) return false;
    *offset = chunk.offset;
    *size = chunk.size;
    *stride = chunk.stride;
    return true;
}

#endif
