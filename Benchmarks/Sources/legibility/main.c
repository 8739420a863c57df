// legibility: shows pages of antialiased text on display A, changes each, and records what display B shows of the change.
// usage: legibility DISPLAY_A DISPLAY_B FOLDER SECONDS   (without displays: exits with 1 and says what is missing, if something is)
// Each page is shown as a new page, scrolled by seven lines, and gets some typed words. For each change, FOLDER gets PGM files of the
// window: PAGE-CHANGE-before.pgm and -after.pgm of display A, and PAGE-CHANGE-MS.pgm of display B, MS milliseconds after the change,
// whenever display B looks different from 50 ms before.
// prints {"event": "change", "page": P, "change": C} when a change begins, "changed" when its SECONDS are over, "over" at the end.
#include <stdio.h>
#if !__has_include(<X11/Xft/Xft.h>)
int main(void) {
    fprintf(stderr, "legibility: Xft's development files were missing when this was built\n");
    return 1;
}
#else
#include <watch.h>
#include <X11/Xft/Xft.h>
#include <X11/Xlib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 800, HEIGHT = 560, LEFT = 100, TOP = 150, SCROLLED_LINES = 7, MOST_FRAMES = 400 };

typedef struct {
    const char *name, *font;
    int step;                          // from line to line, in pixels
    unsigned long paper, ink, accent;
    void (*line)(char *text, size_t size, int number);
} Page;

static const char *words[] = {
    "screen", "window", "network", "viewer", "signal", "frame", "packet", "latency", "sharp", "letter", "column", "register", "memory",
    "pointer", "buffer", "colour", "margin", "travel", "morning", "picture", "number", "garden", "bridge", "winter", "silver", "market",
    "doctor", "engine", "forest", "island", "kitchen", "ladder", "mirror", "needle", "office", "pencil", "quarter", "river", "station",
    "teacher", "umbrella", "village", "weather", "yellow", "another", "between", "company", "develop", "example", "general", "history",
    "include", "justice", "library", "message", "nothing", "product", "question", "receive", "several",
};
static uint32_t seed = 1;
static unsigned below(unsigned n) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 10) % n;
}
static const char *word(void) { return words[below(sizeof words / sizeof *words)]; }

static void prose(char *text, size_t size, int number) {
    size_t n = 0;
    if (number % 9 == 8) return;
    while (n + 14 < size && n < 84) {
        const char *a = word();
        n += (size_t)snprintf(text + n, size - n, "%s%s ", a, below(9) ? "" : ",");
    }
}
static void code(char *text, size_t size, int number) {
    static const char *forms[] = {
        "%*slet %s = %s.%s(%u)", "%*sguard %s.%s > %u else { return }   // %s", "%*sfunc %s(%s: Int, %s: Int) -> Int {",
        "%*sfor %s in %s.%s where %s > 0 {",
    };
    int indent = 4 * (int)below(4);
    const char *a = word(), *b = word(), *c = word(), *d = word();
    unsigned n = below(4096);
    switch (number % 4) {
    case 0: snprintf(text, size, forms[0], indent, "", a, b, c, n); break;
    case 1: snprintf(text, size, forms[1], indent, "", a, b, n, c); break;
    case 2: snprintf(text, size, forms[2], indent, "", a, b, c); break;
    default: snprintf(text, size, forms[3], indent, "", a, b, c, d); break;
    }
}
static void table(char *text, size_t size, int number) {
    const char *a = word(), *b = word(), *c = word();
    unsigned m = below(100000), n = below(9000);
    snprintf(text, size, "%4d   %-10s %-10s %9u.%02u %9u.%02u   %-10s", 100 + number, a, b, m, m % 97, n, n % 89, c);
}
static void terminal(char *text, size_t size, int number) {
    static const char *levels[] = { "INFO", "WARN", "DEBUG", "ERROR" };
    const char *level = levels[below(4)], *a = word(), *b = word(), *c = word(), *d = word();
    unsigned m = below(9000), n = below(500);
    snprintf(text, size, "12:%02d:%02d %-5s %s: %s %u of %s %s %u ms", number / 60 % 60, number % 60, level, a, b, m, c, d, n);
}
static void labels(char *text, size_t size, int number) {
    const char *a = word(), *b = word();
    snprintf(text, size, "%s %s %u.%d", a, b, 10 + below(90), number % 10);
}

static const Page pages[] = {
    { "text", "DejaVu Sans-11", 21, 0xFFFFFF, 0x202020, 0x1040C0, prose },
    { "code", "DejaVu Sans Mono-10", 17, 0xFFFFFF, 0x24292E, 0xA02070, code },
    { "table", "DejaVu Sans Mono-9", 19, 0xFFFFFF, 0x303030, 0x206020, table },
    { "terminal", "DejaVu Sans Mono-12", 20, 0x1E1E2E, 0xCDD6F4, 0xA6E3A1, terminal },
    { "chart", "DejaVu Sans-9", 24, 0xF8F8F8, 0x303030, 0x404090, labels },
};

static XftColor colour(unsigned long value) {
    return (XftColor){ .pixel = value,
        .color = { (unsigned short)((value >> 16 & 255) * 257), (unsigned short)((value >> 8 & 255) * 257), (unsigned short)((value & 255) * 257), 65535 } };
}

static XftFont *open_font(Display *d, const Page *page) {
    XftFont *font = XftFontOpenName(d, DefaultScreen(d), page->font);
    FcChar8 *family = NULL;
    if (font) FcPatternGetString(font->pattern, FC_FAMILY, 0, &family);
    // Another font is chosen where this one is missing.
    if (!family || strncmp(page->font, (const char *)family, strlen((const char *)family))) {
        fprintf(stderr, "legibility: no font %s\n", page->font);
        exit(1);
    }
    return font;
}

static void draw_text(Display *d, Drawable to, XftFont *font, unsigned long ink, int x, int y, const char *text) {
    XftDraw *draw = XftDrawCreate(d, to, DefaultVisual(d, DefaultScreen(d)), DefaultColormap(d, DefaultScreen(d)));
    XftColor c = colour(ink);
    XftDrawStringUtf8(draw, &c, font, x, y, (const FcChar8 *)text, (int)strlen(text));
    XftDrawDestroy(draw);
}

// A page of the window's height and seven lines more.
static Pixmap draw_page(Display *d, Window w, const Page *page, XftFont *font) {
    int height = HEIGHT + SCROLLED_LINES * page->step;
    Pixmap p = XCreatePixmap(d, w, WIDTH, (unsigned)height, 24);
    GC gc = XCreateGC(d, p, 0, NULL);
    XSetForeground(d, gc, page->paper);
    XFillRectangle(d, p, gc, 0, 0, WIDTH, (unsigned)height);
    for (int y = page->step, number = 0; y < height; y += page->step, number++) {
        char text[160] = "";
        page->line(text, sizeof text, number);
        if (page->line == labels) {
            // A bar, its label before it, and its value after it.
            int length = 80 + (int)below(420);
            XSetForeground(d, gc, below(0x1000000) | 0x606060);
            XFillRectangle(d, p, gc, 220, y - 12, (unsigned)length, 14);
            char *value = strrchr(text, ' ');
            draw_text(d, p, font, page->ink, 230 + length, y, value + 1);
            *value = 0;
        } else if (page->line == table) {
            XSetForeground(d, gc, 0xC8C8C8);
            XDrawLine(d, p, gc, 10, y + 5, WIDTH - 10, y + 5);
        }
        draw_text(d, p, font, number % 5 == 3 ? page->accent : page->ink, 16, y, text);
    }
    XFreeGC(d, gc);
    return p;
}

static uint8_t *capture(Display *d, XImage *m) {
    XShmGetImage(d, DefaultRootWindow(d), m, LEFT, TOP, AllPlanes);
    uint8_t *plane = malloc(WIDTH * HEIGHT);
    for (int y = 0; y < HEIGHT; y++) {
        const unsigned char *line = (unsigned char *)m->data + (size_t)y * (size_t)m->bytes_per_line;
        for (int x = 0; x < WIDTH; x++) plane[y * WIDTH + x] = (uint8_t)luma(line + 4 * x);
    }
    return plane;
}

static void save(const uint8_t *plane, const char *folder, const char *page, const char *change, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s-%s-%s.pgm", folder, page, change, name);
    FILE *file = fopen(path, "wb");
    if (!file) { perror(path); exit(1); }
    fprintf(file, "P5\n%d %d\n255\n", WIDTH, HEIGHT);
    fwrite(plane, 1, WIDTH * HEIGHT, file);
    if (fclose(file)) { perror(path); exit(1); }
}

// Records a change of display A, which was drawn at `begin`.
static void record(Display *a, Display *b, XImage *from, XImage *to, double begin, double seconds, const char *folder, const char *page,
    const char *change) {
    static uint8_t *frames[MOST_FRAMES];
    static double times[MOST_FRAMES];
    int count = 0;
    while (now_ms() - begin < seconds * 1e3 && count < MOST_FRAMES) {
        double when = now_ms() - begin;
        uint8_t *plane = capture(b, to);
        if (count && !memcmp(plane, frames[count - 1], WIDTH * HEIGHT)) {
            free(plane);
        } else {
            times[count] = when;
            frames[count++] = plane;
        }
        double left = 50 - (now_ms() - begin - when);
        if (left > 0) usleep((useconds_t)(left * 1e3));
    }
    printf("{\"event\": \"changed\", \"page\": \"%s\", \"change\": \"%s\"}\n", page, change);
    fflush(stdout);
    uint8_t *after = capture(a, from);
    save(after, folder, page, change, "after");
    free(after);
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "%05.0f", times[i]);
        save(frames[i], folder, page, change, name);
        free(frames[i]);
    }
}

static void begin_change(Display *a, XImage *from, const char *folder, const char *page, const char *change) {
    uint8_t *before = capture(a, from);
    save(before, folder, page, change, "before");
    free(before);
    printf("{\"event\": \"change\", \"page\": \"%s\", \"change\": \"%s\"}\n", page, change);
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc == 1) return 0;
    if (argc != 5) { fprintf(stderr, "usage: legibility DISPLAY_A DISPLAY_B FOLDER SECONDS\n"); return 2; }
    Display *a = XOpenDisplay(argv[1]), *b = XOpenDisplay(argv[2]);
    if (!a || !b) { fprintf(stderr, "legibility: no display\n"); return 1; }
    const char *folder = argv[3];
    double seconds = atof(argv[4]);
    if (seconds <= 0 || seconds > 20) { fprintf(stderr, "legibility: SECONDS is 1 to 20\n"); return 2; }
    XSetWindowAttributes attributes = { .override_redirect = True, .background_pixel = 0x808080 };
    Window w = XCreateWindow(a, DefaultRootWindow(a), LEFT, TOP, WIDTH, HEIGHT, 0, CopyFromParent, InputOutput, CopyFromParent,
        CWOverrideRedirect | CWBackPixel, &attributes);
    // Where the pointer is drawn into the picture, it would be a difference.
    XWarpPointer(a, None, DefaultRootWindow(a), 0, 0, 0, 0, 1919, 1079);
    XMapRaised(a, w);
    XSync(a, False);
    GC gc = XCreateGC(a, w, 0, NULL);
    XImage *from = open_image(a, WIDTH, HEIGHT), *to = open_image(b, WIDTH, HEIGHT);
    sleep(2);
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        const Page *page = &pages[i];
        XftFont *font = open_font(a, page);
        Pixmap pixmap = draw_page(a, w, page, font);
        for (int change = 0; change < 2; change++) {
            const char *name = change ? "scroll" : "new";
            begin_change(a, from, folder, page->name, name);
            XCopyArea(a, pixmap, w, gc, 0, change * SCROLLED_LINES * page->step, WIDTH, HEIGHT, 0, 0);
            XSync(a, False);
            record(a, b, from, to, now_ms(), seconds, folder, page->name, name);
        }
        // Four words in the middle of the page, on paper of their own: eight letters a second.
        XSetForeground(a, gc, page->paper);
        XFillRectangle(a, w, gc, 0, HEIGHT / 2, WIDTH, 40);
        XSync(a, False);
        sleep(1);
        begin_change(a, from, folder, page->name, "typing");
        char typed[128] = "";
        for (int n = 0; n < 4; n++) snprintf(typed + strlen(typed), sizeof typed - strlen(typed), "%s%s", n ? " " : "", word());
        int x = 16;
        for (const char *next = typed; *next; next++) {
            char letter[2] = { *next, 0 };
            if (next > typed) usleep(125000);
            draw_text(a, w, font, page->ink, x, HEIGHT / 2 + 26, letter);
            XSync(a, False);
            XGlyphInfo extents;
            XftTextExtentsUtf8(a, font, (const FcChar8 *)letter, 1, &extents);
            x += extents.xOff;
        }
        record(a, b, from, to, now_ms(), 2, folder, page->name, "typing");
        XFreePixmap(a, pixmap);
        XftFontClose(a, font);
    }
    printf("{\"event\": \"over\"}\n");
    return 0;
}
#endif
