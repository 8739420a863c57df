// newpage: a page of text fills display A and rests, then another replaces it; tells how soon display B shows that one, and how well.
// usage: newpage DISPLAY_A DISPLAY_B STILL_SECONDS LIMIT_SECONDS
// prints {"event": "turned"} when the page turns, and at the end one JSON object: ms until the luma's PSNR was 30 dB (readable) and
// 38 dB (sharp), which are null if it never was, and the last PSNR.
#include <watch.h>
#include <X11/Xlib.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Lines of words in columns, a coloured head, boxes: always the same for the same seed.
static Pixmap draw_page(Display *d, Window w, unsigned seed, int W, int H) {
    Pixmap p = XCreatePixmap(d, w, (unsigned)W, (unsigned)H, 24);
    GC gc = XCreateGC(d, p, 0, NULL);
    XFontStruct *font = XLoadQueryFont(d, "fixed");
    if (font) XSetFont(d, gc, font->fid);
    // As on pages that people read: two columns of ragged lines with air between them, some 7,000 letters.
    int step = 21, width = font ? font->max_bounds.width : 6;
    XSetForeground(d, gc, 0xFFFFFF);
    XFillRectangle(d, p, gc, 0, 0, (unsigned)W, (unsigned)H);
    XSetForeground(d, gc, seed & 1 ? 0x20407A : 0x7A3020);
    XFillRectangle(d, p, gc, 0, 0, (unsigned)W, 60);
    for (int y = 90; y < H - 10; y += step)
        for (int column = 0; column < 2; column++) {
            char line[128];
            int n = 0, most = (W / 2 - 200) / width;
            if (most > 127) most = 127;
            seed = seed * 1664525u + 1013904223u;
            if (seed >> 29 == 0) continue;                                    // a paragraph ends
            most -= (int)(seed >> 12) % (seed >> 26 & 3 ? 12 : most);         // some lines are short
            while (n < most) {
                seed = seed * 1664525u + 1013904223u;
                line[n++] = (seed >> 28) < 3 ? ' ' : (char)('a' + (seed >> 16) % 26);
            }
            XSetForeground(d, gc, (seed >> 20 & 7) ? 0x202020 : 0x1040C0);
            XDrawString(d, p, gc, 100 + column * W / 2, y, line, n);
        }
    for (int i = 0; i < 6; i++) {
        seed = seed * 1664525u + 1013904223u;
        XSetForeground(d, gc, seed >> 8 | 0x808080);
        XFillRectangle(d, p, gc, (int)(seed >> 9 & 0xFFFF) % (W - 300), 80 + (int)(seed >> 4 & 0xFFFF) % (H - 250), 240, 120);
    }
    XFreeGC(d, gc);
    return p;
}

// Every other line will do.
static double psnr(const XImage *a, const XImage *b) {
    uint64_t sum = 0;
    for (int y = 0; y < a->height; y += 2) {
        const unsigned char *p = (unsigned char *)a->data + (size_t)y * (size_t)a->bytes_per_line;
        const unsigned char *q = (unsigned char *)b->data + (size_t)y * (size_t)b->bytes_per_line;
        uint32_t line = 0;
        for (int x = 0; x < a->width; x++) {
            int e = luma(p + 4 * x) - luma(q + 4 * x);
            line += (uint32_t)(e * e);
        }
        sum += line;
    }
    double mean = (double)sum / ((double)a->width * ((a->height + 1) / 2));
    return mean < 0.01 ? 68 : 10 * log10(255 * 255 / mean);
}

static void tell(const char *name, double ms) {
    if (ms < 0) printf("\"%s\": null, ", name); else printf("\"%s\": %.0f, ", name, ms);
}

int main(int argc, char **argv) {
    if (argc != 5) { fprintf(stderr, "usage: newpage DISPLAY_A DISPLAY_B STILL_SECONDS LIMIT_SECONDS\n"); return 2; }
    Display *a = XOpenDisplay(argv[1]), *b = XOpenDisplay(argv[2]);
    if (!a || !b) { fprintf(stderr, "newpage: no display\n"); return 1; }
    int W = DisplayWidth(a, DefaultScreen(a)), H = DisplayHeight(a, DefaultScreen(a));
    if (W != DisplayWidth(b, DefaultScreen(b)) || H != DisplayHeight(b, DefaultScreen(b))) { fprintf(stderr, "newpage: two sizes\n"); return 1; }
    XSetWindowAttributes attributes = { .override_redirect = True };
    Window w = XCreateWindow(a, DefaultRootWindow(a), 0, 0, (unsigned)W, (unsigned)H, 0, CopyFromParent, InputOutput, CopyFromParent, CWOverrideRedirect, &attributes);
    Pixmap pages[2] = { draw_page(a, w, 1, W, H), draw_page(a, w, 2, W, H) };
    // Where the pointer is drawn into the picture, it would be a difference.
    XWarpPointer(a, None, DefaultRootWindow(a), 0, 0, 0, 0, W - 1, H - 1);
    XSetWindowBackgroundPixmap(a, w, pages[0]);
    XMapRaised(a, w);
    GC gc = XCreateGC(a, w, 0, NULL);
    XCopyArea(a, pages[0], w, gc, 0, 0, (unsigned)W, (unsigned)H, 0, 0);
    XSync(a, False);
    usleep((useconds_t)(atof(argv[3]) * 1e6));
    XImage *wanted = open_image(a, W, H), *seen = open_image(b, W, H);
    XCopyArea(a, pages[1], w, gc, 0, 0, (unsigned)W, (unsigned)H, 0, 0);
    XSync(a, False);
    double begin = now_ms(), readable = -1, sharp = -1, last = 0;
    printf("{\"event\": \"turned\"}\n");
    fflush(stdout);
    XShmGetImage(a, DefaultRootWindow(a), wanted, 0, 0, AllPlanes);
    while (now_ms() - begin < atof(argv[4]) * 1e3 && sharp < 0) {
        XShmGetImage(b, DefaultRootWindow(b), seen, 0, 0, AllPlanes);
        double when = now_ms() - begin;
        last = psnr(wanted, seen);
        if (last >= 30 && readable < 0) readable = when;
        if (last >= 38 && sharp < 0) sharp = when;
        usleep(10000);
    }
    printf("{\"event\": \"seen\", ");
    tell("readable_ms", readable);
    tell("sharp_ms", sharp);
    printf("\"psnr\": %.1f}\n", last);
    return 0;
}
