#ifndef SHARE_CSDL_SHIM_H
#define SHARE_CSDL_SHIM_H

#define SDL_MAIN_HANDLED
#include <SDL.h>
#include <SDL_syswm.h>
#include <SDL_ttf.h>
#include <X11/Xatom.h>

/// The window's connection to the X server, NULL when SDL drives something else.
static inline void *csdl_x11_display(SDL_Window *window) {
    SDL_SysWMinfo info;
    SDL_VERSION(&info.version);
    if (!SDL_GetWindowWMInfo(window, &info) || info.subsystem != SDL_SYSWM_X11) return NULL;
    return info.info.x11.display;
}

/// The socket of an X connection; readable when the server has something to say.
static inline int csdl_x11_socket(void *display) {
    return ConnectionNumber((Display *)display);
}

/// The resolution that the person has set for text (the resource Xft.dpi), in dots per inch; 0 if none.
static inline double csdl_x11_text_resolution(void *display) {
    const char *text = XGetDefault((Display *)display, "Xft", "dpi");
    return text ? SDL_atof(text) : 0;
}

/// Whether anybody on the display answers a wish for full screen (EWMH, _NET_SUPPORTING_WM_CHECK).
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

#endif
