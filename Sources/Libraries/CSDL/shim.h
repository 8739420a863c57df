#ifndef SHARE_CSDL_SHIM_H
#define SHARE_CSDL_SHIM_H

#define SDL_MAIN_HANDLED
#include <SDL.h>
#include <SDL_syswm.h>
#include <SDL_ttf.h>
#include <X11/XKBlib.h>
#include <X11/Xatom.h>

/// Returns the window's connection to the X server; NULL with another SDL video driver.
static inline void *csdl_x11_display(SDL_Window *window) {
    SDL_SysWMinfo info;
    SDL_VERSION(&info.version);
    if (!SDL_GetWindowWMInfo(window, &info) || info.subsystem != SDL_SYSWM_X11) return NULL;
    return info.info.x11.display;
}

/// Returns the window's number on the X server; 0 with another SDL video driver.
static inline unsigned long csdl_x11_window(SDL_Window *window) {
    SDL_SysWMinfo info;
    SDL_VERSION(&info.version);
    if (!SDL_GetWindowWMInfo(window, &info) || info.subsystem != SDL_SYSWM_X11) return 0;
    return info.info.x11.window;
}

/// Reads a key event of X11 from an event of type SDL_SYSWMEVENT.
/// The keysym is that of the key with the modifiers and the group that were on; 0: it has none.
/// Returns whether it is one, of a key.
static inline int csdl_x11_key(const SDL_Event *event, uint32_t *code, uint32_t *keysym, int *is_pressed) {
    SDL_SysWMmsg *message = event->syswm.msg;
    if (event->type != SDL_SYSWMEVENT || !message || message->subsystem != SDL_SYSWM_X11) return 0;
    XKeyEvent *key = &message->msg.x11.event.xkey;
    // An input method's text comes as key 0.
    if ((key->type != KeyPress && key->type != KeyRelease) || key->keycode == 0) return 0;
    unsigned int modifiers = 0;
    KeySym found = NoSymbol;
    if (!XkbLookupKeySym(key->display, (KeyCode)key->keycode, key->state, &modifiers, &found)) found = NoSymbol;
    *code = key->keycode;
    *keysym = (uint32_t)found;
    *is_pressed = key->type == KeyPress;
    return 1;
}

/// Returns the socket of an X connection; readable when the server has sent data.
static inline int csdl_x11_socket(void *display) {
    return ConnectionNumber((Display *)display);
}

/// Returns the user's text resolution (the resource Xft.dpi), in dots per inch; 0 if none is set.
static inline double csdl_x11_text_resolution(void *display) {
    const char *text = XGetDefault((Display *)display, "Xft", "dpi");
    return text ? SDL_atof(text) : 0;
}

/// Whether a window manager on the display handles requests for full screen (EWMH, _NET_SUPPORTING_WM_CHECK).
static inline int csdl_x11_has_window_manager(void *display) {
    Display *d = (Display *)display;
    Atom check = XInternAtom(d, "_NET_SUPPORTING_WM_CHECK", True), type = None;
    int format = 0;
    unsigned long count = 0, rest = 0;
    unsigned char *value = NULL;
    if (check == None) return 0;
    XGetWindowProperty(d, DefaultRootWindow(d), check, 0, 1, False, XA_WINDOW, &type, &format, &count, &rest, &value);
    if (value) XFree(value);
    return count == 1;
}

static inline int csdl_x11_ignore_error(Display *display, XErrorEvent *error) {
    (void)display;
    (void)error;
    return 0;
}

/// Has Xlib go on after an error of the server, such as a focus for a window that is not shown yet. By default it calls exit.
static inline void csdl_x11_survive_errors(void) {
    XSetErrorHandler(csdl_x11_ignore_error);
}

/// Leaves the window out of captures by share (_SHARE_EXCLUDE_FROM_CAPTURE): it is black there.
static inline void csdl_x11_exclude_from_capture(SDL_Window *window) {
    SDL_SysWMinfo info;
    SDL_VERSION(&info.version);
    if (!SDL_GetWindowWMInfo(window, &info) || info.subsystem != SDL_SYSWM_X11) return;
    Display *d = info.info.x11.display;
    long value = 1;
    XChangeProperty(
        d, info.info.x11.window, XInternAtom(d, "_SHARE_EXCLUDE_FROM_CAPTURE", False), XA_CARDINAL, 32, PropModeReplace,
        (unsigned char *)&value, 1);
}

#endif
