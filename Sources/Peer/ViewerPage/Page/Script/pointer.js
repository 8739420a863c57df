// Points at something in the picture: the mouse or a finger is shown to all, a click as a ring, and a drag as a line.

import { showControls } from './controls.js';
import { element, isPictureElement, root, stage } from './elements.js';
import { picturePoint } from './picture-point.js';
import { PointerBatch } from './pointer-batch.js';
import { RightRequest } from './right-request.js';
import { Throttle } from './throttle.js';
import { reservePicture, shownFrameRectangle } from './touch-gestures.js';

// The host takes 30 a second.
const pointerInterval = 34;
// From where on a press is a drag, in CSS pixels.
const dragSlop = { mouse: 4, pen: 6, touch: 10 };

export function stagePlace(event) {
    const { left, top } = stage.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
}

// A mouse in the picture does not show the bar, which would hide the lower part of it. At these edges of the page it does.
export function isAtEdge({ clientY }) { return clientY < 2 || clientY > window.innerHeight - 3; }

export class Pointer {
    // `onBegin`: called when this begins.
    constructor({ messages, layer, tell, onBegin }) {
        Object.assign(this, { messages, layer, tell, onBegin });
        this.right = new RightRequest('point', {
            question: 'The host is asked whether you may point.', refusal: 'The host did not allow you to point.',
        }, { messages, tell, onGranted: () => this.begin() });
        this.isOn = false;
        this.batch = new PointerBatch();
        this.throttle = new Throttle(pointerInterval, () => this.send());
        // A button or finger that is down: { id, from, isDrawing }.
        this.press = null;
        // Whether the host has this pointer in the picture.
        this.isShown = false;
        element('point').onclick = () => this.toggle();
        this.listen();
    }

    // What the host says. `id` is this viewer's number among the pointers.
    setRight(value, isAnswer, id) {
        this.right.set(value, isAnswer);
        element('point').hidden = this.right.value === 'no';
        this.layer.setOwn(this.right.value === 'yes' && Number.isSafeInteger(id) ? id : null);
        // The host takes no word of it any more.
        if (this.right.value !== 'yes') this.setOn(false);
    }

    toggle() {
        if (this.isOn) this.stop();
        else if (this.right.value === 'yes') this.begin();
        else this.right.ask();
    }

    begin() {
        if (this.isOn) return;
        this.messages.openSocket();
        this.onBegin();
        this.setOn(true);
    }

    stop() {
        if (!this.isOn) return;
        this.leave();
        this.setOn(false);
    }

    setOn(isOn) {
        if (this.isOn === isOn) return;
        this.isOn = isOn;
        this.press = null;
        if (!isOn && this.right.value !== 'yes') this.batch.take();
        this.isShown = isOn && this.isShown;
        if (isOn) root.dataset.pointing = ''; else delete root.dataset.pointing;
        element('point').setAttribute('aria-pressed', String(isOn));
        reservePicture(isOn);
    }

    end() {
        this.right.end();
        this.setOn(false);
        element('point').hidden = true;
    }

    listen() {
        const listen = (kind, handle) => window.addEventListener(kind, event => { if (this.isOn) handle(event); }, { capture: true });
        listen('pointerdown', event => this.down(event));
        listen('pointermove', event => this.move(event));
        listen('pointerup', event => this.up(event));
        listen('pointercancel', () => { this.press = null; });
        // A double click is two rings, and not full screen.
        listen('dblclick', event => { if (isPictureElement(event.target)) event.stopPropagation(); });
        stage.addEventListener('pointerleave', () => { if (this.isOn && !this.press) this.leave(); });
    }

    point(event, isClamped = false) { return picturePoint(shownFrameRectangle(), stagePlace(event), isClamped); }

    down(event) {
        if (!isPictureElement(event.target) || event.button) return;
        if (event.pointerType === 'touch') {
            showControls();
            // A second finger zooms.
            if (this.press || !event.isPrimary) {
                this.press = null;
                return;
            }
        } else {
            // It moves no picture.
            event.stopPropagation();
        }
        const point = this.point(event);
        if (!point) return;
        stage.setPointerCapture(event.pointerId);
        this.press = { id: event.pointerId, from: event, point, isDrawing: false };
        // Another kind than a line's, so that the next line is another one.
        this.add('move', [point]);
    }

    move(event) {
        const { press } = this;
        if (press && press.id === event.pointerId) return this.drag(event);
        if (event.pointerType === 'touch') return;
        const point = isPictureElement(event.target) ? this.point(event) : null;
        if (!point) return this.leave();
        if (!isAtEdge(event)) event.stopPropagation();
        this.add('move', [point]);
    }

    drag(event) {
        const { press } = this;
        if (!press.isDrawing) {
            const distance = Math.hypot(event.clientX - press.from.clientX, event.clientY - press.from.clientY);
            if (distance < (dragSlop[event.pointerType] || dragSlop.mouse)) return;
            press.isDrawing = true;
            this.add('draw', [press.point]);
        }
        const coalesced = event.getCoalescedEvents ? event.getCoalescedEvents() : [];
        const points = (coalesced.length ? coalesced : [event]).map(each => this.point(each, true)).filter(Boolean);
        if (points.length) this.add('draw', points);
    }

    up(event) {
        const { press } = this;
        if (!press || press.id !== event.pointerId) return;
        this.press = null;
        this.add(press.isDrawing ? 'move' : 'click', [press.isDrawing ? this.point(event, true) || press.point : press.point]);
    }

    add(kind, points) {
        this.batch.add(kind, points);
        this.isShown = true;
        this.layer.showOwn(kind, points);
        this.throttle.request();
    }

    leave() {
        if (!this.isShown) return;
        this.batch.add('leave');
        this.isShown = false;
        this.throttle.request();
    }

    // What cannot be sent now is not sent later.
    send() { if (!this.batch.isEmpty) this.messages.send(this.batch.take(), true); }
}
