// Where the picture is shown: as large as fits, or a pixel of it for each of the screen's. Pure geometry.
//
// A view { isOneToOne, x, y } has the picture's pixel in the upper left corner, where the picture is larger than its place.

import { wholeSize } from './whole-pixels.js';

export const fittedView = { isOneToOne: false, x: 0, y: 0 };

const hasArea = ({ width, height }) => width > 0 && height > 0;

// On one axis, in pixels of the screen.
function pictureCorner(first, length, room) {
    if (length <= room) return Math.floor((room - length) / 2);
    return -Math.min(Math.max(Math.round(first), 0), Math.ceil(length - room));
}

// In CSS pixels; null if there is nothing to show. `isWhole`: without scaling, on whole pixels of the screen. `ratio`: the screen's
// pixels in a CSS pixel.
export function pictureRectangle(picture, place, ratio, view) {
    if (!hasArea(picture) || !hasArea(place)) return null;
    const own = { width: picture.width / ratio, height: picture.height / ratio };
    const whole = view.isOneToOne ? own : wholeSize(picture, place, ratio);
    if (whole) {
        return {
            left: pictureCorner(view.x, picture.width, place.width * ratio) / ratio,
            top: pictureCorner(view.y, picture.height, place.height * ratio) / ratio,
            width: whole.width, height: whole.height, isWhole: true,
        };
    }
    const scale = Math.min(place.width / picture.width, place.height / picture.height);
    const width = picture.width * scale, height = picture.height * scale;
    return { left: (place.width - width) / 2, top: (place.height - height) / 2, width, height, isWhole: false };
}

export function isPictureCut(rectangle, place) {
    return Boolean(rectangle) && (rectangle.width > place.width || rectangle.height > place.height);
}

// The view after the picture was moved by CSS pixels, limited to what has something to show.
export function panPicture(view, across, down, picture, place, ratio) {
    const limit = (first, length, room) => Math.max(-pictureCorner(first, length, room), 0);
    return {
        isOneToOne: view.isOneToOne,
        x: limit(view.x + across * ratio, picture.width, place.width * ratio),
        y: limit(view.y + down * ratio, picture.height, place.height * ratio),
    };
}

// The other size. At 1:1 the picture's middle is in the middle.
export function switchPictureSize(view, picture, place, ratio) {
    if (view.isOneToOne) return fittedView;
    const middle = { isOneToOne: true, x: (picture.width - place.width * ratio) / 2, y: (picture.height - place.height * ratio) / 2 };
    return panPicture(middle, 0, 0, picture, place, ratio);
}
