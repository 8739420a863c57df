// The button and the key for the picture's own size, and moving a picture that is larger than the page: by arrow keys, wheel and mouse.
// A touch screen has its gestures instead.

import { element, hasTouchAlone, isPictureElement, root, stage, video } from './elements.js';
import { isHelpOpen } from './help.js';
import { isPictureCut, panPicture, switchPictureSize } from './picture-size.js';
import { frameRectangle, pictureView, showPictureView } from './player.js';

const arrowSteps = { ArrowLeft: [-64, 0], ArrowRight: [64, 0], ArrowUp: [0, -64], ArrowDown: [0, 64] };

function pictureSizes() {
    return [
        { width: video.videoWidth, height: video.videoHeight },
        { width: stage.clientWidth, height: stage.clientHeight }, window.devicePixelRatio || 1,
    ];
}

function isMovable() {
    return root.dataset.state === 'playing' && isPictureCut(frameRectangle(), { width: stage.clientWidth, height: stage.clientHeight });
}

function movePicture(across, down) { showPictureView(panPicture(pictureView(), across, down, ...pictureSizes())); }

// Whether the picture has moved.
export function panBy(across, down) {
    if (!isMovable()) return false;
    const { x, y } = pictureView();
    movePicture(across, down);
    return x !== pictureView().x || y !== pictureView().y;
}

export function togglePictureSize() {
    showPictureView(switchPictureSize(pictureView(), ...pictureSizes()));
    const { isOneToOne } = pictureView();
    element('size').textContent = isOneToOne ? 'Fit' : '1:1';
    element('size').title = isOneToOne ? 'As large as fits (1)' : 'A pixel for each pixel (1)';
}

export function setUpPicturePan() {
    element('size').hidden = hasTouchAlone();
    element('size').onclick = togglePictureSize;
    window.addEventListener('keydown', event => {
        if (event.target.tagName === 'INPUT' || event.ctrlKey || event.metaKey || event.altKey) return;
        const step = arrowSteps[event.key];
        if (!step || isHelpOpen() || !isMovable()) return;
        event.preventDefault();
        movePicture(...step);
    });
    stage.addEventListener('wheel', event => {
        if (event.ctrlKey || element('talk').contains(event.target) || !isMovable()) return;
        event.preventDefault();
        // Firefox counts lines.
        const unit = event.deltaMode ? 32 : 1;
        // With Shift some browsers turn the wheel's direction themselves.
        if (event.shiftKey && !event.deltaX) movePicture(event.deltaY * unit, 0);
        else movePicture(event.deltaX * unit, event.deltaY * unit);
    }, { passive: false });
    let from = null;
    stage.addEventListener('pointerdown', event => {
        if (event.pointerType === 'touch' || event.button || !isPictureElement(event.target) || !isMovable()) return;
        from = { x: event.clientX, y: event.clientY };
    });
    window.addEventListener('pointermove', event => {
        if (!from) return;
        // Not before it moves: the clicks of a captured pointer are the stage's, and a double click of the video is for full screen.
        if (!stage.hasPointerCapture(event.pointerId)) stage.setPointerCapture(event.pointerId);
        movePicture(from.x - event.clientX, from.y - event.clientY);
        from = { x: event.clientX, y: event.clientY };
    });
    for (const kind of ['pointerup', 'pointercancel']) window.addEventListener(kind, () => { from = null; });
}
