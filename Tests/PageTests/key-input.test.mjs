import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyInput } from '../../Sources/Peer/ViewerPage/Page/Script/key-input.js';
import { keysymOf, keysymsOfText, shortcutOf } from '../../Sources/Peer/ViewerPage/Page/Script/keysym.js';

test('characters and named keys have the keysyms of X11', () => {
    for (const [key, keysym, more] of [
        ['a', 0x61], ['A', 0x41], [' ', 0x20], ['~', 0x7e], ['é', 0xe9], ['ÿ', 0xff], ['€', 0x010020ac], ['ж', 0x01000436], ['😀', 0x0101f600],
        ['Enter', 0xff0d], ['Enter', 0xff8d, { location: 3 }], ['5', 0x35, { location: 3 }], ['Escape', 0xff1b], ['Delete', 0xffff],
        ['F1', 0xffbe], ['F12', 0xffc9], ['F24', 0xffd5], ['Shift', 0xffe1, { location: 1 }], ['Shift', 0xffe2, { location: 2 }],
        ['Control', 0xffe4, { location: 2 }], ['Alt', 0xffe9], ['Meta', 0xffeb], ['AudioVolumeMute', 0x1008ff12], ['ContextMenu', 0xff67],
    ]) assert.equal(keysymOf({ key, code: '', location: 0, ...more }), keysym, key);
    for (const key of ['AltGraph', 'CapsLock', 'NumLock', 'Unidentified', 'Process', 'Dead', 'F25', 'F0', '', 'constructor', undefined, '\x07', 'é́']) {
        assert.equal(keysymOf({ key, code: 'KeyX', location: 0 }), null, String(key));
    }
});

test('a shortcut on a keyboard of another script is that of the Latin letter', () => {
    const key = { key: 'с', code: 'KeyC', location: 0 };
    assert.equal(keysymOf(key), 0x01000441);
    assert.equal(keysymOf({ ...key, ctrlKey: true }), 0x63);
    assert.equal(keysymOf({ ...key, key: 'é', altKey: true }), 0xe9);
    // The page's own keys.
    for (const [name, code, expected] of [['К', 'KeyR', 'r'], ['P', 'KeyR', 'p'], ['é', 'KeyR', 'é'], ['ᄀ', '', 'ᄀ'], ['Escape', 'Escape', 'escape']]) {
        assert.equal(shortcutOf({ key: name, code }), expected);
    }
});

test('text has its characters, without control characters and without end', () => {
    assert.deepEqual(keysymsOfText('ß€\r\n\t\u0007😀'), [0xdf, 0x010020ac, 0xff0d, 0xff09, 0x0101f600]);
    assert.equal(keysymsOfText('a'.repeat(9999)).length, 256);
});

// A keyboard, and what it has sent: '+61' and '-61'.
function keyboard(system = 'other') {
    const sent = [];
    const input = new KeyInput((keysym, isPressed) => sent.push((isPressed ? '+' : '-') + keysym.toString(16)), system);
    const event = (key, code, more) => ({ key, code, location: 0, timeStamp: 0, repeat: false, ...more });
    return {
        input, sent,
        down: (key, code, more = {}) => input.down(event(key, code, more)),
        up: (key, code, more = {}) => input.up(event(key, code, more)),
        take: () => sent.splice(0).join(' '),
    };
}

test('a release has the keysym of its press', () => {
    const { down, up, take } = keyboard();
    assert.ok(down('Shift', 'ShiftLeft', { location: 1 }));
    assert.ok(down('A', 'KeyA'));
    up('Shift', 'ShiftLeft', { location: 1 });
    down('a', 'KeyA', { repeat: true });
    up('a', 'KeyA');
    up('a', 'KeyA');
    assert.equal(take(), '+ffe1 +41 -ffe1 +41 -41');
    // Its press went elsewhere.
    down('r', 'KeyR', { repeat: true });
    up('r', 'KeyR');
    assert.equal(take(), '');
});

test('keys whose release the browser does not tell while it composes are released', () => {
    const { input, down, up, take } = keyboard();
    const state = { shiftKey: true, ctrlKey: false, altKey: false, metaKey: false };
    down('Shift', 'ShiftLeft', state);
    down('}', 'Digit0', state);
    // The circumflex; 0 and Shift go up, of which nothing is told.
    assert.ok(!down('Process', 'Backquote', { ...state, keyCode: 229 }));
    assert.equal(take(), '+ffe1 +7d -7d');
    assert.ok(!down('Process', 'KeyO', { ...state, shiftKey: false, keyCode: 229, isComposing: true }));
    input.text('ô');
    down('=', 'Digit0', { ...state, shiftKey: false });
    up('=', 'Digit0');
    assert.equal(take(), '-ffe1 +f4 -f4 +3d -3d');
    down('Shift', 'ShiftLeft', state);
    input.noteOtherInput({ ...state, shiftKey: false });
    assert.equal(take(), '+ffe1 -ffe1');
});

test('what is held is released when the window is left', () => {
    const { input, down, up, take } = keyboard('windows');
    down('x', 'KeyX');
    down('Shift', 'ShiftLeft');
    down('Control', 'ControlLeft');
    input.releaseAll();
    input.releaseAll();
    up('x', 'KeyX');
    assert.equal(take(), '+78 +ffe1 -78 -ffe1');
});

test('a character with AltGr comes alone, also on Windows, which adds Control', t => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { down, up, take } = keyboard('windows');
    assert.ok(down('Control', 'ControlLeft', { timeStamp: 100 }));
    assert.ok(down('AltGraph', 'AltRight', { timeStamp: 100 }));
    down('@', 'KeyQ', { timeStamp: 200 });
    up('@', 'KeyQ');
    up('Control', 'ControlLeft');
    up('AltGraph', 'AltRight');
    t.mock.timers.tick(1000);
    assert.equal(take(), '+40 -40');
    const other = keyboard();
    other.down('AltGraph', 'AltRight');
    other.down('@', 'KeyQ');
    assert.equal(other.take(), '+40');
});

test('Control alone is sent on Windows, too, and before the key that it is held for', t => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { down, up, take } = keyboard('windows');
    down('Control', 'ControlLeft');
    down('c', 'KeyC', { timeStamp: 20, ctrlKey: true });
    assert.equal(take(), '+ffe3 +63');
    up('c', 'KeyC');
    up('Control', 'ControlLeft');
    assert.equal(take(), '-63 -ffe3');
    down('Control', 'ControlLeft', { timeStamp: 1000 });
    t.mock.timers.tick(60);
    assert.equal(take(), '+ffe3');
    up('Control', 'ControlLeft');
    down('Control', 'ControlLeft', { timeStamp: 3000 });
    up('Control', 'ControlLeft', { timeStamp: 3010 });
    assert.equal(take(), '-ffe3 +ffe3 -ffe3');
    // Windows tells one release of two Shift keys.
    down('Shift', 'ShiftLeft', { location: 1 });
    down('Shift', 'ShiftRight', { location: 2 });
    up('Shift', 'ShiftRight', { location: 2 });
    assert.equal(take(), '+ffe1 +ffe2 -ffe1 -ffe2');
});

test('a dead key gives the composed character, from the text area or from the next key', () => {
    const { input, down, up, take } = keyboard();
    assert.equal(down('Dead', 'Quote'), false);
    up('Dead', 'Quote');
    assert.equal(down('é', 'KeyE'), false);
    input.text('é');
    up('é', 'KeyE');
    assert.equal(take(), '+e9 -e9');
    // Without a text area.
    down('Dead', 'Quote');
    down('Shift', 'ShiftLeft');
    down('É', 'KeyE');
    up('É', 'KeyE');
    up('Shift', 'ShiftLeft');
    assert.equal(take(), '+ffe1 +c9 -c9 -ffe1');
    // Taken back.
    down('Dead', 'Quote');
    down('Backspace', 'Backspace');
    up('Backspace', 'Backspace');
    down('e', 'KeyE');
    assert.equal(take(), '+65');
    assert.ok(down('Enter', 'Enter'));
});

test('what an input method takes is not sent as keys', () => {
    const { input, down, up, take } = keyboard();
    for (const more of [{ isComposing: true }, { keyCode: 229 }]) assert.equal(down('n', 'KeyN', more), false);
    assert.equal(down('Process', 'KeyN'), false);
    up('n', 'KeyN');
    input.text('日本');
    assert.equal(take(), '+10065e5 -10065e5 +100672c -100672c');
});

test('on a Mac, Option is in the characters, and Command keeps no key pressed', () => {
    const { down, up, take } = keyboard('mac');
    down('Alt', 'AltLeft', { location: 1, altKey: true });
    down('@', 'KeyL', { altKey: true });
    up('@', 'KeyL');
    up('Alt', 'AltLeft');
    assert.equal(take(), '+40 -40');
    down('Meta', 'MetaLeft', { location: 1, metaKey: true });
    down('c', 'KeyC', { metaKey: true });
    up('Meta', 'MetaLeft', { location: 1 });
    assert.equal(take(), '+ffe9 +63 -63 -ffe9');
});

test('Right Ctrl alone is told, and not after anything else', () => {
    const { input, down, up } = keyboard();
    const right = ['Control', 'ControlRight', { location: 2 }];
    down(...right);
    down('Control', 'ControlRight', { location: 2, repeat: true });
    assert.equal(up(...right), 'alone');
    down(...right);
    down('c', 'KeyC');
    up('c', 'KeyC');
    assert.equal(up(...right), null);
    down(...right);
    input.noteOtherInput({});
    assert.equal(up(...right), null);
    down('Shift', 'ShiftLeft');
    down(...right);
    assert.equal(up(...right), null);
});
