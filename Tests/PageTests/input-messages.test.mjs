import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EdgePan, edgeDirection } from '../../Sources/Peer/ViewerPage/Page/Script/edge-pan.js';
import { InputMessages, WheelNotches } from '../../Sources/Peer/ViewerPage/Page/Script/input-messages.js';
import { TouchMouse } from '../../Sources/Peer/ViewerPage/Page/Script/touch-mouse.js';

test('inputs are numbered within their grant, with time and frame', () => {
    const inputs = new InputMessages(4);
    inputs.add({ move: [1, 2] });
    assert.deepEqual(inputs.take(10.6), [[{ type: 'input', grant: 4, count: 1, time: 11, input: { move: [1, 2] } }]]);
    inputs.frame = 90000;
    assert.deepEqual(inputs.alive(20), { type: 'input', grant: 4, count: 2, time: 20, frame: 90000 });
    assert.deepEqual(inputs.take(30), []);
});

test('moves are joined until something else happens', () => {
    const inputs = new InputMessages(1);
    for (let i = 0; i < 5; i++) inputs.add({ move: [i, 0] });
    inputs.add({ button: 1, pressed: true });
    for (let i = 5; i < 9; i++) inputs.add({ move: [i, 0] });
    inputs.add({ wheel: [0, 1] });
    inputs.add({ wheel: [0, 31] });
    inputs.add({ wheel: [-1, 3] });
    const [frame] = inputs.take(0);
    assert.deepEqual(frame.map(({ input }) => input), [
        { move: [4, 0] }, { button: 1, pressed: true }, { move: [8, 0] }, { wheel: [-1, 32] },
    ]);
    assert.deepEqual(frame.map(({ count }) => count), [1, 2, 3, 4]);
});

test('a frame has 32 messages at most', () => {
    const inputs = new InputMessages(1);
    for (let i = 0; i < 70; i++) inputs.add({ key: 97, pressed: i % 2 === 0 });
    assert.deepEqual(inputs.take(0).map(frame => frame.length), [32, 32, 6]);
    inputs.add({ key: 97, pressed: true });
    inputs.clear();
    assert.ok(inputs.isEmpty);
});

test('a notch of a mouse is one in every browser, and a touchpad adds up to notches', () => {
    const turn = (wheel, deltaY, deltaMode = 0, deltaX = 0) => wheel.add({ deltaX, deltaY, deltaMode });
    for (const [delta, mode] of [[120, 0], [100, 0], [53, 0], [3, 1], [1, 2]]) {
        const wheel = new WheelNotches();
        for (let i = 0; i < 5; i++) assert.deepEqual(turn(wheel, delta, mode), [0, 1], `${delta} ${mode}`);
        assert.deepEqual(turn(wheel, -delta, mode), [0, -1]);
    }
    const wheel = new WheelNotches();
    let notches = 0;
    for (let i = 0; i < 100; i++) notches += (turn(wheel, 7.5) || [0, 0])[1];
    assert.equal(notches, 7);
    // The other direction begins anew.
    assert.equal(turn(wheel, -30), null);
    assert.equal(turn(wheel, -30), null);
    assert.deepEqual(turn(new WheelNotches(), 0, 0, -240), [-2, 0]);
    assert.deepEqual(turn(new WheelNotches(), 1e9), [0, 32]);
    assert.equal(turn(new WheelNotches(), NaN, 0, Infinity), null);
});

function finger(t) {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const done = [];
    const touch = new TouchMouse({
        move: ({ x, y }) => done.push(`${x},${y}`), button: (number, isPressed) => done.push((isPressed ? '+' : '-') + number),
    });
    return { touch, take: () => done.splice(0).join(' '), tick: time => t.mock.timers.tick(time) };
}

test('a tap is a click, a drag holds the left button, and a long press is the right one', t => {
    const { touch, take, tick } = finger(t);
    touch.down(1, { x: 5, y: 5 });
    touch.moved(1, { x: 8, y: 5 });
    touch.up(1);
    assert.equal(take(), '5,5 +1 -1');
    touch.down(1, { x: 5, y: 5 });
    touch.moved(1, { x: 30, y: 5 });
    touch.moved(1, { x: 40, y: 5 });
    tick(1000);
    touch.up(1);
    assert.equal(take(), '5,5 +1 30,5 40,5 -1');
    touch.down(1, { x: 5, y: 5 });
    tick(500);
    touch.moved(1, { x: 90, y: 5 });
    touch.up(1);
    assert.equal(take(), '5,5 +3 -3');
});

test('two fingers are no input, and what one has pressed is released', t => {
    const { touch, take, tick } = finger(t);
    touch.down(1, { x: 5, y: 5 });
    touch.moved(1, { x: 30, y: 5 });
    touch.down(2, { x: 90, y: 90 });
    touch.moved(1, { x: 60, y: 5 });
    touch.up(2);
    tick(1000);
    touch.up(1);
    assert.equal(take(), '5,5 +1 30,5 -1');
    touch.down(1, { x: 5, y: 5 });
    touch.moved(1, { x: 30, y: 5 });
    touch.reset();
    touch.up(1);
    assert.equal(take(), '5,5 +1 30,5 -1');
    touch.down(1, { x: 6, y: 6 });
    touch.up(1);
    assert.equal(take(), '6,6 +1 -1');
});

test('a picture that is larger than the page moves while the mouse is at an edge', t => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const moves = [], edge = new EdgePan((across, down) => moves.push([across, down])), size = { width: 800, height: 600 };
    for (const [x, y, direction] of [[400, 300, [0, 0]], [0, 300, [-1, 0]], [799, 599, [1, 1]], [400, 10, [0, -1]], [24, 576, [0, 0]]]) {
        assert.deepEqual(edgeDirection({ x, y }, size), direction);
    }
    edge.at({ x: 400, y: 300 }, size);
    t.mock.timers.tick(100);
    assert.deepEqual(moves, []);
    edge.at({ x: 799, y: 300 }, size);
    edge.at({ x: 799, y: 0 }, size);
    t.mock.timers.tick(60);
    assert.deepEqual(moves, [[12, -12], [12, -12]]);
    edge.at({ x: 400, y: 300 }, size);
    t.mock.timers.tick(100);
    assert.equal(moves.length, 2);
});
