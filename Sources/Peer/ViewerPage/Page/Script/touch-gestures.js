// Pinch, pan and taps of the frame on a touch screen. A mouse and a pen have none of this.

import { isPictureElement, lastFrame, root, stage, video } from './elements.js';
import { PanZoom } from './pan-zoom.js';
import { frameRectangle } from './player.js';

const panZoom = new PanZoom();

// Whether the event is a touch of the frame or of the room around it, and not of a button.
export function isFrameTouch(event) {
    return event.pointerType === 'touch' && root.dataset.state === 'playing' && isPictureElement(event.target);
}

// Where the frame is shown on the stage, with its zoom, in CSS pixels; null if there is none.
export function shownFrameRectangle() {
    const frame = frameRectangle();
    if (!frame) return null;
    const { scale, x, y } = panZoom.transform;
    return { left: scale * frame.left + x, top: scale * frame.top + y, width: scale * frame.width, height: scale * frame.height };
}

// While the picture is for pointing or control, two fingers zoom as before, one does not, and Firefox has no button of its own there.
// `scroll`: see PanZoom.
export function reservePicture(isReserved, scroll = null) {
    panZoom.isSingleReserved = isReserved;
    panZoom.scroll = scroll;
    video.toggleAttribute('disablepictureinpicture', isReserved);
}

function apply() {
    const { scale, x, y } = panZoom.transform;
    for (const shown of [video, lastFrame]) shown.style.transform = scale === 1 ? '' : `translate(${x}px, ${y}px) scale(${scale})`;
}

function updateLayout() {
    // A stream without a frame yet follows one whose zoom is kept.
    if (!video.videoWidth && video.srcObject) return;
    const frame = frameRectangle();
    panZoom.setLayout(frame && {
        place: { width: stage.clientWidth, height: stage.clientHeight }, frame,
        pixelScale: video.videoWidth / (window.devicePixelRatio || 1) / frame.width,
    });
    apply();
}

export function setUpTouchGestures({ tap, doubleTap }) {
    const point = event => ({ x: event.clientX, y: event.clientY });
    stage.addEventListener('pointerdown', event => {
        if (isFrameTouch(event)) panZoom.down(event.pointerId, point(event), event.timeStamp);
    });
    window.addEventListener('pointermove', event => {
        if (panZoom.move(event.pointerId, point(event))) apply();
    });
    window.addEventListener('pointerup', event => {
        const gesture = panZoom.up(event.pointerId, event.timeStamp);
        if (gesture === 'tap') tap();
        if (gesture !== 'double tap') return;
        doubleTap();
        apply();
    });
    window.addEventListener('pointercancel', event => panZoom.cancel(event.pointerId));
    // Without the click that follows a touch: it would press the button that the tap has shown under the finger.
    stage.addEventListener('touchend', event => {
        if (event.cancelable && isFrameTouch({ pointerType: 'touch', target: event.target })) event.preventDefault();
    }, { passive: false });
    window.addEventListener('resize', updateLayout);
    for (const kind of ['loadedmetadata', 'resize', 'emptied']) video.addEventListener(kind, updateLayout);
}
