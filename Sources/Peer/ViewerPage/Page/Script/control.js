// Controls the host's pointer and keyboard while the host lets this viewer do so, and tells who does.

import { showControls } from './controls.js';
import { EdgePan } from './edge-pan.js';
import { element, isPictureElement, isTouchScreen, root, stage, video } from './elements.js';
import { InputMessages, WheelNotches } from './input-messages.js';
import { KeyInput } from './key-input.js';
import { panBy } from './picture-pan.js';
import { picturePoint } from './picture-point.js';
import { isAtEdge, stagePlace } from './pointer.js';
import { RightRequest } from './right-request.js';
import { sealedFrame, watchFrames } from './sealed-media.js';
import { Throttle } from './throttle.js';
import { TouchMouse } from './touch-mouse.js';
import { reservePicture, shownFrameRectangle } from './touch-gestures.js';

// 60 a second; fewer than 120 frames a second, at which the host closes the socket; and a message at least so often while this viewer has
// control (the host releases all keys after 1 s of silence).
const moveInterval = 17, frameInterval = 10, aliveInterval = 300;
// Two fingers move so many pixels for a line.
const lineOfFingers = 17;
// By the numbers of MouseEvent.button; the values are X11's.
const buttons = [1, 2, 3, 8, 9];

export function keyboardSystem({ platform = '' }) {
    return /Mac|iPhone|iPad/.test(platform) ? 'mac' : /Win/.test(platform) ? 'windows' : 'other';
}

export class Control {
    // `onBegin`: called when this begins.
    constructor({ messages, tell, onBegin }) {
        Object.assign(this, { messages, onBegin });
        this.right = new RightRequest('control', {
            question: 'The host is asked whether you may control its screen.', refusal: 'The host did not allow you to control its screen.',
        }, { messages, tell, onGranted: () => this.begin() });
        // Of the host's grant; null without one.
        this.inputs = null;
        // Whether what this viewer does in the picture goes to the host, and whether its keyboard does.
        this.isActive = this.hasKeyboard = this.isWatchingFrames = false;
        // The frame that is shown; null if it is not known (see `InputMessages`).
        this.frame = this.sealed = null;
        // Who controls the screen, as the host says.
        this.controller = '';
        this.sentAt = 0;
        this.alive = null;
        this.wheel = new WheelNotches();
        this.pressedButtons = new Set();
        this.throttle = new Throttle(moveInterval, () => this.send());
        this.keys = new KeyInput((key, pressed) => this.add({ key, pressed }, true), keyboardSystem(navigator));
        // Where the mouse is.
        this.place = null;
        this.edge = new EdgePan((across, down) => { if (panBy(across, down)) this.moveTo(this.place); });
        this.touch = new TouchMouse({
            move: place => this.moveTo(place, true), button: (button, pressed) => this.add({ button, pressed }, true),
        });
        element('control').onclick = () => this.toggle();
        element('keyboard').onclick = () => this.showKeyboard();
        this.listenToPointer();
        this.listenToKeys();
        this.listenToText();
        this.listenToPage();
    }

    // What the host says.
    setRight(value, isAnswer, number) {
        const grant = value === 'yes' && Number.isSafeInteger(number) && number >= 0 ? number : null;
        if (grant !== (this.inputs && this.inputs.grant)) {
            this.deactivate(false);
            this.inputs = grant === null ? null : new InputMessages(grant);
            this.aim();
            clearInterval(this.alive);
            this.alive = grant === null ? null : setInterval(() => this.sayAlive(), aliveInterval / 2);
        }
        this.right.set(value, isAnswer);
        element('control').hidden = this.right.value === 'no';
        // Before there is a permission: a relay may hold the next frames back.
        if (this.right.value !== 'no') this.watchFrames();
        this.update();
    }

    // Inputs aim at the frame that is shown.
    aim() { if (this.inputs) Object.assign(this.inputs, { frame: this.frame, sealed: this.sealed }); }

    // The event `control`: nobody without a name.
    showController({ by }) {
        this.controller = typeof by === 'string' ? by.slice(0, 64) : '';
        this.update();
    }

    // The button.
    toggle() { if (this.isActive) this.giveBack(); else this.wish(); }

    // The key: begins, or takes the keyboard again.
    wish() {
        if (this.isActive) this.takeKeyboard(true);
        else if (this.inputs) this.begin();
        else this.right.ask();
    }

    begin() {
        if (!this.inputs || this.isActive) return;
        this.messages.openSocket();
        this.onBegin();
        this.isActive = true;
        reservePicture(true, (place, across, down) => this.scroll(place, across, down));
        this.takeKeyboard(true);
    }

    giveBack() {
        this.deactivate(true);
        this.messages.post({ type: 'release', right: 'control' });
    }

    // `isHeard`: whether the host still takes what is released.
    deactivate(isHeard) {
        if (!this.isActive) return;
        if (isHeard) {
            this.releaseAll();
        } else {
            this.inputs = null;
            this.releaseAll();
        }
        this.throttle.cancel();
        this.edge.stop();
        this.isActive = false;
        reservePicture(false);
        this.takeKeyboard(false);
    }

    end() {
        this.setRight('no', false);
        this.right.end();
        this.showController({});
        element('control').hidden = true;
    }

    takeKeyboard(isTaken) {
        this.hasKeyboard = isTaken;
        const typing = element('typing');
        if (isTaken) {
            typing.hidden = false;
            // It opens no keyboard of the screen; the button does.
            typing.inputMode = 'none';
            typing.focus({ preventScroll: true });
        } else {
            this.keys.releaseAll();
            typing.blur();
            typing.hidden = true;
        }
        this.lockKeyboard();
        this.update();
    }

    showKeyboard() {
        this.takeKeyboard(true);
        const typing = element('typing');
        typing.blur();
        typing.inputMode = 'text';
        typing.focus({ preventScroll: true });
    }

    // In full screen, keys of the system go to the page, Escape as well, where the browser can do that.
    lockKeyboard() {
        const { keyboard } = navigator;
        if (!keyboard || !keyboard.lock) return;
        if (this.isActive && this.hasKeyboard && document.fullscreenElement) keyboard.lock().catch(() => {});
        else keyboard.unlock();
    }

    update() {
        if (this.isActive) root.dataset.controlling = this.hasKeyboard ? 'all' : 'pointer'; else delete root.dataset.controlling;
        element('control').textContent = this.isActive ? 'Give control back' : 'Control';
        element('control').title = this.isActive ? 'Give the control of this screen back' : 'Control this screen (R)';
        element('keyboard').hidden = !this.isActive || !isTouchScreen();
        const sentence = this.sentence();
        if (element('controller').textContent !== sentence) element('controller').textContent = sentence;
        element('controller').hidden = !sentence;
    }

    sentence() {
        if (this.isActive && this.hasKeyboard) {
            return 'You control this screen.' + (isTouchScreen() ? '' : ' Right Ctrl gives the keyboard back.');
        }
        if (this.isActive) return 'You control this screen with the pointer alone. A click on it takes the keyboard again.';
        if (this.inputs) return 'You can control this screen: press R.';
        return this.controller ? `${this.controller} controls this screen.` : '';
    }

    listenToPointer() {
        const listen = (kind, handle) => {
            window.addEventListener(kind, event => { if (this.isActive) handle(event); }, { capture: true, passive: false });
        };
        listen('pointerdown', event => this.pointerDown(event));
        listen('pointermove', event => this.pointerMove(event));
        listen('pointerup', event => { if (event.pointerType === 'touch') this.touch.up(event.pointerId); });
        listen('pointercancel', event => { if (event.pointerType === 'touch') this.touch.reset(); });
        listen('mousedown', event => this.mouseButton(event, true));
        listen('mouseup', event => this.mouseButton(event, false));
        listen('wheel', event => this.turnWheel(event));
        stage.addEventListener('pointerleave', () => this.edge.stop());
        for (const kind of ['contextmenu', 'auxclick', 'dblclick', 'dragstart']) {
            listen(kind, event => { if (isPictureElement(event.target)) this.take(event); });
        }
    }

    take(event) {
        event.preventDefault();
        event.stopPropagation();
    }

    pointerDown(event) {
        if (!isPictureElement(event.target)) return;
        this.keys.noteOtherInput(event);
        if (event.pointerType === 'touch') {
            showControls();
            this.touch.down(event.pointerId, stagePlace(event));
            return;
        }
        // It moves no picture.
        event.stopPropagation();
        stage.setPointerCapture(event.pointerId);
    }

    pointerMove(event) {
        if (event.pointerType === 'touch') return this.touch.moved(event.pointerId, stagePlace(event));
        if (!this.pressedButtons.size && !isPictureElement(event.target)) return;
        if (!isAtEdge(event)) event.stopPropagation();
        this.place = stagePlace(event);
        this.edge.at(this.place, { width: stage.clientWidth, height: stage.clientHeight });
        this.moveTo(this.place);
    }

    // Not at once: moves are joined.
    moveTo(place, isClamped = this.pressedButtons.size > 0) { if (this.addMove(place, isClamped)) this.throttle.request(); }

    // Whether the place is in the picture.
    addMove(place, isClamped) {
        const point = picturePoint(shownFrameRectangle(), place, isClamped);
        if (point) this.add({ move: point }, false);
        return point !== null;
    }

    mouseButton(event, isPressed) {
        const button = buttons[event.button];
        if (isPressed ? !isPictureElement(event.target) : !this.pressedButtons.has(button)) return;
        this.take(event);
        if (!button || !this.addMove(stagePlace(event), !isPressed)) return;
        if (isPressed && !this.hasKeyboard) this.takeKeyboard(true);
        if (isPressed) element('typing').focus({ preventScroll: true });
        if (isPressed) this.pressedButtons.add(button); else this.pressedButtons.delete(button);
        this.add({ button, pressed: isPressed }, true);
    }

    turnWheel(event) {
        if (!isPictureElement(event.target)) return;
        this.take(event);
        this.keys.noteOtherInput(event);
        this.turnBy(event, stagePlace(event), false);
    }

    // By two fingers, which what they touch follows.
    scroll({ x, y }, across, down) {
        const delta = { deltaX: -across / lineOfFingers, deltaY: -down / lineOfFingers, deltaMode: 1 };
        this.turnBy(delta, stagePlace({ clientX: x, clientY: y }), true);
    }

    turnBy(delta, place, isClamped) {
        const notches = this.wheel.add(delta);
        if (!notches) return;
        this.addMove(place, isClamped);
        this.add({ wheel: notches }, false);
        this.throttle.request();
    }

    listenToKeys() {
        const listen = (kind, handle) => window.addEventListener(kind, event => {
            // What the viewer writes in a line is for the page.
            if (!this.isActive || !this.hasKeyboard || event.target.tagName === 'INPUT') return;
            event.stopPropagation();
            handle(event);
        }, { capture: true });
        listen('keydown', event => { if (this.keys.down(event)) event.preventDefault(); });
        listen('keyup', event => {
            event.preventDefault();
            if (this.keys.up(event) !== 'alone') return;
            this.takeKeyboard(false);
            showControls();
        });
    }

    listenToText() {
        const typing = element('typing');
        const take = text => {
            if (this.isActive && this.hasKeyboard && text) this.keys.text(text);
            typing.value = '';
        };
        typing.addEventListener('compositionend', ({ data }) => take(data));
        typing.addEventListener('input', ({ data, inputType, isComposing }) => {
            if (isComposing) return;
            if (inputType === 'insertLineBreak' || inputType === 'insertParagraph') take('\n');
            else take(inputType === 'insertText' || inputType === 'insertReplacementText' ? data : '');
        });
    }

    listenToPage() {
        window.addEventListener('blur', () => this.releaseAll());
        document.addEventListener('visibilitychange', () => { if (document.hidden) this.releaseAll(); });
        document.addEventListener('focusin', event => { if (event.target.tagName === 'INPUT') this.releaseAll(); });
        document.addEventListener('fullscreenchange', () => this.lockKeyboard());
    }

    releaseAll() {
        if (!this.isActive) return;
        this.keys.releaseAll();
        this.touch.reset();
        for (const button of this.pressedButtons) this.add({ button, pressed: false }, true);
        this.pressedButtons.clear();
        // The timers of a page that is not seen are slow.
        this.throttle.flush();
    }

    // `isUrgent`: sends it at once, with what waits, unless something was sent a moment ago.
    add(input, isUrgent) {
        if (!this.inputs) return;
        this.inputs.add(input);
        if (isUrgent) this.throttle.request(frameInterval);
    }

    // In an outage nothing is kept for later, and the host releases what is pressed.
    send() {
        const { inputs } = this;
        if (!inputs || inputs.isEmpty) return;
        if (!this.canSend) return inputs.clear();
        this.sentAt = performance.now();
        for (const frame of inputs.take(this.sentAt)) this.messages.send(frame, frame.every(({ input }) => input.move));
    }

    sayAlive() {
        const now = performance.now();
        if (!this.inputs || !this.canSend || now - this.sentAt < aliveInterval) return;
        if (this.messages.send([this.inputs.alive(now)], true)) this.sentAt = now;
    }

    get canSend() { return this.messages.socket.isOpen && !('outage' in root.dataset); }

    watchFrames() {
        if (this.isWatchingFrames || !video.requestVideoFrameCallback) return;
        this.isWatchingFrames = true;
        watchFrames(true);
        video.requestVideoFrameCallback((_, { rtpTimestamp }) => {
            this.isWatchingFrames = false;
            if (this.right.value === 'no') return watchFrames(false);
            this.frame = Number.isSafeInteger(rtpTimestamp) ? rtpTimestamp : null;
            this.sealed = sealedFrame(rtpTimestamp);
            this.aim();
            this.watchFrames();
        });
    }
}
