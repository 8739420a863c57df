// X11 keysyms (keysymdef.h, XF86keysym.h) of what a KeyboardEvent names (UI Events KeyboardEvent key Values). Pure.

const named = {
    Backspace: 0xff08, Tab: 0xff09, Clear: 0xff0b, Enter: 0xff0d, Pause: 0xff13, ScrollLock: 0xff14, Escape: 0xff1b, Delete: 0xffff,
    Home: 0xff50, ArrowLeft: 0xff51, ArrowUp: 0xff52, ArrowRight: 0xff53, ArrowDown: 0xff54, PageUp: 0xff55, PageDown: 0xff56,
    End: 0xff57, Select: 0xff60, PrintScreen: 0xff61, Execute: 0xff62, Insert: 0xff63, Undo: 0xff65, Redo: 0xff66, ContextMenu: 0xff67,
    Find: 0xff68, Cancel: 0xff69, Help: 0xff6a,
    NonConvert: 0xff22, Convert: 0xff23, Romaji: 0xff24, Hiragana: 0xff25, Katakana: 0xff26, HiraganaKatakana: 0xff27,
    ZenkakuHankaku: 0xff2a, HangulMode: 0xff31, HanjaMode: 0xff34,
    AudioVolumeDown: 0x1008ff11, AudioVolumeMute: 0x1008ff12, AudioVolumeUp: 0x1008ff13, MediaPlayPause: 0x1008ff14, MediaStop: 0x1008ff15,
    MediaTrackPrevious: 0x1008ff16, MediaTrackNext: 0x1008ff17, BrowserHome: 0x1008ff18, BrowserSearch: 0x1008ff1b, BrowserBack: 0x1008ff26,
    BrowserForward: 0x1008ff27, BrowserRefresh: 0x1008ff29, BrowserFavorites: 0x1008ff30,
};
// Left and right.
const sided = { Shift: [0xffe1, 0xffe2], Control: [0xffe3, 0xffe4], Meta: [0xffeb, 0xffec], Alt: [0xffe9, 0xffea], OS: [0xffeb, 0xffec] };
const rightSide = 2, numericPad = 3, keypadEnter = 0xff8d;
// They are in the character that the next key gives, so the host must not have them as well.
const unsent = ['AltGraph', 'CapsLock', 'NumLock', 'Fn', 'FnLock', 'Symbol', 'SymbolLock'];

export function isModifierKey(key) { return Object.hasOwn(sided, key) || unsent.includes(key); }

// Of a Unicode code point; null for a control character.
export function characterKeysym(codePoint) {
    if (codePoint < 0x20 || codePoint >= 0x7f && codePoint < 0xa0) return null;
    return codePoint <= 0xff ? codePoint : 0x01000000 + codePoint;
}

// Of the key of an event; null for one that is not sent.
export function keysymOf({ key, code, location, ctrlKey, altKey, metaKey }) {
    if (typeof key !== 'string' || unsent.includes(key)) return null;
    if (Object.hasOwn(sided, key)) return sided[key][location === rightSide ? 1 : 0];
    if (key === 'Enter' && location === numericPad) return keypadEnter;
    if (Object.hasOwn(named, key)) return named[key];
    const functionKey = /^F([1-9]|1\d|2[0-4])$/.exec(key);
    if (functionKey) return 0xffbd + Number(functionKey[1]);
    const codePoint = key.codePointAt(0);
    if (codePoint === undefined || key.length !== String.fromCodePoint(codePoint).length) return null;
    const letter = (ctrlKey || altKey || metaKey) && latinLetter({ key, code });
    return letter ? letter.charCodeAt(0) : characterKeysym(codePoint);
}

// The Latin letter that stands on a key of another script, by which shortcuts name it; null for other keys.
function latinLetter({ key, code }) {
    const letter = key.codePointAt(0) > 0xff && /^Key([A-Z])$/.exec(code);
    return letter ? letter[1].toLowerCase() : null;
}

// The key of an event as the page's own keys are named.
export function shortcutOf(event) { return latinLetter(event) ?? event.key.toLowerCase(); }

// Of what an input method or an on-screen keyboard has entered: 256 characters at most.
export function keysymsOfText(text) {
    const ofControl = { '\n': 0xff0d, '\r': 0xff0d, '\t': 0xff09 };
    return Array.from(text.replace(/\r\n/g, '\n')).slice(0, 256)
        .map(character => ofControl[character] || characterKeysym(character.codePointAt(0))).filter(keysym => keysym !== null);
}
