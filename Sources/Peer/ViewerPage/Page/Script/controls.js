// The bar over the video, its keys, full screen, and hiding it all after a time without a movement. On a touch screen a tap shows and
// hides it.

import { element, root, stage, video } from './elements.js';
import { isHelpOpen, setUpHelp, toggleHelp } from './help.js';
import { setUpPictureInPicture, togglePictureInPicture } from './picture-in-picture.js';
import { setUpPicturePan, togglePictureSize } from './picture-pan.js';
import { shortcutOf } from './keysym.js';
import { toggleMuted } from './player.js';
import { isFrameTouch, setUpTouchGestures } from './touch-gestures.js';

let idleTimer = 0;

export function showControls() {
    stage.classList.remove('idle');
    clearTimeout(idleTimer);
    idleTimer = setTimeout(() => stage.classList.toggle('idle', root.dataset.state === 'playing'), 3000);
}

function hideControls() {
    clearTimeout(idleTimer);
    stage.classList.add('idle');
}

function toggleFullscreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else if (stage.requestFullscreen) stage.requestFullscreen().catch(() => {});
    else if (video.webkitEnterFullscreen) video.webkitEnterFullscreen();
}

export function setUpControls({ leave, toggleStatistics, writeComment, togglePointing, wishControl }) {
    for (const kind of ['keydown', 'focusin']) window.addEventListener(kind, showControls);
    for (const kind of ['pointermove', 'pointerdown']) {
        window.addEventListener(kind, event => { if (!isFrameTouch(event)) showControls(); });
    }
    setUpTouchGestures({
        tap: () => (stage.classList.contains('idle') ? showControls() : hideControls()),
        doubleTap: hideControls,
    });
    setUpPicturePan();
    setUpPictureInPicture();
    setUpHelp();
    document.addEventListener('fullscreenchange', () => {
        element('full').textContent = document.fullscreenElement ? 'Leave full screen' : 'Full screen';
    });
    element('full').onclick = toggleFullscreen;
    video.ondblclick = toggleFullscreen;
    element('stats').onclick = toggleStatistics;
    element('leave').onclick = leave;
    // Focus by a pointer would keep the bar visible. The click of a key has detail 0.
    element('bar').addEventListener('click', event => { if (event.detail) document.activeElement.blur(); });
    window.addEventListener('keydown', event => {
        if (event.target.tagName === 'INPUT' || event.ctrlKey || event.metaKey || event.altKey) return;
        if (root.dataset.state !== 'playing') return;
        if (event.key === '?' || event.key === 'F1') {
            event.preventDefault();
            return toggleHelp();
        }
        if (isHelpOpen()) return;
        const key = shortcutOf(event);
        if (key === 'f') toggleFullscreen();
        if (key === '1') togglePictureSize();
        if (key === 's') toggleStatistics();
        if (key === 'm') toggleMuted();
        if (key === 'p' && !event.repeat) togglePointing();
        if (key === 'r' && !event.repeat) wishControl();
        if (key === 'i') togglePictureInPicture();
        if (key === 'q') leave();
        if (key === 'c') {
            event.preventDefault();
            writeComment();
        }
    });
}
