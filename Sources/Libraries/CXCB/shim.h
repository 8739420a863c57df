#include <xcb/xcb.h>
#include <xcb/shm.h>
#include <xcb/damage.h>
#include <xcb/xfixes.h>
#include <xcb/randr.h>
#include <xcb/xinput.h>
#include <xcb/composite.h>
#include <xcb/shape.h>
#include <xcb/xtest.h>
#include <xcb/xkb.h>

// The ids of extensions are global variables, which Swift 6 does not allow to access. Each function returns NULL when
// the connection is broken; `present` is 0 if the server lacks the extension.

static inline const xcb_query_extension_reply_t *cxcb_shm(xcb_connection_t *c) {
    return xcb_get_extension_data(c, &xcb_shm_id);
}

static inline const xcb_query_extension_reply_t *cxcb_damage(xcb_connection_t *c) {
    return xcb_get_extension_data(c, &xcb_damage_id);
}

static inline const xcb_query_extension_reply_t *cxcb_xfixes(xcb_connection_t *c) {
    return xcb_get_extension_data(c, &xcb_xfixes_id);
}

static inline const xcb_query_extension_reply_t *cxcb_randr(xcb_connection_t *c) {
    return xcb_get_extension_data(c, &xcb_randr_id);
}

static inline const xcb_query_extension_reply_t *cxcb_xinput(xcb_connection_t *c) {
    return xcb_get_extension_data(c, &xcb_input_id);
}

static inline const xcb_query_extension_reply_t *cxcb_composite(xcb_connection_t *c) {
    return xcb_get_extension_data(c, &xcb_composite_id);
}

static inline const xcb_query_extension_reply_t *cxcb_shape(xcb_connection_t *c) {
    return xcb_get_extension_data(c, &xcb_shape_id);
}

static inline const xcb_query_extension_reply_t *cxcb_test(xcb_connection_t *c) {
    return xcb_get_extension_data(c, &xcb_test_id);
}

static inline const xcb_query_extension_reply_t *cxcb_xkb(xcb_connection_t *c) {
    return xcb_get_extension_data(c, &xcb_xkb_id);
}

/// Sends all queries at once, so that the replies cost one round trip.
static inline void cxcb_prefetch_extensions(xcb_connection_t *c) {
    xcb_prefetch_extension_data(c, &xcb_shm_id);
    xcb_prefetch_extension_data(c, &xcb_damage_id);
    xcb_prefetch_extension_data(c, &xcb_xfixes_id);
    xcb_prefetch_extension_data(c, &xcb_randr_id);
    xcb_prefetch_extension_data(c, &xcb_input_id);
    xcb_prefetch_extension_data(c, &xcb_composite_id);
    xcb_prefetch_extension_data(c, &xcb_shape_id);
}

/// Selects motion of all master devices on the root window, or nothing. Raw motion is reported whichever window
/// receives the pointer's events. Plain motion adds jumps by programs, which are not raw, unless a window takes them.
static inline void cxcb_select_motion(xcb_connection_t *c, xcb_window_t root, int on) {
    struct {
        xcb_input_event_mask_t head;
        uint32_t mask;
    } selection = {{XCB_INPUT_DEVICE_ALL_MASTER, 1}, on ? XCB_INPUT_XI_EVENT_MASK_RAW_MOTION | XCB_INPUT_XI_EVENT_MASK_MOTION : 0};
    xcb_input_xi_select_events(c, root, 1, &selection.head);
}

/// Selects what devices report before any window gets it, of all devices that move the pointer or type, and changes of
/// the list of devices.
static inline void cxcb_select_raw_input(xcb_connection_t *c, xcb_window_t root) {
    struct {
        xcb_input_event_mask_t head;
        uint32_t mask;
    } raw = {{XCB_INPUT_DEVICE_ALL_MASTER, 1},
             XCB_INPUT_XI_EVENT_MASK_RAW_KEY_PRESS | XCB_INPUT_XI_EVENT_MASK_RAW_KEY_RELEASE |
                 XCB_INPUT_XI_EVENT_MASK_RAW_BUTTON_PRESS | XCB_INPUT_XI_EVENT_MASK_RAW_BUTTON_RELEASE |
                 XCB_INPUT_XI_EVENT_MASK_RAW_MOTION | XCB_INPUT_XI_EVENT_MASK_RAW_TOUCH_BEGIN |
                 XCB_INPUT_XI_EVENT_MASK_RAW_TOUCH_UPDATE | XCB_INPUT_XI_EVENT_MASK_RAW_TOUCH_END},
      list = {{XCB_INPUT_DEVICE_ALL, 1}, XCB_INPUT_XI_EVENT_MASK_HIERARCHY};
    xcb_input_xi_select_events(c, root, 1, &raw.head);
    xcb_input_xi_select_events(c, root, 1, &list.head);
}

// Functions that Swift's Glibc module lacks.
extern int cxcb_memfd_create(const char *, unsigned) __asm__("memfd_create");

/// A file in memory, closed on exec (MFD_CLOEXEC is 1).
static inline int cxcb_open_memory(const char *name) { return cxcb_memfd_create(name, 1); }
