// The worker with streams of frames as a browser gives them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { posted as reports } from './fake-worker.mjs';
import { range } from './support.mjs';
import { baseKeyOf } from './fake-host.mjs';
import { FrameSealer } from './frame-sealer.mjs';
import { concatenate } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import '../../Sources/Peer/ViewerPage/Page/Script/seal-worker.js';

const baseKey = range(0, 32), plain = concatenate(Uint8Array.of(0x11), range(1, 80));
const keys = { run: range(0, 16), keys: [0, 4].map(track => ({ epoch: 3, track, step: 5, baseKey })) };
const sendKeys = () => globalThis.onmessage({ data: { keys } });
const sealer = (kind, track, step = 5) => new FrameSealer(kind, 3, track, step, baseKey);
let lastID = 0;

// A receiver whose frames get through the worker.
function receiver(kind) {
    const id = ++lastID, passed = [], requests = [];
    let source;
    const readable = new globalThis.ReadableStream({ start(controller) { source = controller; } });
    const writable = new globalThis.WritableStream({ write(frame) { passed.push(frame); } });
    const sendKeyFrameRequest = async () => {
        requests.push(performance.now());
        throw new Error('no SSRC');
    };
    globalThis.onrtctransform({ transformer: { readable, writable, options: { id, kind }, sendKeyFrameRequest } });
    const send = (data, { rtpTimestamp, timestamp = 1 } = {}) => source.enqueue({
        data: data.slice().buffer, type: 'key', timestamp, getMetadata: () => ({ rtpTimestamp }),
    });
    const own = () => reports.filter(report => report.id === id && 'opened' in report);
    const told = name => reports.filter(report => report.id === id && report[name]);
    return { id, passed, requests, send, own, told, end: () => source.close() };
}
const later = milliseconds => new Promise(done => setTimeout(done, milliseconds));
async function until(holds) { while (!holds()) await later(2); }

test('without keys nothing gets through, and one key frame is asked for in 300 ms', async () => {
    const video = receiver('video'), source = sealer('video', 0);
    for (let i = 0; i < 10; i++) video.send(await source.seal(plain));
    video.send(plain);
    await until(() => video.own().some(({ dropped }) => dropped === 11));
    assert.deepEqual([video.passed.length, video.requests.length], [0, 1]);
    await later(310);
    video.send(plain);
    await until(() => video.requests.length === 2);
    assert.ok(video.requests[1] - video.requests[0] >= 300);
    video.end();
});

test('frames that are opened get through in their order, and the first is reported at once', async () => {
    sendKeys();
    const video = receiver('video'), source = sealer('video', 0);
    const frames = Array.from({ length: 8 }, (_, i) => concatenate(plain, Uint8Array.of(i)));
    for (const [i, frame] of frames.entries()) {
        if (i === 4) await source.advance();
        video.send(await source.seal(frame));
        video.send(frame);
    }
    await until(() => video.passed.length === 8);
    assert.deepEqual(video.own()[0], { id: video.id, opened: 1, dropped: 0, isAnswer: false });
    assert.deepEqual(video.passed.map(({ data }) => new Uint8Array(data)), frames);
    await until(() => video.own().at(-1).dropped === 8);
    assert.deepEqual(video.own().at(-1), { id: video.id, opened: 8, dropped: 8, isAnswer: false });
    assert.ok(video.own().length <= 3);
    video.end();
});

test('the page can ask for the counts of now', async () => {
    sendKeys();
    const audio = receiver('audio'), source = sealer('audio', 4);
    for (let i = 0; i < 3; i++) audio.send(await source.seal(plain));
    await until(() => audio.passed.length === 3);
    assert.equal(audio.own().at(-1).opened, 1);
    globalThis.onmessage({ data: { count: audio.id } });
    assert.deepEqual(audio.own().at(-1), { id: audio.id, opened: 3, dropped: 0, isAnswer: true });
    globalThis.onmessage({ data: { count: 9999 } });
    audio.end();
});

test('the numbers of frames of video are told while the page wants to know them', async () => {
    sendKeys();
    const video = receiver('video'), source = sealer('video', 0), numbers = () => reports.filter(report => report.frame);
    const before = numbers().length;
    video.send(await source.seal(plain));
    await until(() => video.passed.length === 1);
    assert.equal(numbers().length, before);
    globalThis.onmessage({ data: { watch: true } });
    video.send(await source.seal(plain), { rtpTimestamp: 4711 });
    video.send(await source.seal(plain), { timestamp: 4712 });
    await until(() => video.passed.length === 3);
    globalThis.onmessage({ data: { watch: false } });
    video.send(await source.seal(plain));
    await until(() => video.passed.length === 4);
    // Epoch 3, track 0, step 5.
    const keyID = 3 << 12 | 5;
    assert.deepEqual(numbers().slice(before), [
        { frame: { timestamp: 4711, number: [keyID, 1] } }, { frame: { timestamp: 4712, number: [keyID, 2] } },
    ]);
    video.end();
});

test('frames that are too old, and audio, ask for no key frame', async () => {
    sendKeys();
    const video = receiver('video'), audio = receiver('audio');
    // An earlier test has gone to step 6.
    video.send(await sealer('video', 0, 1).seal(plain));
    audio.send(plain);
    await until(() => video.own().length && audio.own().length);
    assert.deepEqual([video.own()[0].dropped, audio.own()[0].dropped, video.requests.length, audio.requests.length], [1, 1, 0, 0]);
    video.end();
    audio.end();
});

test('frames of an unknown epoch ask for keys once a second and for a key frame, and get through with the secret of the epoch', async t => {
    sendKeys();
    const video = receiver('video'), audio = receiver('audio'), { performance } = globalThis, start = Math.ceil(performance.now());
    const secret = { id: '0123456789ABC', run: keys.run, epoch: 4, secret: range(7, 39) };
    const [source, sound] = [0, 4].map(track => new FrameSealer(track ? 'audio' : 'video', 4, track, 0, baseKeyOf(secret, track)));
    let now = start;
    t.mock.method(performance, 'now', () => now);
    const sendTwice = async dropped => {
        for (let i = 0; i < 2; i++) video.send(await source.seal(plain));
        await until(() => {
            globalThis.onmessage({ data: { count: video.id } });
            return video.own().at(-1).dropped === dropped;
        });
    };
    await sendTwice(2);
    assert.deepEqual(video.told('needsKeys'), [{ id: video.id, needsKeys: true }]);
    assert.equal(video.requests.length, 1);
    now = start + 999;
    await sendTwice(4);
    assert.equal(video.told('needsKeys').length, 1);
    now = start + 1000;
    await sendTwice(6);
    assert.equal(video.told('needsKeys').length, 2);
    // Audio needs them, too.
    audio.send(await sound.seal(plain));
    await until(() => audio.told('needsKeys').length === 1);
    assert.deepEqual([video.passed.length, audio.passed.length, audio.requests.length], [0, 0, 0]);
    globalThis.onmessage({ data: { keys: secret } });
    while (video.passed.length < 2) {
        video.send(await source.seal(plain));
        await later(2);
    }
    assert.deepEqual(video.told('usesNewKeys'), [{ id: video.id, usesNewKeys: true }]);
    video.end();
    audio.end();
});

test('frames that no keys of the host could open ask for none', async () => {
    sendKeys();
    const video = receiver('video'), key = range(9, 41);
    video.send(await new FrameSealer('video', 9, 4, 0, key).seal(plain));
    video.send(await new FrameSealer('video', 3, 0, 5, key).seal(plain));
    video.send(new Uint8Array());
    await until(() => video.own().length && video.own().at(-1).dropped === 3);
    assert.deepEqual(video.told('needsKeys'), []);
    video.end();
});

test('keys never come out', () => {
    const forms = [['id', 'opened', 'dropped', 'isAnswer'], ['id', 'needsKeys'], ['id', 'usesNewKeys'], ['frame']].map(String);
    for (const report of reports) assert.ok(forms.includes(String(Object.keys(report))), JSON.stringify(report));
});
