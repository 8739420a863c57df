// Puts the files of the viewer page into the executable.
//
// SwiftPM's `.embedInCode` makes an array literal of each file, and compiling those takes 20 s for 75 kB.
// #embed takes none, and a file that changes is embedded again.

#include "ViewerPage.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

const char *viewerPageDocument(void) {
    static const char text[] = {
#embed "Page/viewer.html" suffix(,)
        0};
    return text;
}

const char *viewerPageMessage(void) {
    static const char text[] = {
#embed "Page/message.html" suffix(,)
        0};
    return text;
}

const char *viewerPageStyle(void) {
    static const char text[] = {
#embed "Page/page.css" suffix(,)
        0};
    return text;
}

const char *viewerPageScript(void) {
    static const char text[] = {
#embed "Page/Script/page.js" suffix(,)
        0};
    return text;
}

const char *viewerPageIcon(void) {
    static const char text[] = {
#embed "Page/icon.svg" suffix(,)
        0};
    return text;
}
