// Points of the picture as the protocol has them: [x, y] in 0..65535 over its width and height. Pure geometry.

const limit = 65535;

export function isPicturePoint(point) {
    return Array.isArray(point) && point.length === 2 && point.every(value => Number.isInteger(value) && value >= 0 && value <= limit);
}

// Of a place on the stage. `rectangle`: where the whole picture is shown; null if there is none. Null outside of it, unless `isClamped`.
export function picturePoint(rectangle, { x, y }, isClamped = false) {
    if (!rectangle || !(rectangle.width > 0 && rectangle.height > 0)) return null;
    const across = (x - rectangle.left) / rectangle.width, down = (y - rectangle.top) / rectangle.height;
    if (!isClamped && !(across >= 0 && across <= 1 && down >= 0 && down <= 1)) return null;
    return [across, down].map(value => Math.round(limit * Math.min(Math.max(value, 0), 1)));
}

// Where a point is on the stage.
export function stagePoint(rectangle, [x, y]) {
    return { x: rectangle.left + x / limit * rectangle.width, y: rectangle.top + y / limit * rectangle.height };
}
