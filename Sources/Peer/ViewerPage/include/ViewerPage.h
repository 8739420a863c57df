// The files of the viewer page, as text in UTF-8.

const char *_Nonnull viewerPageDocument(void);
const char *_Nonnull viewerPageMessage(void);
const char *_Nonnull viewerPageStyle(void);
/// All modules of the script, with their imports and exports.
const char *_Nonnull viewerPageScript(void);
const char *_Nonnull viewerPageIcon(void);
/// What is live at a relay.
const char *_Nonnull directoryPageDocument(void);
const char *_Nonnull directoryPageStyle(void);
/// With its exports.
const char *_Nonnull directoryPageScript(void);
