// The files of the viewer page, as text in UTF-8.

#include <stddef.h>

const char *_Nonnull viewerPageDocument(void);
const char *_Nonnull viewerPageMessage(void);
const char *_Nonnull viewerPageStyle(void);
/// All modules of the script, with their imports and exports.
const char *_Nonnull viewerPageScript(void);
/// All modules of the worker that opens sealed frames, with their imports and exports.
const char *_Nonnull viewerPageWorker(void);
const char *_Nonnull viewerPageIcon(void);
/// What is live at a relay.
const char *_Nonnull directoryPageDocument(void);
const char *_Nonnull directoryPageStyle(void);
/// With its exports.
const char *_Nonnull directoryPageScript(void);
/// For launchers that cut an icon to a shape of their own (SVG).
const char *_Nonnull viewerPageMaskableIcon(void);
const char *_Nonnull viewerPageManifest(void);
/// The PNG that iOS puts on its home screen.
const unsigned char *_Nonnull viewerPageTouchIcon(size_t *_Nonnull count);
/// Where a link can be pasted.
const char *_Nonnull frontPageDocument(void);
/// With its exports.
const char *_Nonnull frontPageScript(void);
