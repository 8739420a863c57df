import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPicturePoint, picturePoint, stagePoint } from '../../Sources/Peer/ViewerPage/Page/Script/picture-point.js';
import { PointerBatch } from '../../Sources/Peer/ViewerPage/Page/Script/pointer-batch.js';
import { PointerTracks } from '../../Sources/Peer/ViewerPage/Page/Script/pointer-tracks.js';
import { Throttle } from '../../Sources/Peer/ViewerPage/Page/Script/throttle.js';

const rectangle = { left: 100, top: -50, width: 800, height: 400 };

test('a place is told over the picture alone, wherever it is shown', () => {
    assert.deepEqual(picturePoint(rectangle, { x: 100, y: -50 }), [0, 0]);
    assert.deepEqual(picturePoint(rectangle, { x: 900, y: 350 }), [65535, 65535]);
    assert.deepEqual(picturePoint(rectangle, { x: 500, y: 50 }), [32768, 16384]);
    assert.equal(picturePoint(rectangle, { x: 99, y: 0 }), null);
    assert.equal(picturePoint(rectangle, { x: 500, y: 351 }), null);
    assert.deepEqual(picturePoint(rectangle, { x: -1e9, y: 1e9 }, true), [0, 65535]);
    assert.equal(picturePoint(null, { x: 1, y: 1 }, true), null);
    assert.equal(picturePoint({ left: 0, top: 0, width: 0, height: 9 }, { x: 0, y: 0 }, true), null);
    const { x, y } = stagePoint(rectangle, picturePoint(rectangle, { x: 321, y: 123 }));
    assert.ok(Math.abs(x - 321) < 0.01 && Math.abs(y - 123) < 0.01);
});

test('a point is two whole numbers of 16 bits', () => {
    for (const point of [[0, 0], [65535, 1]]) assert.ok(isPicturePoint(point));
    for (const point of [[0], [0, 1, 2], [-1, 0], [65536, 0], [0.5, 0], ['1', 1], [null, 1], null, {}, 'ab', [NaN, 1]]) {
        assert.ok(!isPicturePoint(point), JSON.stringify(point));
    }
});

test('of moves the last one is sent, and a line has all of its points', () => {
    const batch = new PointerBatch();
    for (let i = 0; i < 9; i++) batch.add('move', [[i, 0]]);
    batch.add('draw', [[8, 0]]);
    batch.add('draw', [[9, 0], [10, 0]]);
    batch.add('click', [[10, 0]]);
    batch.add('click', [[10, 0]]);
    batch.add('move', [[11, 0]]);
    batch.add('leave');
    const kinds = batch.take().map(({ type, kind, points }) => [type, kind, points.length]);
    assert.deepEqual(kinds, [
        ['pointer', 'move', 1], ['pointer', 'draw', 3], ['pointer', 'click', 1], ['pointer', 'click', 1], ['pointer', 'leave', 0],
    ]);
    assert.ok(batch.isEmpty);
    batch.add('leave');
    batch.add('move', [[1, 1]]);
    assert.deepEqual(batch.take(), [{ type: 'pointer', kind: 'move', points: [[1, 1]] }]);
});

test('a message has 32 points at most, and the end of a long line is whole', () => {
    const batch = new PointerBatch();
    for (let i = 0; i < 2000; i++) batch.add('draw', [[i, 0]]);
    const messages = batch.take();
    assert.ok(messages.length <= 9);
    for (const { points } of messages) assert.ok(points.length <= 32);
    const points = messages.flatMap(message => message.points);
    assert.deepEqual(points.slice(-32).map(([x]) => x), Array.from({ length: 32 }, (_, i) => 1968 + i));
    assert.deepEqual([...points].sort(([a], [b]) => a - b), points);
    for (let i = 0; i < 500; i++) batch.add('click', [[i, 0]]);
    assert.equal(batch.take().length, 32);
});

test('a throttle calls at once, then once in an interval, and never drops the last wish', t => {
    let now = 1000, calls = 0;
    t.mock.method(performance, 'now', () => now);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const throttle = new Throttle(34, () => calls++);
    for (let i = 0; i < 100; i++) {
        now++;
        t.mock.timers.tick(1);
        throttle.request();
    }
    assert.equal(calls, 3);
    now += 34;
    t.mock.timers.tick(34);
    assert.equal(calls, 4);
    now += 1000;
    t.mock.timers.tick(1000);
    assert.equal(calls, 4);
    // A call with a shorter interval comes before the one that waits, and takes its place.
    throttle.request();
    throttle.request();
    throttle.request(10);
    throttle.request();
    now += 10;
    t.mock.timers.tick(10);
    assert.equal(calls, 6);
    now += 34;
    t.mock.timers.tick(34);
    assert.equal(calls, 6);
});

const event = (...pointers) => ({ pointers });
const move = (id, x = 5, more = {}) => ({ id, from: 'Ann', kind: 'move', points: [[x, 7]], ...more });

test('a pointer is shown for 2 s, a line for 5 s and a ring for 0.6 s', () => {
    const tracks = new PointerTracks();
    tracks.take(event(move(11), move(11, 6, { kind: 'click' }), move(11, 7, { kind: 'draw' })), null, 1000);
    let [shown] = tracks.shown(1000);
    assert.deepEqual([shown.color, shown.name, shown.point, shown.opacity], ['#f58231', 'Ann', [7, 7], 1]);
    assert.deepEqual(shown.rings, [{ point: [6, 7], growth: 0 }]);
    [shown] = tracks.shown(1599);
    assert.ok(shown.rings[0].growth > 0.99);
    [shown] = tracks.shown(1600);
    assert.equal(shown.rings.length, 0);
    [shown] = tracks.shown(2999);
    assert.ok(shown.point && shown.opacity < 0.01 && shown.strokes[0].opacity === 1);
    [shown] = tracks.shown(3000);
    assert.ok(!shown.point && shown.strokes.length === 1);
    assert.equal(tracks.shown(5999).length, 1);
    assert.equal(tracks.shown(6000).length, 0);
});

test('a pointer that leaves is gone at once, and its line stays', () => {
    const tracks = new PointerTracks();
    tracks.take(event(move(1, 1, { kind: 'draw' }), { id: 1, from: 'Ann', kind: 'leave', points: [] }), null, 0);
    const [shown] = tracks.shown(1);
    assert.equal(shown.point, null);
    assert.equal(shown.strokes.length, 1);
    tracks.take(event({ id: 2, from: 'Bob', kind: 'leave', points: [] }), null, 0);
    assert.equal(tracks.shown(1).length, 1);
});

test('another kind ends a line', () => {
    const tracks = new PointerTracks(), draw = x => move(1, x, { kind: 'draw' });
    tracks.take(event(draw(1), draw(2), move(1, 3), draw(4)), null, 0);
    assert.deepEqual(tracks.shown(0)[0].strokes.map(({ points }) => points.map(([x]) => x)), [[1, 2], [4]]);
});

test('what this viewer draws is shown at once, and what the host says of it is left out', () => {
    const tracks = new PointerTracks();
    tracks.add({ id: 3, kind: 'draw', name: '', points: [[1, 1], [2, 2]] }, 0, true);
    tracks.take(event(move(3, 9), move(3, 9, { kind: 'draw' })), 3, 0);
    const [shown] = tracks.shown(0);
    assert.equal(shown.point, null);
    assert.deepEqual(shown.strokes[0].points, [[1, 1], [2, 2]]);
});

test('what is malformed is left out, and nothing grows without limit', () => {
    const tracks = new PointerTracks();
    for (const pointers of [null, 7, 'x', {}, [null, 7, [], 'x'], [{}], [move(-1)], [move(1.5)], [move('1')], [move(2 ** 60)],
        [move(1, 0, { kind: 'burn' })], [move(1, 0, { points: 'ab' })], [move(1, 0, { points: [[70000, 1], [1], null] })],
        [move(1, 0, { kind: '__proto__' })]]) {
        tracks.take({ pointers }, null, 0);
    }
    assert.equal(tracks.shown(0).length, 0);
    for (let i = 0; i < 20; i++) tracks.take({ pointers: Array.from({ length: 500 }, (_, id) => move(id + 100 * i)) }, null, 0);
    assert.equal(tracks.shown(0).length, 64);
    tracks.clear();
    const points = Array.from({ length: 1000 }, (_, i) => [i, i]);
    for (let i = 0; i < 40; i++) tracks.take(event(move(1, 0, { kind: 'draw', points })), null, 0);
    for (let i = 0; i < 40; i++) tracks.take(event(move(1), move(1, i, { kind: 'draw' }), move(1, i, { kind: 'click' })), null, 0);
    tracks.take(event(move(1, 0, { from: 'n'.repeat(999) })), null, 0);
    const [shown] = tracks.shown(0);
    assert.equal(shown.strokes.reduce((sum, stroke) => sum + stroke.points.length, 0), 256);
    assert.deepEqual([shown.rings.length, shown.name.length], [8, 64]);
    tracks.take(event(move(1, 0, { from: { toString: null } })), null, 0);
    assert.equal(tracks.shown(0)[0].name, '');
});
