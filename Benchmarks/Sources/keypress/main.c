// keypress: presses keys on a viewer's display, and looks there for what they change on the host's display: click to picture.
// usage: keypress [-n KEYS] [-p PAUSE_MS] [-b] HOST_DISPLAY VIEWER_DISPLAY
//        -b: the viewer is a page in a browser, which is asked to watch first
// A window that fills the host's display changes between a dark and a light grey with each key. The viewer has to fill its display; R
// asks for the control. Keys are pressed by XTEST, as a keyboard does; a pixel near the middle is read a thousand times a second.
// prints one JSON object: keys, p50/p95/max in ms.
#include "glass.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <xcb/xcb.h>
#include <xcb/xtest.h>

enum { enter = 36, r = 27, x = 53 };
static const uint32_t greys[2] = { 0x303030, 0xd0d0d0 };

static xcb_connection_t *open_display(const char *name, xcb_screen_t **screen) {
    xcb_connection_t *c = xcb_connect(name, NULL);
    if (xcb_connection_has_error(c)) { fprintf(stderr, "keypress: no display at '%s'\n", name); exit(1); }
    *screen = xcb_setup_roots_iterator(xcb_get_setup(c)).data;
    return c;
}

// The program of the host: returns when its display has gone.
static void show_grey(const char *name) {
    xcb_screen_t *s;
    xcb_connection_t *c = open_display(name, &s);
    xcb_window_t w = xcb_generate_id(c);
    uint32_t values[] = { greys[0], 1, XCB_EVENT_MASK_KEY_PRESS };
    xcb_create_window(c, XCB_COPY_FROM_PARENT, w, s->root, 0, 0, s->width_in_pixels, s->height_in_pixels, 0,
                      XCB_WINDOW_CLASS_INPUT_OUTPUT, s->root_visual,
                      XCB_CW_BACK_PIXEL | XCB_CW_OVERRIDE_REDIRECT | XCB_CW_EVENT_MASK, values);
    xcb_map_window(c, w);
    xcb_set_input_focus(c, XCB_INPUT_FOCUS_POINTER_ROOT, w, XCB_CURRENT_TIME);
    xcb_flush(c);
    int grey = 0;
    for (xcb_generic_event_t *e; (e = xcb_wait_for_event(c)); free(e)) {
        if ((e->response_type & 0x7f) != XCB_KEY_PRESS) continue;
        grey = 1 - grey;
        xcb_change_window_attributes(c, w, XCB_CW_BACK_PIXEL, &greys[grey]);
        xcb_clear_area(c, 0, w, 0, 0, 0, 0);
        xcb_flush(c);
    }
}

static xcb_connection_t *viewer;
static xcb_screen_t *screen;

// The green of a pixel beside the middle, where the host's pointer may be; -1: there is none.
static int look(void) {
    xcb_get_image_reply_t *image = xcb_get_image_reply(
        viewer,
        xcb_get_image(viewer, XCB_IMAGE_FORMAT_Z_PIXMAP, screen->root, screen->width_in_pixels * 5 / 8,
                      screen->height_in_pixels * 5 / 8, 1, 1, ~0u),
        NULL);
    int green = image && xcb_get_image_data_length(image) >= 4 ? xcb_get_image_data(image)[1] : -1;
    free(image);
    return green;
}

static void press(uint8_t key) {
    xcb_test_fake_input(viewer, XCB_KEY_PRESS, key, 0, 0, 0, 0, 0);
    xcb_test_fake_input(viewer, XCB_KEY_RELEASE, key, 0, 0, 0, 0, 0);
    xcb_flush(viewer);
}

// The time in 0.1 ms until the pixel is another one; -1: it is not within the limit.
static long wait_for_change(int before, uint32_t start, uint32_t limit) {
    while (glass_now() - start < limit) {
        int now = look();
        if (now >= 0 && abs(now - before) > 60) return (long)(glass_now() - start);
        usleep(900);
    }
    return -1;
}

// Gives the topmost window the keyboard.
static void focus_topmost(void) {
    xcb_query_tree_reply_t *tree = xcb_query_tree_reply(viewer, xcb_query_tree(viewer, screen->root), NULL);
    if (!tree) return;
    for (int i = xcb_query_tree_children_length(tree) - 1; i >= 0; i--) {
        xcb_window_t window = xcb_query_tree_children(tree)[i];
        xcb_get_geometry_reply_t *size = xcb_get_geometry_reply(viewer, xcb_get_geometry(viewer, window), NULL);
        xcb_get_window_attributes_reply_t *facts =
            xcb_get_window_attributes_reply(viewer, xcb_get_window_attributes(viewer, window), NULL);
        int is_large = size && facts && facts->map_state == XCB_MAP_STATE_VIEWABLE && size->width >= screen->width_in_pixels / 2;
        free(size);
        free(facts);
        if (!is_large) continue;
        xcb_set_input_focus(viewer, XCB_INPUT_FOCUS_POINTER_ROOT, window, XCB_CURRENT_TIME);
        break;
    }
    free(tree);
    xcb_test_fake_input(viewer, XCB_MOTION_NOTIFY, 0, 0, screen->root, screen->width_in_pixels / 3, screen->height_in_pixels / 3, 0);
    xcb_flush(viewer);
}

static int compare(const void *a, const void *b) { long d = *(const long *)a - *(const long *)b; return d < 0 ? -1 : d > 0; }

int main(int argc, char **argv) {
    int keys = 200, pause = 150, is_browser = 0, o;
    while ((o = getopt(argc, argv, "n:p:b")) != -1) switch (o) {
        case 'n': keys = atoi(optarg); break;
        case 'p': pause = atoi(optarg); break;
        case 'b': is_browser = 1; break;
        default: optind = argc;
    }
    if (argc - optind != 2 || keys < 1 || pause < 1) {
        fprintf(stderr, "usage: keypress [-n KEYS] [-p PAUSE_MS] [-b] HOST_DISPLAY VIEWER_DISPLAY\n");
        return 2;
    }
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        show_grey(argv[optind]);
        return 0;
    }
    viewer = open_display(argv[optind + 1], &screen);
    int is_controlling = 0;
    for (int i = 0; i < 30 && !is_controlling; i++) {
        focus_topmost();
        // What asks to watch, and to control, is a key like all others later on.
        if (is_browser && i < 3) { press(enter); usleep(1500000); }
        if (i < 3 || i % 5 == 0) { press(r); usleep(500000); }
        int before = look();
        press(x);
        is_controlling = before >= 0 && wait_for_change(before, glass_now(), 10000) >= 0;
    }
    if (!is_controlling) { printf("{\"keys\": 0, \"error\": \"no key changed the picture\"}\n"); return 1; }
    long *times = malloc(sizeof *times * (size_t)keys);
    int lost = 0;
    for (int i = 0; i < keys; i++) {
        // Not in step with anything.
        usleep((useconds_t)pause * 1000 + (useconds_t)(rand() % (pause * 200 + 1)));
        int before = look();
        uint32_t start = glass_now();
        press(x);
        times[i] = wait_for_change(before, start, 50000);
        if (times[i] < 0) { lost++; times[i] = 50000; }
    }
    qsort(times, (size_t)keys, sizeof *times, compare);
    printf("{\"keys\": %d, \"lost\": %d, \"p50_ms\": %.1f, \"p95_ms\": %.1f, \"max_ms\": %.1f}\n", keys, lost,
           times[keys / 2] / 10.0, times[keys * 95 / 100] / 10.0, times[keys - 1] / 10.0);
    return 0;
}
