import './fake-page.mjs';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { element, root } from './fake-page.mjs';
import { isFrameTouch, setUpTouchGestures } from '../../Sources/Peer/ViewerPage/Page/Script/touch-gestures.js';

const listeners = new Map();
const listen = (kind, listener) => listeners.set(kind, [...listeners.get(kind) || [], listener]);
const stage = element('stage'), video = element('video'), lastFrame = element('last-frame'), calls = [];
globalThis.window = { addEventListener: listen, devicePixelRatio: 2 };
stage.addEventListener = video.addEventListener = listen;
Object.assign(stage, { clientWidth: 640, clientHeight: 360 });
Object.assign(video, { videoWidth: 1920, videoHeight: 1080, srcObject: {}, style: {} });
lastFrame.style = {};

setUpTouchGestures({ tap: () => calls.push('tap'), doubleTap: () => calls.push('double tap') });

const dispatch = (kind, event = {}) => { for (const listener of listeners.get(kind)) listener(event); };
const pointer = (kind, x, y, time, { id = 1, pointerType = 'touch', target = video } = {}) =>
    dispatch('pointer' + kind, { pointerId: id, clientX: x, clientY: y, timeStamp: time, pointerType, target });

function tapAt(x, y, time, options) {
    pointer('down', x, y, time, options);
    pointer('up', x, y, time + 50, options);
}

test.beforeEach(() => {
    root.dataset.state = 'playing';
    calls.length = 0;
    video.srcObject = {};
    dispatch('loadedmetadata');
});

test.afterEach(() => {
    Object.assign(video, { srcObject: null, videoWidth: 0 });
    dispatch('emptied');
    video.videoWidth = 1920;
});

test('a pinch scales frame and last frame alike, and the end of the session undoes it', () => {
    pointer('down', 300, 180, 0);
    pointer('down', 340, 180, 5, { id: 2 });
    pointer('move', 280, 180, 20);
    pointer('move', 360, 180, 20, { id: 2 });
    assert.equal(video.style.transform, 'translate(-320px, -180px) scale(2)');
    assert.equal(lastFrame.style.transform, video.style.transform);
    pointer('up', 280, 180, 30);
    pointer('up', 360, 180, 30, { id: 2 });
    // Another stream follows, as after an outage.
    video.videoWidth = 0;
    dispatch('emptied');
    assert.match(video.style.transform, /scale\(2\)/);
    video.srcObject = null;
    dispatch('emptied');
    assert.equal(video.style.transform, '');
    assert.deepEqual(calls, []);
});

test('a double tap zooms to the pixel and back', () => {
    tapAt(320, 180, 10000);
    tapAt(320, 180, 10150);
    assert.equal(video.style.transform, 'translate(-160px, -90px) scale(1.5)');
    assert.deepEqual(calls, ['tap', 'double tap']);
    tapAt(320, 180, 11000);
    tapAt(320, 180, 11150);
    assert.equal(video.style.transform, '');
});

test('a mouse, a button and the page before the video have no gestures', () => {
    tapAt(320, 180, 20000, { pointerType: 'mouse' });
    tapAt(320, 180, 21000, { pointerType: 'pen' });
    tapAt(320, 180, 22000, { target: element('leave') });
    root.dataset.state = 'asking';
    tapAt(320, 180, 23000);
    assert.deepEqual(calls, []);
    assert.ok(!isFrameTouch({ pointerType: 'touch', target: stage }));
    root.dataset.state = 'playing';
    assert.ok(isFrameTouch({ pointerType: 'touch', target: stage }));
});

test('a touch of the frame is followed by no click, which could press the button that the tap shows there', () => {
    const isPrevented = target => {
        let prevented = false;
        dispatch('touchend', { cancelable: true, target, preventDefault() { prevented = true; } });
        return prevented;
    };
    assert.ok(isPrevented(video) && isPrevented(stage) && isPrevented(lastFrame));
    assert.ok(!isPrevented(element('leave')) && !isPrevented(element('unmute')));
});
