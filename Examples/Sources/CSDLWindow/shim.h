#define SDL_MAIN_HANDLED
#include <SDL.h>

/// Macros that Swift does not import.
static const Uint32 csdl_init_video = SDL_INIT_VIDEO;
static const Uint32 csdl_resizable = SDL_WINDOW_RESIZABLE;
static const int csdl_anywhere = SDL_WINDOWPOS_UNDEFINED;

/// Shows a question with some answers, from left to right; the first one is also Escape's.
/// Returns the number of the answer; 0 if no window can be shown.
static inline int csdl_ask(
    SDL_Window *window, const char *title, const char *question, const char *const *answers, int count) {
    SDL_MessageBoxButtonData buttons[8];
    const SDL_MessageBoxData box = {0, window, title, question, count < 8 ? count : 8, buttons, NULL};
    int answer = 0;
    for (int i = 0; i < box.numbuttons; i++) {
        buttons[i].flags = i == 0 ? SDL_MESSAGEBOX_BUTTON_ESCAPEKEY_DEFAULT : 0;
        buttons[i].buttonid = i;
        buttons[i].text = answers[i];
    }
    return SDL_ShowMessageBox(&box, &answer) == 0 && answer > 0 ? answer : 0;
}
