#include <stddef.h>
#include <stdint.h>

// What share uses of libavcodec 59 and libavutil 57 (FFmpeg 5.1, Debian 12), as libavcodec/packet.h, libavutil/frame.h and
// libavutil/pixdesc.h of those versions declare it. The libraries are loaded at run time (soname: libavcodec.so.59), so
// that nothing of FFmpeg is needed to build or to start share. Decoder contexts stay opaque; AVOptions set what they need.

typedef struct { int num, den; } cav_rational;

// AVPacket up to `flags`; made by av_packet_alloc only.
typedef struct {
    void *buf;
    int64_t pts, dts;
    uint8_t *data;
    int size;
    int stream_index;
    int flags;
} cav_packet;

// AVFrame up to `decode_error_flags`; made by av_frame_alloc only.
typedef struct {
    uint8_t *data[8];
    int linesize[8];
    uint8_t **extended_data;
    int width, height;
    int nb_samples;
    int format;
    int key_frame;
    int pict_type;
    cav_rational sample_aspect_ratio;
    int64_t pts, pkt_dts;
    cav_rational time_base;
    int coded_picture_number, display_picture_number;
    int quality;
    void *opaque;
    int repeat_pict, interlaced_frame, top_field_first, palette_has_changed;
    int64_t reordered_opaque;
    int sample_rate;
    uint64_t channel_layout;
    void *buf[8];
    void **extended_buf;
    int nb_extended_buf;
    void **side_data;
    int nb_side_data;
    int flags;
    int color_range, color_primaries, color_trc, colorspace, chroma_location;
    int64_t best_effort_timestamp, pkt_pos, pkt_duration;
    void *metadata;
    int decode_error_flags;
} cav_frame;

// AVComponentDescriptor.
typedef struct { int plane, step, offset, shift, depth; } cav_component;

// AVPixFmtDescriptor.
typedef struct {
    const char *name;
    uint8_t nb_components, log2_chroma_w, log2_chroma_h;
    uint64_t flags;
    cav_component comp[4];
    const char *alias;
} cav_format;

#if __SIZEOF_POINTER__ == 8
_Static_assert(offsetof(cav_packet, data) == 24 && offsetof(cav_packet, flags) == 40, "AVPacket");
_Static_assert(offsetof(cav_frame, format) == 116 && offsetof(cav_frame, color_range) == 320, "AVFrame");
_Static_assert(offsetof(cav_frame, colorspace) == 332 && offsetof(cav_frame, decode_error_flags) == 376, "AVFrame");
#endif

enum {
    cav_codec_h264 = 27,
    cav_codec_hevc = 173,
    // AVERROR(EAGAIN) on Linux.
    cav_error_again = -11,
    // AV_PIX_FMT_FLAG_BE, AV_PIX_FMT_FLAG_RGB.
    cav_format_big_endian = 1 << 0,
    cav_format_rgb = 1 << 5,
    // AVCOL_RANGE_JPEG, AVCOL_SPC_BT709.
    cav_range_full = 2,
    cav_space_bt709 = 1,
    // AV_LOG_QUIET.
    cav_log_quiet = -8,
    // AV_INPUT_BUFFER_PADDING_SIZE.
    cav_padding = 64,
};
