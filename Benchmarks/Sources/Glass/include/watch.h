// A display's picture in shared memory, for the tools that watch one.
#ifndef WATCH_H
#define WATCH_H
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/XShm.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <time.h>

static inline double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

// Two at most. It is filled by XShmGetImage.
static inline XImage *open_image(Display *d, int W, int H) {
    static XShmSegmentInfo segments[2];
    static int count;
    XShmSegmentInfo *si = &segments[count++];
    XImage *m = XShmCreateImage(d, DefaultVisual(d, DefaultScreen(d)), 24, ZPixmap, NULL, si, (unsigned)W, (unsigned)H);
    if (!m) { fprintf(stderr, "no shared memory\n"); exit(1); }
    si->shmid = shmget(IPC_PRIVATE, (size_t)m->bytes_per_line * (size_t)H, IPC_CREAT | 0600);
    si->shmaddr = m->data = shmat(si->shmid, NULL, 0);
    si->readOnly = False;
    XShmAttach(d, si);
    XSync(d, False);
    shmctl(si->shmid, IPC_RMID, NULL);
    return m;
}

static inline int luma(const unsigned char *p) { return (29 * p[0] + 150 * p[1] + 77 * p[2]) >> 8; }
#endif
