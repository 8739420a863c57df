#ifndef SHARE_CV4L2_H
#define SHARE_CV4L2_H

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

// Cameras of the kernel (Video4Linux 2), whose frames are in memory that is mapped here.

#define CV4L_MOST_BUFFERS 8

typedef struct {
    int file;
    // V4L2_PIX_FMT_...
    uint32_t format;
    uint32_t width, height, stride;
    unsigned count;
    void *_Nullable starts[CV4L_MOST_BUFFERS];
    size_t lengths[CV4L_MOST_BUFFERS];
} cv4l_camera;

static inline int cv4l_call(int file, unsigned long request, void *_Nonnull argument) {
    int result;
    do result = ioctl(file, request, argument);
    while (result < 0 && errno == EINTR);
    return result;
}

// Opens a device that captures video and streams. Returns a descriptor, or -1 with errno: ENOTTY or EINVAL if it is none.
static inline int cv4l_open_device(const char *_Nonnull path, char *_Nonnull name, size_t size) {
    struct v4l2_capability caps;
    int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return -1;
    memset(&caps, 0, sizeof caps);
    int result = cv4l_call(file, VIDIOC_QUERYCAP, &caps), code = errno;
    uint32_t can = caps.capabilities & V4L2_CAP_DEVICE_CAPS ? caps.device_caps : caps.capabilities;
    if (result < 0 || !(can & V4L2_CAP_VIDEO_CAPTURE) || !(can & V4L2_CAP_STREAMING)) {
        close(file);
        errno = result < 0 ? code : EINVAL;
        return -1;
    }
    size_t length = strnlen((const char *)caps.card, sizeof caps.card);
    if (length >= size) length = size - 1;
    memcpy(name, caps.card, length);
    name[length] = 0;
    return file;
}

static inline void cv4l_close(cv4l_camera *_Nonnull camera) {
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (camera->count) cv4l_call(camera->file, VIDIOC_STREAMOFF, &type);
    for (unsigned i = 0; i < camera->count; i++)
        if (camera->starts[i]) munmap(camera->starts[i], camera->lengths[i]);
    close(camera->file);
    free(camera);
}

// Whether a format is possible at about that size.
static inline bool cv4l_try(int file, uint32_t format, uint32_t width, uint32_t height, struct v4l2_format *_Nonnull found) {
    memset(found, 0, sizeof *found);
    found->type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    found->fmt.pix.width = width;
    found->fmt.pix.height = height;
    found->fmt.pix.pixelformat = format;
    found->fmt.pix.field = V4L2_FIELD_ANY;
    return cv4l_call(file, VIDIOC_TRY_FMT, found) == 0 && found->fmt.pix.pixelformat == format && found->fmt.pix.width > 0 &&
           found->fmt.pix.height > 0;
}

// Queues a buffer for the next frame. Returns false with errno.
static inline bool cv4l_queue(const cv4l_camera *_Nonnull camera, unsigned index) {
    struct v4l2_buffer buffer;
    memset(&buffer, 0, sizeof buffer);
    buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    buffer.memory = V4L2_MEMORY_MMAP;
    buffer.index = index;
    return cv4l_call(camera->file, VIDIOC_QBUF, &buffer) == 0;
}

// Starts a camera at about that size, in the first of `formats` that it has, at 30 frames a second if it can.
// Returns NULL with errno: EBUSY if another program uses it, ENOTSUP if it has none of the formats.
static inline cv4l_camera *_Nullable cv4l_start(const char *_Nonnull path, const uint32_t *_Nonnull formats, unsigned count,
                                                uint32_t width, uint32_t height) {
    char name[64];
    struct v4l2_format format;
    struct v4l2_streamparm rate;
    struct v4l2_requestbuffers request;
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE, code = ENOTSUP;
    unsigned choice = 0;
    int file = cv4l_open_device(path, name, sizeof name);
    if (file < 0) return NULL;
    cv4l_camera *camera = (cv4l_camera *)calloc(1, sizeof *camera);
    if (!camera) {
        close(file);
        errno = ENOMEM;
        return NULL;
    }
    camera->file = file;
    while (choice < count && !cv4l_try(file, formats[choice], width, height, &format)) choice++;
    if (choice == count) goto failed;
    if (cv4l_call(file, VIDIOC_S_FMT, &format) < 0) goto failed_call;
    camera->format = format.fmt.pix.pixelformat;
    camera->width = format.fmt.pix.width;
    camera->height = format.fmt.pix.height;
    camera->stride = format.fmt.pix.bytesperline;
    memset(&rate, 0, sizeof rate);
    rate.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    rate.parm.capture.timeperframe.numerator = 1;
    rate.parm.capture.timeperframe.denominator = 30;
    // A camera with one rate refuses.
    (void)cv4l_call(file, VIDIOC_S_PARM, &rate);
    memset(&request, 0, sizeof request);
    request.count = 4;
    request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    request.memory = V4L2_MEMORY_MMAP;
    if (cv4l_call(file, VIDIOC_REQBUFS, &request) < 0) goto failed_call;
    for (unsigned i = 0; i < request.count && i < CV4L_MOST_BUFFERS; i++) {
        struct v4l2_buffer buffer;
        memset(&buffer, 0, sizeof buffer);
        buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
        buffer.memory = V4L2_MEMORY_MMAP;
        buffer.index = i;
        if (cv4l_call(file, VIDIOC_QUERYBUF, &buffer) < 0) goto failed_call;
        void *start = mmap(NULL, buffer.length, PROT_READ | PROT_WRITE, MAP_SHARED, file, buffer.m.offset);
        if (start == MAP_FAILED) goto failed_call;
        camera->starts[i] = start;
        camera->lengths[i] = buffer.length;
        camera->count = i + 1;
        if (!cv4l_queue(camera, i)) goto failed_call;
    }
    if (cv4l_call(file, VIDIOC_STREAMON, &type) < 0) goto failed_call;
    return camera;
failed_call:
    code = errno;
failed:
    cv4l_close(camera);
    errno = code;
    return NULL;
}

// Takes the next frame. Returns its buffer's index, -1 if there is none yet, or -2 with errno: ENODEV if the camera is unplugged.
static inline int cv4l_take(const cv4l_camera *_Nonnull camera, size_t *_Nonnull used) {
    struct v4l2_buffer buffer;
    memset(&buffer, 0, sizeof buffer);
    buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    buffer.memory = V4L2_MEMORY_MMAP;
    if (cv4l_call(camera->file, VIDIOC_DQBUF, &buffer) < 0) return errno == EAGAIN ? -1 : -2;
    if (buffer.index >= camera->count) return -1;
    // A damaged frame is empty here.
    *used = buffer.flags & V4L2_BUF_FLAG_ERROR ? 0 : buffer.bytesused;
    return (int)buffer.index;
}

static inline const void *_Nullable cv4l_start_of(const cv4l_camera *_Nonnull camera, unsigned index) {
    return index < camera->count ? camera->starts[index] : NULL;
}

static inline size_t cv4l_length_of(const cv4l_camera *_Nonnull camera, unsigned index) {
    return index < camera->count ? camera->lengths[index] : 0;
}

#endif
