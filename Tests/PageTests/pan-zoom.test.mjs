import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
    PanZoom, clampTransform, doubleTapTransform, dragTransform, resizeTransform, unzoomed,
} from '../../Sources/Peer/ViewerPage/Page/Script/pan-zoom.js';

// A frame of 1920 x 1080 on a telephone with two pixels in a CSS pixel.
const upright = { place: { width: 360, height: 640 }, frame: { left: 0, top: 218.75, width: 360, height: 202.5 }, pixelScale: 2.667 };
const landscape = { place: { width: 640, height: 360 }, frame: { left: 0, top: 0, width: 640, height: 360 }, pixelScale: 1.5 };

const at = (x, y) => ({ x, y });
const shownAt = ({ scale, x, y }, point) => at(scale * point.x + x, scale * point.y + y);
const originOf = ({ scale, x, y }, point) => at((point.x - x) / scale, (point.y - y) / scale);

function assertNear(point, expected) {
    assert.ok(Math.hypot(point.x - expected.x, point.y - expected.y) < 1e-6, `${JSON.stringify(point)} is not ${JSON.stringify(expected)}`);
}

function finger(panZoom, points, id = 1) {
    panZoom.down(id, points[0], 0);
    for (const point of points.slice(1)) panZoom.move(id, point);
}

test('a pinch keeps what is under the fingers there', () => {
    const from = [at(300, 150), at(340, 210)], to = [at(240, 130), at(360, 310)];
    const pinched = dragTransform(unzoomed, from, to, landscape);
    assert.ok(Math.abs(pinched.scale - 3) < 1e-9);
    for (const index of [0, 1]) assertNear(shownAt(pinched, from[index]), to[index]);
    const again = dragTransform(pinched, [at(200, 100), at(400, 300)], [at(220, 110), at(420, 310)], landscape);
    assertNear(originOf(again, at(220, 110)), originOf(pinched, at(200, 100)));
});

test('the scale is from 1 to 8', () => {
    const near = [at(319, 180), at(321, 180)], far = [at(20, 180), at(620, 180)];
    assert.equal(dragTransform(unzoomed, near, far, landscape).scale, 8);
    assert.deepEqual(dragTransform({ scale: 2, x: -320, y: -180 }, far, near, landscape), unzoomed);
    // Two fingers at one point.
    const same = dragTransform(unzoomed, [at(5, 5), at(5, 5)], [at(5, 5), at(9, 9)], landscape);
    assert.ok(Object.values(same).every(Number.isFinite));
});

test('panning ends at the edges of the frame', () => {
    const zoomed = { scale: 2, x: -320, y: -180 };
    assert.deepEqual(dragTransform(zoomed, [at(0, 0)], [at(50, -30)], landscape), { scale: 2, x: -270, y: -210 });
    assert.deepEqual(dragTransform(zoomed, [at(0, 0)], [at(9000, 9000)], landscape), { scale: 2, x: -0, y: -0 });
    assert.deepEqual(dragTransform(zoomed, [at(0, 0)], [at(-9000, -9000)], landscape), { scale: 2, x: -640, y: -360 });
    assert.deepEqual(dragTransform(unzoomed, [at(0, 0)], [at(50, 50)], landscape), unzoomed);
});

test('a frame that is lower than its place stays in the middle of the height', () => {
    const { scale, x, y } = clampTransform({ scale: 2, x: -100, y: 999 }, upright);
    assert.equal(scale * upright.frame.top + y, (640 - 405) / 2);
    assert.equal(x, -100);
    // As high as the place and higher, it leaves no gap.
    const high = clampTransform({ scale: 4, x: 0, y: 999 }, upright);
    assert.equal(4 * upright.frame.top + high.y, 0);
});

test('a double tap shows pixels as pixels at the point, and goes back', () => {
    const zoomed = doubleTapTransform(unzoomed, at(90, 320), upright);
    assert.equal(zoomed.scale, 2.667);
    assert.ok(Math.abs(shownAt(zoomed, at(90, 320)).x - 90) < 1e-9);
    assert.deepEqual(doubleTapTransform(zoomed, at(10, 10), upright), unzoomed);
    assert.deepEqual(doubleTapTransform({ scale: 1.2, x: 0, y: 0 }, at(10, 10), upright), unzoomed);
    // Frames that are small, or huge.
    assert.equal(doubleTapTransform(unzoomed, at(0, 0), { ...upright, pixelScale: 0.5 }).scale, 2);
    assert.equal(doubleTapTransform(unzoomed, at(0, 0), { ...upright, pixelScale: 12 }).scale, 8);
});

test('turning the telephone keeps what is in the middle there', () => {
    const before = clampTransform({ scale: 6, x: -900, y: -1600 }, upright);
    const middle = originOf(before, at(180, 320)), after = resizeTransform(before, upright, landscape);
    const share = at(middle.x / 360, (middle.y - upright.frame.top) / 202.5);
    assertNear(originOf(after, at(320, 180)), at(share.x * 640, share.y * 360));
    assert.deepEqual(resizeTransform(unzoomed, upright, landscape), unzoomed);
});

test('one finger pans, and a second one that comes or goes makes nothing jump', () => {
    const panZoom = new PanZoom();
    panZoom.setLayout(landscape);
    panZoom.transform = { scale: 4, x: -900, y: -500 };
    finger(panZoom, [at(100, 100), at(120, 100), at(150, 130)]);
    // What lies within the slop of a tap does not count.
    assert.deepEqual(panZoom.transform, { scale: 4, x: -870, y: -470 });
    panZoom.down(2, at(250, 130), 5);
    assert.deepEqual(panZoom.transform, { scale: 4, x: -870, y: -470 });
    panZoom.move(2, at(200, 130));
    assert.equal(panZoom.transform.scale, 2);
    const pinched = panZoom.transform;
    // A third finger is ignored.
    panZoom.down(3, at(9, 9), 6);
    panZoom.move(3, at(300, 300));
    assert.equal(panZoom.up(2, 20), null);
    panZoom.move(1, at(150, 130));
    assert.deepEqual(panZoom.transform, pinched);
    assert.equal(panZoom.up(1, 30), null);
    assert.equal(panZoom.fingers.size, 0);
});

test('taps are short, still, and of one finger', () => {
    const panZoom = new PanZoom();
    panZoom.setLayout(landscape);
    const tap = (point, from, until) => {
        panZoom.down(1, point, from);
        return panZoom.up(1, until);
    };
    assert.equal(tap(at(100, 100), 0, 80), 'tap');
    assert.equal(tap(at(110, 95), 200, 260), 'double tap');
    assert.equal(panZoom.transform.scale, 1.5);
    // The third tap begins anew.
    assert.equal(tap(at(110, 95), 400, 460), 'tap');
    assert.equal(panZoom.transform.scale, 1.5);
    // Too late, too far, too long.
    assert.equal(tap(at(110, 95), 1000, 1060), 'tap');
    assert.equal(tap(at(300, 95), 1200, 1260), 'tap');
    assert.equal(tap(at(100, 100), 3000, 3900), null);
    finger(panZoom, [at(0, 0), at(30, 0)]);
    assert.equal(panZoom.up(1, 40), null);
    panZoom.down(1, at(0, 0), 5000);
    panZoom.down(2, at(99, 0), 5010);
    assert.equal(panZoom.up(1, 5020), null);
    assert.equal(panZoom.up(2, 5030), null);
    // Of a finger that it does not follow, on a button.
    panZoom.down(1, at(0, 0), 5500);
    assert.equal(panZoom.up(7, 5510), null);
    assert.equal(panZoom.up(1, 5520), 'tap');
    panZoom.down(1, at(0, 0), 6000);
    panZoom.cancel(1);
    assert.equal(panZoom.up(1, 6010), null);
});

test('without a frame taps count and nothing moves', () => {
    const panZoom = new PanZoom();
    finger(panZoom, [at(0, 0), at(90, 0)]);
    panZoom.up(1, 10);
    panZoom.down(1, at(0, 0), 100);
    assert.equal(panZoom.up(1, 110), 'tap');
    assert.deepEqual(panZoom.transform, unzoomed);
    panZoom.setLayout(landscape);
    panZoom.transform = { scale: 2, x: -320, y: -180 };
    panZoom.setLayout(null);
    assert.deepEqual(panZoom.transform, unzoomed);
});

test('while one finger is for something else, two zoom', () => {
    const panZoom = new PanZoom();
    panZoom.setLayout({ place: { width: 640, height: 360 }, frame: { left: 0, top: 0, width: 640, height: 360 }, pixelScale: 3 });
    panZoom.isSingleReserved = true;
    panZoom.down(1, { x: 300, y: 180 }, 0);
    assert.ok(panZoom.move(1, { x: 200, y: 100 }));
    assert.equal(panZoom.transform.scale, 1);
    panZoom.down(2, { x: 240, y: 100 }, 10);
    panZoom.move(1, { x: 180, y: 100 });
    panZoom.move(2, { x: 260, y: 100 });
    assert.equal(panZoom.transform.scale, 2);
    const { transform } = panZoom;
    panZoom.up(2, 20);
    panZoom.move(1, { x: 400, y: 300 });
    assert.deepEqual(panZoom.transform, transform);
    panZoom.up(1, 30);
    panZoom.down(1, { x: 5, y: 5 }, 1000);
    assert.equal(panZoom.up(1, 1010), null);
});

test('while fingers control, two that move together scroll, and a pinch zooms', () => {
    const panZoom = new PanZoom(), ways = [];
    panZoom.setLayout({ place: { width: 600, height: 400 }, frame: { left: 0, top: 0, width: 600, height: 400 }, pixelScale: 2 });
    panZoom.isSingleReserved = true;
    panZoom.scroll = (place, across, down) => ways.push([place.x, place.y, across, down]);
    // One above the other, and the events of the upper one come first.
    panZoom.down(1, { x: 100, y: 100 }, 0);
    panZoom.down(2, { x: 100, y: 200 }, 10);
    for (const way of [20, 40, 60]) {
        panZoom.move(1, { x: 100, y: 100 + way });
        panZoom.move(2, { x: 100, y: 200 + way });
    }
    assert.deepEqual(panZoom.transform, unzoomed);
    assert.deepEqual(ways.map(([x, y]) => [x, y]), Array(4).fill([100, 150]));
    assert.deepEqual(ways.map(([, , across, down]) => [across, down]), Array(4).fill([0, 10]));
    panZoom.up(2, 100);
    panZoom.move(1, { x: 300, y: 100 });
    // A pinch, with a finger that stays where it is.
    panZoom.down(2, { x: 400, y: 100 }, 200);
    panZoom.move(2, { x: 440, y: 100 });
    assert.equal(panZoom.transform.scale, 1);
    panZoom.move(2, { x: 580, y: 100 });
    assert.equal(panZoom.transform.scale, 2);
    // It moves the frame, too.
    const { x } = panZoom.transform;
    panZoom.move(1, { x: 280, y: 100 });
    panZoom.move(2, { x: 560, y: 100 });
    assert.equal(panZoom.transform.x, x - 20);
    assert.equal(ways.length, 4);
});
