#ifndef SHARE_CSDL_SHIM_H
#define SHARE_CSDL_SHIM_H

#define SDL_MAIN_HANDLED
#include <SDL.h>
#include <SDL_syswm.h>
#include <sys/eventfd.h>

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

/// A counter that poll can wait for; -1 and errno if there is none.
static inline int csdl_make_event_descriptor(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

#endif
