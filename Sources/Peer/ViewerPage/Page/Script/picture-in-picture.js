// The video in a small window of its own, where the browser lets a page do that.

import { element, video } from './elements.js';

const isPossible = () => Boolean(document.pictureInPictureEnabled && video.requestPictureInPicture);

export function closePictureInPicture() {
    if (document.pictureInPictureElement) document.exitPictureInPicture().catch(() => {});
}

export function togglePictureInPicture() {
    if (!isPossible()) return;
    if (document.pictureInPictureElement) closePictureInPicture();
    // Refused without a picture, as by a broadcast of audio alone.
    else video.requestPictureInPicture().catch(() => {});
}

export function setUpPictureInPicture() {
    element('pip').hidden = !isPossible();
    element('pip').onclick = togglePictureInPicture;
    const update = () => { element('pip').textContent = document.pictureInPictureElement ? 'Back to the page' : 'Small window'; };
    for (const kind of ['enterpictureinpicture', 'leavepictureinpicture']) video.addEventListener(kind, update);
}
