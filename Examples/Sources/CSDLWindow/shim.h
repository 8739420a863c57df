#define SDL_MAIN_HANDLED
#include <SDL.h>

/// Macros that Swift does not import.
static const Uint32 csdl_init_video = SDL_INIT_VIDEO;
static const Uint32 csdl_resizable = SDL_WINDOW_RESIZABLE;
static const int csdl_anywhere = SDL_WINDOWPOS_UNDEFINED;

/// Asks a question in a small window. Returns 1 for "Accept".
static inline int csdl_ask(SDL_Window *window, const char *title, const char *question) {
    const SDL_MessageBoxButtonData buttons[] = {{0, 0, "Refuse"}, {0, 1, "Accept"}};
    const SDL_MessageBoxData box = {0, window, title, question, 2, buttons, NULL};
    int answer = 0;
    SDL_ShowMessageBox(&box, &answer);
    return answer == 1;
}
