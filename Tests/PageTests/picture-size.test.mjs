import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
    fittedView, isPictureCut, panPicture, pictureRectangle, switchPictureSize,
} from '../../Sources/Peer/ViewerPage/Page/Script/picture-size.js';

const size = (width, height) => ({ width, height });
const picture = size(1920, 1080);

test('at 1:1 the middle of a larger picture is shown, and the whole of it can be reached', () => {
    const place = size(1280, 720);
    const view = switchPictureSize(fittedView, picture, place, 1);
    assert.deepEqual(view, { isOneToOne: true, x: 320, y: 180 });
    assert.deepEqual(pictureRectangle(picture, place, 1, view), { left: -320, top: -180, width: 1920, height: 1080, isWhole: true });
    assert.deepEqual(panPicture(view, 5000, 5000, picture, place, 1), { isOneToOne: true, x: 640, y: 360 });
    assert.deepEqual(panPicture(view, -5000, -64, picture, place, 1), { isOneToOne: true, x: 0, y: 116 });
    assert.deepEqual(switchPictureSize(view, picture, place, 1), fittedView);
});

test('a picture begins on a pixel of the screen at every ratio', () => {
    for (const ratio of [1, 1.1, 1.25, 1.5, 1.75, 2, 3]) {
        for (const [width, height] of [[801, 601], [1537, 865], [2001, 1101]]) {
            const view = switchPictureSize(fittedView, picture, size(width, height), ratio);
            const panned = panPicture(view, 7, 13, picture, size(width, height), ratio);
            const { left, top } = pictureRectangle(picture, size(width, height), ratio, panned);
            for (const edge of [left, top]) assert.ok(Math.abs(edge * ratio - Math.round(edge * ratio)) < 1e-6, `${edge} at ${ratio}`);
        }
    }
});

test('only what is larger than its place is cut', () => {
    const rectangle = (place, view) => pictureRectangle(picture, place, 1, view);
    const oneToOne = { isOneToOne: true, x: 0, y: 0 };
    assert.ok(isPictureCut(rectangle(size(1280, 720), oneToOne), size(1280, 720)));
    assert.ok(!isPictureCut(rectangle(size(1280, 720), fittedView), size(1280, 720)));
    assert.ok(!isPictureCut(rectangle(size(2560, 1440), oneToOne), size(2560, 1440)));
    assert.ok(!isPictureCut(null, size(1280, 720)));
    assert.equal(pictureRectangle(size(0, 0), size(1280, 720), 1, oneToOne), null);
});
