// Shows a picture without scaling where its place has nearly its size. Scaled by a pixel or two, text is blurred.

// The size of the picture in CSS pixels; null where it has to be scaled. Up to 1 % of its pixels, and at least three, are cut off, or
// have bars beside them. `ratio`: the screen's pixels in a CSS pixel.
export function wholeSize(picture, place, ratio) {
    const size = { width: picture.width / ratio, height: picture.height / ratio };
    const scale = Math.min(place.width / size.width, place.height / size.height);
    const isNear = side => {
        const most = Math.max(Math.floor(picture[side] / 100), 3);
        return (size[side] - place[side]) * ratio < most + 1 && picture[side] * (scale - 1) < most + 1;
    };
    return Number.isFinite(scale) && isNear('width') && isNear('height') ? size : null;
}
