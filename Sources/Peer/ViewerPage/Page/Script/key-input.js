// Turns key events into keysyms that are pressed and released. A release has the keysym of its press, whatever Shift is then.

import { isModifierKey, keysymOf, keysymsOfText } from './keysym.js';

// The field of an event that says whether this key of the keyboard is down.
const flags = [[/^Shift/, 'shiftKey'], [/^Control/, 'ctrlKey'], [/^Alt/, 'altKey'], [/^(Meta|OS)/, 'metaKey']];
const flagOf = code => (flags.find(([pattern]) => pattern.test(code)) || [])[1];

// Windows sends Control before AltGr, with the same time. In milliseconds.
const altGraphDelay = 60;

export class KeyInput {
    // `send(keysym, isPressed)`. `system`: 'mac', 'windows' or another one.
    constructor(send, system) {
        this.send = send;
        this.isMac = system === 'mac';
        this.isWindows = system === 'windows';
        // The keysyms that are pressed, by the key's code.
        this.pressed = new Map();
        // The left Control key that may be a part of AltGr.
        this.heldBack = null;
        // A dead key was pressed, and what it gives with the next key is awaited: { code, key } of that.
        this.isDead = false;
        this.awaited = null;
        // Whether Right Ctrl is down, and nothing else was pressed meanwhile.
        this.isAlone = false;
    }

    // Whether the event is taken, so that the browser does nothing with it. What is not taken is typed into the page's text area.
    down(event) {
        const { key, code } = event;
        this.isAlone = code === 'ControlRight' && (event.repeat ? this.isAlone : !this.pressed.size);
        if (this.isPartOfAltGraph(event)) return true;
        this.releaseLost(event);
        if (key === 'Dead') {
            this.isDead = true;
            return false;
        }
        if (event.isComposing || event.keyCode === 229 || key === 'Process' || key === 'Unidentified') return this.awaitText(event);
        if (this.isDead && !isModifierKey(key)) {
            if (Array.from(key).length === 1) return this.awaitText(event);
            this.isDead = false;
            if (key === 'Backspace' || key === 'Escape') return false;
        }
        if (event.repeat && !this.pressed.has(code)) return true;
        this.press(event);
        return true;
    }

    // Chromium tells no release of a key that goes up while a dead key waits for the next one. So characters that are pressed then are
    // released, and later the modifiers that are not down any more.
    releaseLost(event) {
        const { key } = event;
        if (isModifierKey(key)) return;
        const isComposed = key === 'Dead' || event.isComposing || event.keyCode === 229 || key === 'Process';
        for (const code of [...this.pressed.keys()]) {
            const flag = flagOf(code);
            if (flag ? this.isUp(flag, event) : isComposed) this.release(code);
        }
    }

    // With AltGr, Windows tells of Control and Alt what it likes.
    isUp(flag, event) {
        if (flag !== 'shiftKey' && event.getModifierState && event.getModifierState('AltGraph')) return false;
        return event[flag] === false;
    }

    press(event) {
        const { code, key } = event;
        const keysym = this.pressed.get(code) ?? this.keysym(event);
        if (keysym === null) return;
        this.send(keysym, true);
        // A Mac tells no release while Command is down, and one event for each change of Caps Lock.
        if (!code || this.isMac && event.metaKey && key !== 'Meta') this.send(keysym, false);
        else this.pressed.set(code, keysym);
    }

    // On a Mac, Option is in the characters as AltGr is elsewhere; the keys beside the space bar are Alt and Super.
    keysym(event) {
        if (!this.isMac) return keysymOf(event);
        if (event.key === 'Alt') return null;
        if (event.key === 'Meta') return event.location === 2 ? 0xffeb : 0xffe9;
        return keysymOf({ ...pick(event), altKey: false });
    }

    isPartOfAltGraph(event) {
        const { code, key, timeStamp } = event, former = this.heldBack;
        if (former) {
            clearTimeout(former.timer);
            this.heldBack = null;
            const isAltGraph = code === 'AltRight' && (key === 'AltGraph' || key === 'Alt') && timeStamp - former.event.timeStamp < altGraphDelay;
            if (isAltGraph) return true;
            this.press(former.event);
        }
        if (!this.isWindows || code !== 'ControlLeft' || event.repeat) return false;
        const timer = setTimeout(() => this.endHoldingBack(), altGraphDelay);
        this.heldBack = { event, timer };
        return true;
    }

    endHoldingBack() {
        const { heldBack } = this;
        if (!heldBack) return;
        clearTimeout(heldBack.timer);
        this.heldBack = null;
        this.press(heldBack.event);
    }

    awaitText(event) {
        if (this.isDead) this.awaited = { code: event.code, key: event.key };
        return false;
    }

    // Returns 'alone' if Right Ctrl was pressed and released, and nothing else.
    up(event) {
        const { code, key } = event;
        if (code === 'ControlLeft') this.endHoldingBack();
        if (this.awaited && this.awaited.code === code) {
            // No text came, so this key has it.
            const [first, ...more] = Array.from(this.awaited.key);
            if (first && !more.length) this.text(first);
        }
        // Windows tells one release for both of the Shift keys.
        const codes = this.isWindows && key === 'Shift' ? ['ShiftLeft', 'ShiftRight'] : [code];
        for (const each of codes) this.release(each);
        return this.isAlone && code === 'ControlRight' ? 'alone' : null;
    }

    release(code) {
        const keysym = this.pressed.get(code);
        if (keysym === undefined) return;
        this.pressed.delete(code);
        this.send(keysym, false);
    }

    // What the text area has got: of a dead key and the next one, an input method or an on-screen keyboard.
    text(text) {
        this.isDead = false;
        this.awaited = null;
        for (const keysym of keysymsOfText(text)) {
            this.send(keysym, true);
            this.send(keysym, false);
        }
    }

    // Something was done with the mouse meanwhile.
    noteOtherInput(event) {
        this.isAlone = false;
        for (const code of [...this.pressed.keys()]) if (flagOf(code) && this.isUp(flagOf(code), event)) this.release(code);
        this.endHoldingBack();
    }

    releaseAll() {
        if (this.heldBack) clearTimeout(this.heldBack.timer);
        this.heldBack = this.awaited = null;
        this.isDead = this.isAlone = false;
        for (const code of [...this.pressed.keys()]) this.release(code);
    }
}

// The fields of an event are its prototype's.
function pick({ key, code, location, ctrlKey, metaKey }) { return { key, code, location, ctrlKey, metaKey }; }
