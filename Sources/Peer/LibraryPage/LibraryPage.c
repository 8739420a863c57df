// Puts the files of the library's page into the executable, as ViewerPage.c does.

#include "LibraryPage.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

const char *libraryPageDocument(void) {
    static const char text[] = {
#embed "Page/library.html" suffix(,)
        0};
    return text;
}

const char *libraryPageStyle(void) {
    static const char text[] = {
#embed "Page/library.css" suffix(,)
        0};
    return text;
}

const char *libraryPageScript(void) {
    static const char text[] = {
#embed "Page/library.js" suffix(,)
        0};
    return text;
}
