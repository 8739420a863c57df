// Plays a session's tracks: video and system audio in one element, the microphone in another.

import { element, isTouchScreen, lastFrame, microphone, root, stage, video } from './elements.js';
import { closePictureInPicture } from './picture-in-picture.js';
import { fittedView, pictureRectangle } from './picture-size.js';

// `onPlaying(hasPicture)` is called when the first frame of a session is shown, or audio alone is played.
let isOpen = false, onPlaying = () => {};
// Browsers want a click before they play audio, or before they play at all.
let needsClickForAudio = false, needsClickToPlay = false;
// The video track that is hidden until a frame of it was opened.
let unopened = null;
// What the viewer has chosen.
let chosenView = fittedView;

export function openPlayer(playing) {
    isOpen = true;
    onPlaying = playing;
    element('mute').hidden = true;
}

export function closePlayer() {
    isOpen = false;
    if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
    closePictureInPicture();
    video.srcObject = null;
    microphone.srcObject = null;
    setUnopened(null);
    lastFrame.hidden = true;
    updateUnmuteButton();
}

// Hides video and silences audio until `opened` is fulfilled; null for media that is not sealed.
function holdBack(track, opened) {
    if (track.kind === 'video') setUnopened(opened && track);
    if (!opened) return;
    if (track.kind === 'audio') track.enabled = false;
    opened.then(() => {
        track.enabled = true;
        if (track !== unopened) return;
        setUnopened(null);
        hideLastFrame();
        reportPlaying();
    });
}

function setUnopened(track) {
    unopened = track;
    if (track) root.dataset.unopened = ''; else delete root.dataset.unopened;
}

// One element plays one audio track for certain, so `isMicrophone` tells the second one. `opened`: fulfilled when a frame of sealed
// media was opened.
export function addTrack(track, stream, isMicrophone, opened = null) {
    holdBack(track, opened);
    if (isMicrophone) microphone.srcObject = new MediaStream([track]); else stream.addTrack(track);
    if (track.kind === 'audio') {
        // A host without a sound server has a track that never gets a packet.
        if (track.muted) track.addEventListener('unmute', showMuteButton, { once: true });
        else showMuteButton();
    }
    if (video.srcObject !== stream) video.srcObject = stream;
    play();
}

function showMuteButton() {
    element('mute').hidden = false;
    updateUnmuteButton();
}

export function updateUnmuteButton() {
    const hasAudio = root.dataset.state === 'playing' && !element('mute').hidden;
    const unmute = element('unmute');
    unmute.hidden = !isOpen || !(needsClickToPlay || needsClickForAudio && hasAudio);
    unmute.textContent = (isTouchScreen() ? 'Tap' : 'Click') + (needsClickToPlay ? ' to play' : ' for audio');
    // A button for audio may be left alone; the other one may not.
    unmute.classList.toggle('optional', !needsClickToPlay);
    // Two buttons for one thing take room.
    element('mute').classList.toggle('replaced', !unmute.hidden);
}

function mute(isMuted) {
    video.muted = microphone.muted = isMuted;
    element('mute').textContent = isMuted ? 'Unmute' : 'Mute';
    if (!isMuted) needsClickForAudio = needsClickToPlay = false;
    updateUnmuteButton();
}

// Called by a click or a key only.
function setMuted(isMuted) {
    mute(isMuted);
    video.play().catch(() => {});
    if (microphone.srcObject) microphone.play().catch(() => {});
}

export function toggleMuted() { if (!element('mute').hidden) setMuted(!video.muted); }

async function play() {
    try {
        await video.play();
        if (microphone.srcObject) await microphone.play();
    } catch (error) {
        if (error.name !== 'NotAllowedError' || video.muted) return;
        // Video without audio rather than nothing.
        mute(true);
        needsClickForAudio = true;
        updateUnmuteButton();
        video.play().catch(refusal => {
            needsClickToPlay = refusal.name === 'NotAllowedError';
            updateUnmuteButton();
        });
    }
}

// Live video is never paused on purpose: Safari pauses it after full screen and in hidden tabs.
function resume() {
    if (isOpen && !document.hidden && video.srcObject && video.srcObject.active) play();
}

function reportPlaying() {
    if (!isOpen || root.dataset.state === 'playing') return;
    const stream = video.srcObject;
    const isAudioAlone = stream && !stream.getVideoTracks().length && !video.paused;
    if (video.videoWidth && !unopened || isAudioAlone) onPlaying(!isAudioAlone);
}

// Shows the last frame until the video of the next connection has one.
export function holdLastFrame() {
    if (!video.videoWidth || unopened || !lastFrame.hidden) return;
    lastFrame.width = video.videoWidth;
    lastFrame.height = video.videoHeight;
    lastFrame.getContext('2d').drawImage(video, 0, 0);
    lastFrame.hidden = false;
}

// When the video has a frame to show.
function hideLastFrame() { if (!unopened && video.readyState >= 2) lastFrame.hidden = true; }

// Where the frame is shown on the stage at scale 1, in CSS pixels; null if there is none. `isWhole`: without scaling.
export function frameRectangle() {
    const place = { width: stage.clientWidth, height: stage.clientHeight };
    const frame = { width: video.videoWidth, height: video.videoHeight };
    return pictureRectangle(frame, place, window.devicePixelRatio || 1, chosenView);
}

export function pictureView() { return chosenView; }

export function showPictureView(view) {
    chosenView = view;
    fitPicture();
}

// Without a size of its own, the picture is as large as the page, with its shape.
function fitPicture() {
    const frame = frameRectangle();
    for (const { style } of [video, lastFrame]) {
        for (const side of ['left', 'top', 'width', 'height']) style[side] = frame && frame.isWhole ? frame[side] + 'px' : '';
        // A zoom is told from the place's corner, not from the picture's.
        style.transformOrigin = frame && frame.isWhole ? `${-frame.left}px ${-frame.top}px` : '';
    }
}

export function setUpPlayer() {
    window.addEventListener('resize', fitPicture);
    for (const kind of ['loadedmetadata', 'resize']) video.addEventListener(kind, fitPicture);
    for (const media of [video, microphone]) media.addEventListener('pause', () => setTimeout(resume));
    document.addEventListener('visibilitychange', resume);
    video.addEventListener('loadeddata', hideLastFrame);
    for (const kind of ['playing', 'loadeddata', 'resize']) video.addEventListener(kind, reportPlaying);
    element('mute').onclick = () => setMuted(!video.muted);
    element('unmute').onclick = () => setMuted(false);
}
