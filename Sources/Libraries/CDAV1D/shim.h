#include <stddef.h>
#include <stdint.h>

// What share uses of libdav1d 1.0 (soname: libdav1d.so.6), as its data.h, dav1d.h and picture.h declare it. The library is
// loaded at run time, so that nothing of it is needed to build or to start share.

typedef struct {
    int64_t timestamp, duration, offset;
    size_t size;
    const uint8_t *user_data;
    void *user_data_ref;
} cdav1d_properties;

// Dav1dData.
typedef struct {
    const uint8_t *data;
    size_t size;
    void *ref;
    cdav1d_properties properties;
} cdav1d_data;

// Dav1dSequenceHeader up to `color_range`.
typedef struct {
    int profile;
    int max_width, max_height;
    int layout;
    int primaries, transfer, matrix, chroma_position;
    int high_bit_depth;
    int color_range;
} cdav1d_sequence_header;

// Dav1dPicture, with room for what follows.
typedef struct {
    cdav1d_sequence_header *sequence_header;
    void *frame_header;
    void *data[3];
    ptrdiff_t stride[2];
    int width, height;
    // 0: only Y, 1: 4:2:0, 2: 4:2:2, 3: 4:4:4.
    int layout;
    // 8, 10 or 12.
    int bits;
    uint64_t rest[64];
} cdav1d_picture;

// Dav1dSettings, with room for what follows.
typedef struct {
    int threads;
    int frame_delay;
    int applies_grain;
    int operating_point;
    int all_layers;
    unsigned frame_size_limit;
    void *allocator[3];
    void *logger[2];
    int strict;
    uint64_t rest[64];
} cdav1d_settings;

#if __SIZEOF_POINTER__ == 8
_Static_assert(offsetof(cdav1d_data, properties) == 24 && sizeof(cdav1d_data) == 72, "Dav1dData");
_Static_assert(offsetof(cdav1d_sequence_header, color_range) == 36, "Dav1dSequenceHeader");
_Static_assert(offsetof(cdav1d_picture, width) == 56, "Dav1dPicture");
_Static_assert(offsetof(cdav1d_settings, logger) == 48, "Dav1dSettings");
#endif

enum {
    // DAV1D_ERR(EAGAIN) on Linux.
    cdav1d_error_again = -11,
};
