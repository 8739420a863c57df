// scene: a window of moving video on $DISPLAY: gradients that turn, with a little noise, as a film has. 1280x720 at 30 pictures a second if
// nothing else is said. -l: thirty pictures that were made in advance, again and again, which takes less CPU while they are shown.
// usage: scene [-s SECONDS] [-x X] [-y Y] [-w WIDTH] [-h HEIGHT] [-f FPS] [-l]
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
enum { LOOP = 30 };

static uint8_t wave[1024];
static uint32_t noise = 1;

static void draw(char *pixels, int stride, int width, int height, int n) {
    for (int j = 0; j < height; j++) {
        uint32_t *row = (uint32_t *)(pixels + (size_t)j * stride);
        for (int i = 0; i < width; i++) {
            noise = noise * 1664525u + 1013904223u;
            uint32_t k = noise >> 30, r = wave[(i + j + n * 6) & 1023], g = wave[(2 * i - j + n * 4) & 1023], b = wave[(i - 3 * j + n * 9) & 1023];
            row[i] = (r + k) << 16 | (g + k) << 8 | (b + k);
        }
    }
}

int main(int argc, char **argv) {
    int seconds = 10, x = 500, y = 250, o, width = 1280, height = 720, fps = 30, loops = 0;
    while ((o = getopt(argc, argv, "s:x:y:w:h:f:l")) != -1) {
        if (o == 's') seconds = atoi(optarg);
        else if (o == 'x') x = atoi(optarg);
        else if (o == 'y') y = atoi(optarg);
        else if (o == 'w') width = atoi(optarg);
        else if (o == 'h') height = atoi(optarg);
        else if (o == 'f') fps = atoi(optarg);
        else if (o == 'l') loops = 1;
        else { fprintf(stderr, "usage: scene [-s SECONDS] [-x X] [-y Y] [-w WIDTH] [-h HEIGHT] [-f FPS] [-l]\n"); return 2; }
    }
    if (width < 1 || height < 1 || height > 1080 || fps < 1) return 2;
    Display *d = XOpenDisplay(NULL);
    if (!d) { fprintf(stderr, "scene: no display\n"); return 1; }
    int s = DefaultScreen(d);
    XSetWindowAttributes a = { .override_redirect = True };
    Window w = XCreateWindow(d, RootWindow(d, s), x, y, width, height, 0, CopyFromParent, InputOutput, CopyFromParent, CWOverrideRedirect, &a);
    XMapWindow(d, w);
    XLowerWindow(d, w);
    GC gc = XCreateGC(d, w, 0, NULL);
    XShmSegmentInfo si;
    XImage *m = XShmCreateImage(d, DefaultVisual(d, s), 24, ZPixmap, NULL, &si, width, loops ? height * LOOP : height);
    si.shmid = shmget(IPC_PRIVATE, (size_t)m->bytes_per_line * m->height, IPC_CREAT | 0600);
    si.shmaddr = m->data = shmat(si.shmid, NULL, 0);
    si.readOnly = False;
    XShmAttach(d, &si);
    XSync(d, False);
    shmctl(si.shmid, IPC_RMID, NULL);
    for (int i = 0; i < 1024; i++) wave[i] = (uint8_t)(128 + 110 * sin(i * M_PI / 512));
    size_t picture = (size_t)m->bytes_per_line * height;
    for (int n = 0; loops && n < LOOP; n++) draw(m->data + n * picture, m->bytes_per_line, width, height, n);
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int n = 0; n < seconds * fps; n++) {
        if (!loops) draw(m->data, m->bytes_per_line, width, height, n);
        XShmPutImage(d, w, gc, m, 0, loops ? n % LOOP * height : 0, 0, 0, width, height, False);
        XFlush(d);
        next.tv_nsec += 1000000000 / fps;
        if (next.tv_nsec >= 1000000000) { next.tv_nsec -= 1000000000; next.tv_sec++; }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return 0;
}
