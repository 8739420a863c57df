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

// One after the other. A module stands behind those that it imports (Tests/PageTests checks it).
const char *viewerPageScript(void) {
    static const char text[] = {
#embed "Page/Script/server-values.js" suffix(,)
#embed "Page/Script/bytes.js" suffix(,)
#embed "Page/Script/delay.js" suffix(,)
#embed "Page/Script/session-end.js" suffix(,)
#embed "Page/Script/link.js" suffix(,)
#embed "Page/Script/certificate.js" suffix(,)
#embed "Page/Script/other-relays.js" suffix(,)
#embed "Page/Script/authentication.js" suffix(,)
#embed "Page/Script/key-agreement.js" suffix(,)
#embed "Page/Script/sdp.js" suffix(,)
#embed "Page/Script/connection-failure.js" suffix(,)
#embed "Page/Script/event-stream.js" suffix(,)
#embed "Page/Script/problem.js" suffix(,)
#embed "Page/Script/outage-detector.js" suffix(,)
#embed "Page/Script/rtc-statistics.js" suffix(,)
#embed "Page/Script/admission.js" suffix(,)
#embed "Page/Script/ice-server-renewal.js" suffix(,)
#embed "Page/Script/identity.js" suffix(,)
#embed "Page/Script/elements.js" suffix(,)
#embed "Page/Script/local-page.js" suffix(,)
#embed "Page/Script/sealed-media.js" suffix(,)
#embed "Page/Script/whole-pixels.js" suffix(,)
#embed "Page/Script/wake-lock.js" suffix(,)
#embed "Page/Script/picture-size.js" suffix(,)
#embed "Page/Script/picture-in-picture.js" suffix(,)
#embed "Page/Script/player.js" suffix(,)
#embed "Page/Script/pan-zoom.js" suffix(,)
#embed "Page/Script/touch-gestures.js" suffix(,)
#embed "Page/Script/view.js" suffix(,)
#embed "Page/Script/broadcast-pause.js" suffix(,)
#embed "Page/Script/help.js" suffix(,)
#embed "Page/Script/picture-pan.js" suffix(,)
#embed "Page/Script/keysym.js" suffix(,)
#embed "Page/Script/controls.js" suffix(,)
#embed "Page/Script/statistics-panel.js" suffix(,)
#embed "Page/Script/signaling-client.js" suffix(,)
#embed "Page/Script/message-socket.js" suffix(,)
#embed "Page/Script/viewer-messages.js" suffix(,)
#embed "Page/Script/right-request.js" suffix(,)
#embed "Page/Script/comments.js" suffix(,)
#embed "Page/Script/throttle.js" suffix(,)
#embed "Page/Script/picture-point.js" suffix(,)
#embed "Page/Script/pointer-batch.js" suffix(,)
#embed "Page/Script/pointer-tracks.js" suffix(,)
#embed "Page/Script/pointers-layer.js" suffix(,)
#embed "Page/Script/pointer.js" suffix(,)
#embed "Page/Script/key-input.js" suffix(,)
#embed "Page/Script/input-messages.js" suffix(,)
#embed "Page/Script/touch-mouse.js" suffix(,)
#embed "Page/Script/edge-pan.js" suffix(,)
#embed "Page/Script/control.js" suffix(,)
#embed "Page/Script/interaction.js" suffix(,)
#embed "Page/Script/knock.js" suffix(,)
#embed "Page/Script/peer-connection.js" suffix(,)
#embed "Page/Script/reconnection.js" suffix(,)
#embed "Page/Script/frame-keys.js" suffix(,)
#embed "Page/Script/sealed-socket.js" suffix(,)
#embed "Page/Script/sealed-messages.js" suffix(,)
#embed "Page/Script/handover.js" suffix(,)
#embed "Page/Script/session.js" suffix(,)
#embed "Page/Script/share-scheme.js" suffix(,)
#embed "Page/Script/main.js" suffix(,)
        0};
    return text;
}

// In the order of imports, as the page.
const char *viewerPageWorker(void) {
    static const char text[] = {
#embed "Page/Script/bytes.js" suffix(,)
#embed "Page/Script/sframe.js" suffix(,)
#embed "Page/Script/seal-worker.js" suffix(,)
        0};
    return text;
}

const char *directoryPageDocument(void) {
    static const char text[] = {
#embed "Page/Directory/directory.html" suffix(,)
        0};
    return text;
}

const char *directoryPageStyle(void) {
    static const char text[] = {
#embed "Page/Directory/directory.css" suffix(,)
        0};
    return text;
}

const char *directoryPageScript(void) {
    static const char text[] = {
#embed "Page/Directory/directory.js" suffix(,)
        0};
    return text;
}

const char *viewerPageIcon(void) {
    static const char text[] = {
#embed "Page/icon.svg" suffix(,)
        0};
    return text;
}

const char *viewerPageMaskableIcon(void) {
    static const char text[] = {
#embed "Page/maskable.svg" suffix(,)
        0};
    return text;
}

const char *viewerPageManifest(void) {
    static const char text[] = {
#embed "Page/manifest.webmanifest" suffix(,)
        0};
    return text;
}

const char *frontPageDocument(void) {
    static const char text[] = {
#embed "Page/Directory/front.html" suffix(,)
        0};
    return text;
}

const char *frontPageScript(void) {
    static const char text[] = {
#embed "Page/Directory/front.js" suffix(,)
        0};
    return text;
}

const unsigned char *viewerPageTouchIcon(size_t *count) {
    static const unsigned char bytes[] = {
#embed "Page/touch-icon.png"
    };
    *count = sizeof bytes;
    return bytes;
}
