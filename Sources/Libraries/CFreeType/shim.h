#ifndef SHARE_CFREETYPE_SHIM_H
#define SHARE_CFREETYPE_SHIM_H

#include <ft2build.h>
#include FT_FREETYPE_H

/// Renders a character as 256 levels of coverage into the face's glyph. Returns 0, or an error.
static inline int cfreetype_render(FT_Face face, unsigned long character) {
    return FT_Load_Char(face, character, FT_LOAD_RENDER);
}

#endif
