#include <vpx/vpx_encoder.h>
#include <vpx/vp8cx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vp8dx.h>

// Swift sees neither the ABI version macros nor variadic functions.

static inline vpx_codec_err_t cvpx_open_encoder(vpx_codec_ctx_t *context, const vpx_codec_enc_cfg_t *configuration) {
    return vpx_codec_enc_init(context, vpx_codec_vp8_cx(), configuration, 0);
}

static inline vpx_codec_err_t cvpx_open_decoder(vpx_codec_ctx_t *context, const vpx_codec_dec_cfg_t *configuration) {
    return vpx_codec_dec_init(context, vpx_codec_vp8_dx(), configuration, 0);
}

static inline vpx_codec_err_t cvpx_open_vp9_decoder(vpx_codec_ctx_t *context, const vpx_codec_dec_cfg_t *configuration) {
    return vpx_codec_dec_init(context, vpx_codec_vp9_dx(), configuration, 0);
}

static inline vpx_codec_err_t cvpx_control(vpx_codec_ctx_t *context, int control, int value) {
    return vpx_codec_control_(context, control, value);
}

static inline vpx_codec_err_t cvpx_set_active_map(vpx_codec_ctx_t *context, vpx_active_map_t *map) {
    return vpx_codec_control_(context, VP8E_SET_ACTIVEMAP, map);
}

// Gives each block one of four segments, whose quantizers differ from that of the frame by `differences`, in steps of 0 ... 63 that
// libvpx translates into those of VP8. NULL: the frame has no segments.
static inline vpx_codec_err_t cvpx_set_segments(vpx_codec_ctx_t *context, const unsigned char *map, unsigned rows,
                                                unsigned columns, const int differences[4]) {
    vpx_roi_map_t regions = {0};
    regions.roi_map = (unsigned char *)map;
    regions.rows = rows;
    regions.cols = columns;
    for (int i = 0; map && i < 4; i++) regions.delta_q[i] = differences[i];
    return vpx_codec_control_(context, VP8E_SET_ROI_MAP, &regions);
}

static inline int cvpx_last_quantizer(vpx_codec_ctx_t *context) {
    int quantizer = -1;
    vpx_codec_control_(context, VP8E_GET_LAST_QUANTIZER_64, &quantizer);
    return quantizer;
}

// Flags of an inter frame. `from` and `into` name a buffer: 0 last, 1 golden, 2 alternate; with `into` 0 the frame is
// stored in no other buffer.
static inline vpx_enc_frame_flags_t cvpx_inter_flags(int from, int into, int learns) {
    vpx_enc_frame_flags_t flags = 0;
    if (from != 0) flags |= VP8_EFLAG_NO_REF_LAST;
    if (from != 1) flags |= VP8_EFLAG_NO_REF_GF;
    if (from != 2) flags |= VP8_EFLAG_NO_REF_ARF;
    if (into != 1) flags |= VP8_EFLAG_NO_UPD_GF;
    if (into != 2) flags |= VP8_EFLAG_NO_UPD_ARF;
    if (!learns) flags |= VP8_EFLAG_NO_UPD_ENTROPY;
    return flags;
}

// Flags of a frame that no frame refers to: not even its probabilities are kept.
static inline vpx_enc_frame_flags_t cvpx_disposable_flags(void) {
    return VP8_EFLAG_NO_REF_GF | VP8_EFLAG_NO_REF_ARF | VP8_EFLAG_NO_UPD_LAST | VP8_EFLAG_NO_UPD_GF | VP8_EFLAG_NO_UPD_ARF
        | VP8_EFLAG_NO_UPD_ENTROPY;
}

// Reads the last frame's buffer, or writes it (`isWritten`): I420 in one piece of memory without padding, of whole macroblocks. libvpx checks
// no sizes, and treats padding as a border.
static inline vpx_codec_err_t cvpx_last_frame(vpx_codec_ctx_t *context, int isWritten, unsigned char *memory, unsigned width,
                                              unsigned height) {
    vpx_ref_frame_t reference = {0};
    reference.frame_type = VP8_LAST_FRAME;
    if (!vpx_img_wrap(&reference.img, VPX_IMG_FMT_I420, width, height, 1, memory)) return VPX_CODEC_INVALID_PARAM;
    return vpx_codec_control_(context, isWritten ? VP8_SET_REFERENCE : VP8_COPY_REFERENCE, &reference);
}
