#ifndef SHARE_CSDL_SHIM_H
#define SHARE_CSDL_SHIM_H

#define SDL_MAIN_HANDLED
#include <SDL.h>
#include <SDL_syswm.h>
#include <SDL_ttf.h>
#include <X11/Xatom.h>

/// Returns the window's connection to the X server; NULL with another SDL video driver.
static inline void *csdl_x11_display(SDL_Window *window) {
    SDL_SysWMinfo info;
    SDL_VERSION(&info.version);
    if (!SDL_GetWindowWMInfo(window, &info) || info.subsystem != SDL_SYSWM_X11) return NULL;
    return info.info.x11.display;
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

/// The number of answers that a question may have: SDL draws no more buttons.
static const int csdl_answers = 8;

/// Asks a question in a small window, with `count` answers (1...csdl_answers) from left to right. Escape, and closing the
/// window, choose the first one. Returns the number of the answer, -1 if no window can be shown.
static inline int csdl_ask(const char *title, const char *question, const char *const *answers, int count) {
    SDL_MessageBoxButtonData buttons[8];
    const SDL_MessageBoxData box = {0, NULL, title, question, count < csdl_answers ? count : csdl_answers, buttons, NULL};
    int answer = 0;
    for (int i = 0; i < box.numbuttons; i++) {
        buttons[i].flags = i == 0 ? SDL_MESSAGEBOX_BUTTON_ESCAPEKEY_DEFAULT : 0;
        buttons[i].buttonid = i;
        buttons[i].text = answers[i];
    }
    if (SDL_ShowMessageBox(&box, &answer) != 0) return -1;
    return answer > 0 ? answer : 0;
}

#endif
