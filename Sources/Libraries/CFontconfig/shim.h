#ifndef SHARE_CFONTCONFIG_H
#define SHARE_CFONTCONFIG_H

#include <fontconfig/fontconfig.h>
#include <string.h>

/// The file of a font of that family ("sans-serif", "monospace") that has as many of the characters of `text` (UTF-8) as
/// any, and the face within that file.
/// Returns 0 if there is no font at all, or its name does not fit.
static inline int cfontconfig_find(const char *family, const char *text, char *file, size_t room, int *face) {
    FcPattern *wanted = FcNameParse((const FcChar8 *)family);
    FcCharSet *characters = FcCharSetCreate();
    int found = 0, left = (int)strlen(text);
    while (left > 0) {
        FcChar32 character;
        int length = FcUtf8ToUcs4((const FcChar8 *)text, &character, left);
        if (length <= 0) break;
        if (character > 32) FcCharSetAddChar(characters, character);
        text += length;
        left -= length;
    }
    FcPatternAddCharSet(wanted, FC_CHARSET, characters);
    FcPatternAddBool(wanted, FC_SCALABLE, FcTrue);
    FcConfigSubstitute(NULL, wanted, FcMatchPattern);
    FcDefaultSubstitute(wanted);
    FcResult result;
    FcPattern *font = FcFontMatch(NULL, wanted, &result);
    FcChar8 *name = NULL;
    if (font && FcPatternGetString(font, FC_FILE, 0, &name) == FcResultMatch && strlen((char *)name) < room) {
        strcpy(file, (char *)name);
        *face = 0;
        FcPatternGetInteger(font, FC_INDEX, 0, face);
        found = 1;
    }
    if (font) FcPatternDestroy(font);
    FcCharSetDestroy(characters);
    FcPatternDestroy(wanted);
    return found;
}

#endif
