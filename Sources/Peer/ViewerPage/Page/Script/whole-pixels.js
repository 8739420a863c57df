// Shows a picture without scaling where its place has nearly its size. Scaled by a pixel or two, text is blurred.

// The size of the picture in CSS pixels; null where it has to be scaled. Up to three of its pixels are cut off, or have bars beside
// them. `ratio`: the screen's pixels in a CSS pixel.
export function wholeSize(picture, place, ratio) {
    const size = { width: picture.width / ratio, height: picture.height / ratio };
    const scale = Math.min(place.width / size.width, place.height / size.height);
    const cut = Math.max(size.width - place.width, size.height - place.height) * ratio;
    const growth = Math.max(size.width, size.height) * (scale - 1) * ratio;
    return Number.isFinite(scale) && cut < 4 && growth < 4 ? size : null;
}
