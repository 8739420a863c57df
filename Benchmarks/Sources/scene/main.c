// scene: a window of moving video, 1280x720 at 30 pictures a second, on $DISPLAY: gradients that turn, with a little noise, as a film has.
// usage: scene [-s SECONDS] [-x X] [-y Y]
#define _GNU_SOURCE
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/XShm.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>
enum { W = 1280, H = 720 };

int main(int argc, char **argv) {
    int seconds = 10, x = 500, y = 250, o;
    while ((o = getopt(argc, argv, "s:x:y:")) != -1) {
        if (o == 's') seconds = atoi(optarg);
        else if (o == 'x') x = atoi(optarg);
        else if (o == 'y') y = atoi(optarg);
        else { fprintf(stderr, "usage: scene [-s SECONDS] [-x X] [-y Y]\n"); return 2; }
    }
    Display *d = XOpenDisplay(NULL);
    if (!d) { fprintf(stderr, "scene: no display\n"); return 1; }
    int s = DefaultScreen(d);
    XSetWindowAttributes a = { .override_redirect = True };
    Window w = XCreateWindow(d, RootWindow(d, s), x, y, W, H, 0, CopyFromParent, InputOutput, CopyFromParent, CWOverrideRedirect, &a);
    XMapWindow(d, w);
    XLowerWindow(d, w);
    GC gc = XCreateGC(d, w, 0, NULL);
    XShmSegmentInfo si;
    XImage *m = XShmCreateImage(d, DefaultVisual(d, s), 24, ZPixmap, NULL, &si, W, H);
    si.shmid = shmget(IPC_PRIVATE, (size_t)m->bytes_per_line * H, IPC_CREAT | 0600);
    si.shmaddr = m->data = shmat(si.shmid, NULL, 0);
    si.readOnly = False;
    XShmAttach(d, &si);
    XSync(d, False);
    shmctl(si.shmid, IPC_RMID, NULL);
    static uint8_t wave[1024];
    for (int i = 0; i < 1024; i++) wave[i] = (uint8_t)(128 + 110 * sin(i * M_PI / 512));
    uint32_t noise = 1;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int n = 0; n < seconds * 30; n++) {
        for (int j = 0; j < H; j++) {
            uint32_t *row = (uint32_t *)(m->data + (size_t)j * m->bytes_per_line);
            for (int i = 0; i < W; i++) {
                noise = noise * 1664525u + 1013904223u;
                uint32_t k = noise >> 30, r = wave[(i + j + n * 6) & 1023], g = wave[(2 * i - j + n * 4) & 1023], b = wave[(i - 3 * j + n * 9) & 1023];
                row[i] = (r + k) << 16 | (g + k) << 8 | (b + k);
            }
        }
        XShmPutImage(d, w, gc, m, 0, 0, 0, 0, W, H, False);
        XFlush(d);
        next.tv_nsec += 33333333;
        if (next.tv_nsec >= 1000000000) { next.tv_nsec -= 1000000000; next.tv_sec++; }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return 0;
}
