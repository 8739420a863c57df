// The files of the page of `share recordings open`, as text in UTF-8.

const char *_Nonnull libraryPageDocument(void);
const char *_Nonnull libraryPageStyle(void);
const char *_Nonnull libraryPageScript(void);
