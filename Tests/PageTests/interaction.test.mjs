// Pointing and control as a whole, without a browser: what the host's rights, events of the page and an outage lead to.

import './fake-page.mjs';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { element, root } from './fake-page.mjs';
import { Interaction } from '../../Sources/Peer/ViewerPage/Page/Script/interaction.js';

const listeners = new Map();
const listen = (kind, listener) => listeners.set(kind, [...listeners.get(kind) || [], listener]);
globalThis.window = { addEventListener: listen, devicePixelRatio: 1, innerHeight: 360 };
globalThis.requestAnimationFrame = () => 1;
Object.defineProperty(globalThis, 'navigator', { value: { platform: 'Linux' }, configurable: true });
const made = () => ({ append() {}, classList: { add() {} }, children: [], setAttribute() {} });
Object.assign(globalThis.document, { addEventListener: listen, createElement: made, createElementNS: made, activeElement: null });
const stage = element('stage'), video = element('video'), attributes = new Set();
const actions = {
    setAttribute() {}, focus() {}, blur() {}, contains: () => false, append() {}, children: [], replaceChildren() {},
};
const ids = ['point', 'control', 'typing', 'writing', 'line', 'comments', 'pointers', 'controller', 'keyboard'];
for (const id of ids) Object.assign(element(id), actions);
Object.assign(stage, {
    clientWidth: 640, clientHeight: 360, addEventListener: listen, setPointerCapture() {},
    getBoundingClientRect: () => ({ left: 0, top: 0 }),
});
Object.assign(video, {
    videoWidth: 640, videoHeight: 360,
    toggleAttribute(name, isSet) { if (isSet) attributes.add(name); else attributes.delete(name); },
});
root.dataset.state = 'playing';

const interaction = new Interaction();
let now = 100000, socket = null, posted = [];

function dispatch(kind, more = {}) {
    const event = {
        target: video, clientX: 320, clientY: 180, button: 0, pointerId: 1, pointerType: 'mouse', isPrimary: true,
        isPrevented: false, isStopped: false,
        preventDefault() { this.isPrevented = true; }, stopPropagation() { this.isStopped = true; }, ...more,
    };
    for (const listener of listeners.get(kind) || []) listener(event);
    return event;
}

const key = (kind, name, code, more = {}) =>
    dispatch(kind, { key: name, code, location: 0, timeStamp: now, repeat: false, target: root, ...more });

// The inputs, or the kinds of pointer messages, that were sent since the last time.
function sent() {
    const messages = socket.sent.splice(0).flatMap(frame => frame.messages);
    return messages.map(({ type, kind, input }) => (type === 'input' ? JSON.stringify(input) || 'alive' : kind || type));
}

function pass(t, milliseconds) {
    for (let i = 0; i < milliseconds; i += 10) {
        now += 10;
        t.mock.timers.tick(10);
    }
}

function begin(t, rights) {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    t.mock.method(performance, 'now', () => now);
    posted = [];
    interaction.open(() => ({
        openMessageSocket() {
            socket = { bufferedAmount: 0, sent: [], send(text) { this.sent.push(JSON.parse(text)); }, close(code) { this.code = code; } };
            return socket;
        },
        async say(messages) {
            posted.push(...messages);
            return { status: 204 };
        },
    }));
    interaction.handle({ type: 'rights', ...rights });
    if (socket) socket.onopen();
}

test.afterEach(() => {
    interaction.end();
    assert.ok(!('controlling' in root.dataset) && !('pointing' in root.dataset) && attributes.size === 0);
    delete root.dataset.outage;
    socket = null;
});

test('the socket is opened with the first right that needs it, and closed with the last one', t => {
    begin(t, { comment: 'yes', point: 'ask', control: 'no' });
    assert.equal(socket, null);
    assert.deepEqual([element('point').hidden, element('control').hidden, element('comment').hidden], [false, true, false]);
    interaction.handle({ type: 'rights', comment: 'yes', point: 'yes', control: 'no', pointer: 3 });
    assert.ok(socket);
    interaction.handle({ type: 'rights', comment: 'yes', point: 'ask', control: 'no' });
    assert.equal(socket.code, 1000);
});

test('a pointer moves, rings, draws and leaves, 30 times a second at most', t => {
    begin(t, { point: 'yes', pointer: 3 });
    dispatch('pointermove');
    pass(t, 100);
    assert.deepEqual(sent(), []);
    interaction.pointer.toggle();
    for (let i = 0; i < 100; i++) {
        assert.ok(dispatch('pointermove', { clientX: 100 + i }).isStopped);
        pass(t, 10);
    }
    pass(t, 40);
    const moves = sent();
    assert.ok(moves.length >= 24 && moves.length <= 30 && moves.every(kind => kind === 'move'), moves.join());
    dispatch('pointerdown');
    dispatch('pointermove', { clientX: 321 });
    dispatch('pointerup', { clientX: 321 });
    pass(t, 100);
    assert.deepEqual(sent(), ['move', 'click']);
    dispatch('pointerdown');
    dispatch('pointermove', { clientX: 350 });
    dispatch('pointermove', { clientX: 9999 });
    dispatch('pointerup', { clientX: 350 });
    pass(t, 100);
    assert.deepEqual(sent(), ['move', 'draw', 'move']);
    // Over a button.
    dispatch('pointermove', { target: element('leave') });
    dispatch('pointermove', { target: element('leave') });
    pass(t, 100);
    assert.deepEqual(sent(), ['leave']);
    interaction.pointer.toggle();
    dispatch('pointermove');
    pass(t, 100);
    assert.deepEqual(sent(), []);
});

test('a second finger ends what the first one draws, and a finger hovers not', t => {
    begin(t, { point: 'yes', pointer: 3 });
    interaction.pointer.toggle();
    const finger = (kind, id, x) => dispatch(kind, { pointerType: 'touch', pointerId: id, isPrimary: id === 1, clientX: x });
    assert.ok(!finger('pointerdown', 1, 100).isStopped);
    finger('pointermove', 1, 130);
    finger('pointerdown', 2, 400);
    finger('pointermove', 1, 200);
    finger('pointermove', 2, 300);
    finger('pointerup', 2, 300);
    finger('pointerup', 1, 200);
    pass(t, 100);
    assert.deepEqual(sent(), ['move', 'draw']);
});

test('control is asked for, begins with the yes, and says that it is there', async t => {
    begin(t, { point: 'yes', pointer: 3, control: 'ask' });
    interaction.pointer.toggle();
    interaction.control.wish();
    await Promise.resolve();
    assert.deepEqual(posted, [{ type: 'ask', right: 'control' }]);
    pass(t, 1000);
    sent();
    interaction.handle({ type: 'rights', point: 'yes', pointer: 3, control: 'yes', grant: 4 });
    assert.ok(!('pointing' in root.dataset));
    assert.equal(root.dataset.controlling, 'all');
    sent();
    pass(t, 1000);
    const alive = sent();
    assert.ok(alive.length >= 3 && alive.every(each => each === 'alive'), alive.join());
    // Another right changes meanwhile.
    interaction.handle({ type: 'rights', point: 'no', control: 'yes', grant: 4 });
    assert.ok(attributes.has('disablepictureinpicture') && root.dataset.controlling === 'all');
    interaction.handle({ type: 'rights', point: 'no', control: 'ask' });
    assert.ok(!('controlling' in root.dataset));
    sent();
    pass(t, 1000);
    key('keydown', 'a', 'KeyA');
    assert.deepEqual(sent(), []);
});

test('a grant that nobody asked for begins with the viewer alone', t => {
    begin(t, { control: 'yes', grant: 1 });
    key('keydown', 'a', 'KeyA');
    assert.deepEqual(sent(), []);
    assert.equal(element('controller').textContent, 'You can control this screen: press R.');
    interaction.control.wish();
    assert.ok(key('keydown', 'a', 'KeyA').isPrevented);
    assert.deepEqual(sent(), ['{"key":97,"pressed":true}']);
    // Another grant is another permission.
    interaction.handle({ type: 'rights', control: 'yes', grant: 2 });
    assert.deepEqual([root.dataset.controlling, sent()], [undefined, []]);
});

test('a click goes where it is, in order, and what is pressed is released when the page is left', t => {
    begin(t, { control: 'yes', grant: 1 });
    interaction.control.wish();
    pass(t, 100);
    sent();
    dispatch('pointermove', { clientX: 0, clientY: 0 });
    assert.ok(dispatch('mousedown', { button: 2 }).isPrevented);
    pass(t, 10);
    assert.deepEqual(sent(), ['{"move":[0,0]}', '{"move":[32768,32768]}', '{"button":3,"pressed":true}']);
    key('keydown', 'Shift', 'ShiftLeft', { location: 1 });
    pass(t, 10);
    sent();
    dispatch('blur');
    assert.deepEqual(sent(), ['{"key":65505,"pressed":false}', '{"button":3,"pressed":false}']);
    dispatch('mouseup', { button: 2 });
    // A button of the page, and the line in which the viewer writes.
    assert.ok(!dispatch('mousedown', { target: element('leave') }).isPrevented);
    assert.ok(!key('keydown', 'a', 'KeyA', { target: { tagName: 'INPUT' } }).isPrevented);
    assert.deepEqual(sent(), []);
    assert.ok(dispatch('wheel', { deltaX: 0, deltaY: 120, deltaMode: 0 }).isPrevented);
    assert.ok(dispatch('contextmenu').isPrevented && dispatch('dblclick').isStopped);
    pass(t, 100);
    assert.equal(sent().pop(), '{"wheel":[0,1]}');
});

test('in an outage nothing is sent or kept', t => {
    begin(t, { control: 'yes', grant: 1 });
    interaction.control.wish();
    sent();
    root.dataset.outage = '';
    key('keydown', 'a', 'KeyA');
    pass(t, 1000);
    delete root.dataset.outage;
    pass(t, 10);
    key('keyup', 'a', 'KeyA');
    assert.deepEqual(sent().filter(each => each !== 'alive'), ['{"key":97,"pressed":false}']);
});

test('Right Ctrl gives the keyboard back, a click takes it, and the button ends it all', t => {
    begin(t, { control: 'yes', grant: 1 });
    interaction.control.wish();
    pass(t, 10);
    key('keydown', 'Control', 'ControlRight', { location: 2 });
    pass(t, 10);
    key('keyup', 'Control', 'ControlRight', { location: 2 });
    assert.equal(root.dataset.controlling, 'pointer');
    sent();
    assert.ok(!key('keydown', 'f', 'KeyF').isStopped);
    dispatch('mousedown');
    assert.equal(root.dataset.controlling, 'all');
    dispatch('mouseup');
    pass(t, 10);
    sent();
    key('keydown', 'x', 'KeyX');
    interaction.control.toggle();
    assert.deepEqual(sent(), ['{"key":120,"pressed":true}', '{"key":120,"pressed":false}', 'release']);
    assert.equal(element('control').textContent, 'Control');
});

test('who controls is said, and at another server nobody has a right', t => {
    begin(t, { point: 'yes', pointer: 1, control: 'ask' });
    interaction.handle({ type: 'control', by: 'Ann' });
    assert.equal(element('controller').textContent, 'Ann controls this screen.');
    interaction.handle({ type: 'control', by: { toString: null } });
    assert.ok(element('controller').hidden);
    interaction.pointer.toggle();
    interaction.reopen(true);
    assert.deepEqual([element('point').hidden, socket.code], [true, 1000]);
    assert.equal(interaction.handle({ type: 'viewercount' }), false);
});
