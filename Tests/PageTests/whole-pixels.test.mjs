import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wholeSize } from '../../Sources/Peer/ViewerPage/Page/Script/whole-pixels.js';

const size = (width, height) => ({ width, height });

test('a picture of nearly the size of its place is shown without scaling', () => {
    for (const [width, height] of [[1280, 720], [1279, 719], [1278, 718], [1280, 717], [1277, 900], [1283, 723], [1280, 900]]) {
        const place = size(width, height);
        assert.deepEqual(wholeSize(size(1280, 720), place, 1), size(1280, 720), JSON.stringify(place));
    }
});

test('a place within one percent of the picture does not scale it', () => {
    for (const [width, height] of [[1919, 1079], [1901, 1070], [1939, 1090]]) {
        assert.deepEqual(wholeSize(size(1920, 1080), size(width, height), 1), size(1920, 1080));
    }
    for (const [width, height] of [[1900, 1080], [1920, 1069], [1940, 1092]]) {
        assert.equal(wholeSize(size(1920, 1080), size(width, height), 1), null);
    }
});

test('any other picture is scaled', () => {
    for (const place of [size(1267, 720), size(1280, 712), size(1920, 1080), size(640, 360), size(0, 0)]) {
        assert.equal(wholeSize(size(1280, 720), place, 1), null, JSON.stringify(place));
    }
    assert.equal(wholeSize(size(0, 0), size(1280, 720), 1), null);
});

test('on a fine screen a pixel of the picture is one of the screen', () => {
    assert.deepEqual(wholeSize(size(2560, 1440), size(1280, 719), 2), size(1280, 720));
    assert.equal(wholeSize(size(1280, 720), size(1280, 720), 2), null);
    assert.deepEqual(wholeSize(size(1920, 1080), size(1536, 864), 1.25), size(1536, 864));
});
