// A camera for tests: a node of PipeWire (media.class Video/Source) that plays a picture of four colours, red, green, blue and
// white from the upper left to the lower right corner, and changes with every frame in its middle.
//
//     test-camera NAME [format=YUY2] [size=640x480] [fps=30] [colour=RRGGBB] [padding=BYTES] [noise] [dumb]
//
// colour: all of the picture has it, without motion. noise: brightness varies a little everywhere, as
// that of a real sensor, and a texture moves in the middle, which is a quarter of the picture (YUY2). dumb: sends no frame.
// Prints "ready" when PipeWire has it, and "streaming" and "idle" when it begins and ends.

#define _GNU_SOURCE
#include <fcntl.h>
#include <pipewire/pipewire.h>
#include <spa/param/video/format-utils.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct pw_main_loop *loop;
static struct pw_stream *stream;
static struct spa_source *timer;
static int width = 640, height = 480, fps = 30, padding;
static uint32_t format = SPA_VIDEO_FORMAT_YUY2;
static long colour = -1;
static bool is_noisy, is_dumb;
static unsigned frames;

static const struct {
    const char *name;
    uint32_t format;
} formats[] = {
    {"YUY2", SPA_VIDEO_FORMAT_YUY2}, {"UYVY", SPA_VIDEO_FORMAT_UYVY}, {"NV12", SPA_VIDEO_FORMAT_NV12},
    {"I420", SPA_VIDEO_FORMAT_I420}, {"BGRx", SPA_VIDEO_FORMAT_BGRx}, {"RGBA", SPA_VIDEO_FORMAT_RGBA},
    {"RGB", SPA_VIDEO_FORMAT_RGB},   {"BGR", SPA_VIDEO_FORMAT_BGR},   {"GRAY8", SPA_VIDEO_FORMAT_GRAY8},
    {"P010", SPA_VIDEO_FORMAT_P010_10LE},
};

static void say(const char *text) {
    puts(text);
    fflush(stdout);
}

static int row_bytes(void) {
    switch (format) {
    case SPA_VIDEO_FORMAT_YUY2:
    case SPA_VIDEO_FORMAT_UYVY: return (width + 1) / 2 * 4 + padding;
    case SPA_VIDEO_FORMAT_BGRx:
    case SPA_VIDEO_FORMAT_RGBA: return width * 4 + padding;
    case SPA_VIDEO_FORMAT_RGB:
    case SPA_VIDEO_FORMAT_BGR: return width * 3 + padding;
    case SPA_VIDEO_FORMAT_NV12: return (width + 1) / 2 * 2 + padding;
    case SPA_VIDEO_FORMAT_I420: return (width + 3) / 4 * 4 + padding;
    default: return width + padding;
    }
}

// Of the second and the third plane of I420.
static int chroma_bytes(void) { return padding ? row_bytes() / 2 : ((width + 1) / 2 + 3) / 4 * 4; }

static int frame_bytes(void) {
    int rows = (height + 1) / 2;
    if (format == SPA_VIDEO_FORMAT_NV12) return row_bytes() * rows * 3;
    if (format == SPA_VIDEO_FORMAT_I420) return row_bytes() * rows * 2 + chroma_bytes() * rows * 2;
    return row_bytes() * height;
}

static uint32_t colour_at(int x, int y) {
    static const uint32_t quarters[] = {0xc02020, 0x20c020, 0x2020c0, 0xe0e0e0};
    if (colour >= 0) return (uint32_t)colour;
    int u = x - width / 2, v = y - height / 2, side = is_noisy ? height / 4 : height / 8;
    if (is_noisy && abs(u) < side && abs(v) < side) {
        uint32_t wave = (uint32_t)((x + (int)frames * 2) / 8 % 16 * 8 + (y + (int)frames) / 8 % 16 * 6);
        return 0x503020 + wave * 0x010101;
    }
    if (abs(u) < side && abs(v) < side) return frames * 0x050301 & 0xffffff;
    return quarters[(y >= height / 2 ? 2 : 0) + (x >= width / 2 ? 1 : 0)];
}

// BT.601, limited range.
static void convert(uint32_t rgb, int *y, int *u, int *v) {
    int r = rgb >> 16 & 255, g = rgb >> 8 & 255, b = rgb & 255;
    *y = (66 * r + 129 * g + 25 * b + 128) / 256 + 16;
    *u = (-38 * r - 74 * g + 112 * b + 128 + 128 * 256) / 256;
    *v = (112 * r - 94 * g - 18 * b + 128 + 128 * 256) / 256;
}

// Draws the columns and rows around the middle that are at most that far from it.
static void draw(uint8_t *bytes, int reach) {
    int stride = row_bytes(), rows = (height + 1) / 2, chroma = chroma_bytes();
    uint8_t *second = bytes + stride * rows * 2, *third = second + chroma * rows;
    int left = width / 2 - reach, top = height / 2 - reach, right = width / 2 + reach, bottom = height / 2 + reach;
    for (int row = top < 0 ? 0 : top; row < bottom && row < height; row++)
        for (int x = left < 0 ? 0 : left; x < right && x < width; x++) {
            uint8_t *line = bytes + row * stride;
            uint32_t rgb = colour_at(x, row);
            int y, u, v;
            convert(rgb, &y, &u, &v);
            switch (format) {
            case SPA_VIDEO_FORMAT_YUY2:
                line[x * 2] = y + (is_noisy ? rand() % 9 - 4 : 0);
                line[x / 2 * 4 + 1 + x % 2 * 2] = x % 2 ? v : u;
                break;
            case SPA_VIDEO_FORMAT_UYVY:
                line[x * 2 + 1] = y;
                line[x / 2 * 4 + x % 2 * 2] = x % 2 ? v : u;
                break;
            case SPA_VIDEO_FORMAT_NV12:
                line[x] = y;
                second[row / 2 * stride + x / 2 * 2] = u;
                second[row / 2 * stride + x / 2 * 2 + 1] = v;
                break;
            case SPA_VIDEO_FORMAT_I420:
                line[x] = y;
                second[row / 2 * chroma + x / 2] = u;
                third[row / 2 * chroma + x / 2] = v;
                break;
            case SPA_VIDEO_FORMAT_BGRx: ((uint32_t *)line)[x] = rgb; break;
            case SPA_VIDEO_FORMAT_RGBA:
                ((uint32_t *)line)[x] = 0xff000000 | (rgb & 0xff00) | (rgb >> 16 & 255) | (rgb & 255) << 16;
                break;
            case SPA_VIDEO_FORMAT_RGB: line[x * 3] = rgb >> 16, line[x * 3 + 1] = rgb >> 8, line[x * 3 + 2] = rgb; break;
            case SPA_VIDEO_FORMAT_BGR: line[x * 3] = rgb, line[x * 3 + 1] = rgb >> 8, line[x * 3 + 2] = rgb >> 16; break;
            default: line[x] = y; break;
            }
        }
}

static void on_timer(void *data, uint64_t expirations) {
    (void)data, (void)expirations;
    struct pw_buffer *b = is_dumb ? NULL : pw_stream_dequeue_buffer(stream);
    if (!b) return;
    struct spa_data *d = &b->buffer->datas[0];
    if (d->data && d->maxsize >= (uint32_t)frame_bytes()) {
        // What does not move is drawn once into each buffer.
        if (!b->user_data) draw(d->data, width + height);
        else if (colour < 0) draw(d->data, is_noisy ? height / 4 : height / 8 + 1);
        b->user_data = stream;
        d->chunk->offset = 0;
        d->chunk->size = frame_bytes();
        d->chunk->stride = row_bytes();
        d->chunk->flags = 0;
        frames++;
    }
    pw_stream_queue_buffer(stream, b);
}

static void on_param(void *data, uint32_t id, const struct spa_pod *param) {
    (void)data;
    if (!param || id != SPA_PARAM_Format) return;
    uint8_t bytes[512];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(bytes, sizeof bytes);
    const struct spa_pod *params[1];
    params[0] = spa_pod_builder_add_object(
        &b, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers, SPA_POD_CHOICE_RANGE_Int(4, 2, 8),
        SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1), SPA_PARAM_BUFFERS_size, SPA_POD_Int(frame_bytes()),
        SPA_PARAM_BUFFERS_stride, SPA_POD_Int(row_bytes()), SPA_PARAM_BUFFERS_dataType,
        SPA_POD_CHOICE_FLAGS_Int(1 << SPA_DATA_MemFd));
    pw_stream_update_params(stream, params, 1);
}

static void on_add_buffer(void *data, struct pw_buffer *buffer) {
    (void)data;
    struct spa_data *d = &buffer->buffer->datas[0];
    buffer->user_data = NULL;
    d->type = SPA_DATA_MemFd;
    d->flags = SPA_DATA_FLAG_READABLE | SPA_DATA_FLAG_WRITABLE;
    d->fd = memfd_create("camera", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    d->mapoffset = 0;
    d->maxsize = frame_bytes();
    (void)!ftruncate(d->fd, d->maxsize);
    if (!getenv("CAMERA_UNSEALED")) fcntl(d->fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    d->data = mmap(NULL, d->maxsize, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, 0);
}

static void on_remove_buffer(void *data, struct pw_buffer *buffer) {
    (void)data;
    struct spa_data *d = &buffer->buffer->datas[0];
    munmap(d->data, d->maxsize);
    close(d->fd);
    d->fd = -1;
}

static void on_state(void *data, enum pw_stream_state old, enum pw_stream_state state, const char *error) {
    (void)data;
    static bool is_ready;
    struct timespec never = {0, 0}, interval = {fps == 1, fps == 1 ? 0 : 1000000000 / fps};
    bool is_streaming = state == PW_STREAM_STATE_STREAMING;
    pw_loop_update_timer(pw_main_loop_get_loop(loop), timer, is_streaming ? &interval : &never,
                         is_streaming ? &interval : NULL, false);
    if (state == PW_STREAM_STATE_PAUSED && !is_ready) {
        is_ready = true;
        say("ready");
    }
    if (is_streaming) say("streaming");
    if (old == PW_STREAM_STATE_STREAMING) say("idle");
    if (state == PW_STREAM_STATE_ERROR) {
        fprintf(stderr, "%s\n", error ? error : "error");
        exit(1);
    }
}

static const struct pw_stream_events events = {
    PW_VERSION_STREAM_EVENTS,
    .state_changed = on_state,
    .param_changed = on_param,
    .add_buffer = on_add_buffer,
    .remove_buffer = on_remove_buffer,
};

int main(int count, char **arguments) {
    if (count < 2) return 2;
    for (int i = 2; i < count; i++) {
        const char *text = arguments[i];
        if (!strncmp(text, "format=", 7)) {
            for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
                if (!strcmp(formats[k].name, text + 7)) format = formats[k].format;
        } else if (!strncmp(text, "colour=", 7)) {
            colour = strtol(text + 7, NULL, 16);
        } else if (!strcmp(text, "noise")) {
            is_noisy = true;
        } else if (!strcmp(text, "dumb")) {
            is_dumb = true;
        } else if (sscanf(text, "size=%dx%d", &width, &height) != 2 && sscanf(text, "fps=%d", &fps) != 1 &&
                   sscanf(text, "padding=%d", &padding) != 1) {
            return 2;
        }
    }
    pw_init(NULL, NULL);
    loop = pw_main_loop_new(NULL);
    timer = pw_loop_add_timer(pw_main_loop_get_loop(loop), on_timer, NULL);
    stream = pw_stream_new_simple(
        pw_main_loop_get_loop(loop), arguments[1],
        pw_properties_new(PW_KEY_MEDIA_CLASS, "Video/Source", PW_KEY_MEDIA_ROLE, "Camera", PW_KEY_NODE_NAME, arguments[1],
                          PW_KEY_NODE_DESCRIPTION, arguments[1], NULL),
        &events, NULL);
    if (!stream) return 1;
    uint8_t bytes[512];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(bytes, sizeof bytes);
    const struct spa_pod *params[1];
    params[0] = spa_pod_builder_add_object(
        &b, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video),
        SPA_FORMAT_mediaSubtype, SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), SPA_FORMAT_VIDEO_format, SPA_POD_Id(format),
        SPA_FORMAT_VIDEO_size, SPA_POD_Rectangle(&SPA_RECTANGLE(width, height)), SPA_FORMAT_VIDEO_framerate,
        SPA_POD_Fraction(&SPA_FRACTION(fps, 1)));
    if (pw_stream_connect(stream, PW_DIRECTION_OUTPUT, PW_ID_ANY, PW_STREAM_FLAG_DRIVER | PW_STREAM_FLAG_ALLOC_BUFFERS,
                          params, 1) < 0)
        return 1;
    pw_main_loop_run(loop);
    return 0;
}
