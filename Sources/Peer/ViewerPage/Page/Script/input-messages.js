// The protocol's messages of control: numbered within a grant, with the viewer's time and the frame that it sees. Moves and notches of the
// wheel are joined until something else happens.

// A notch in the units of WheelEvent.deltaMode: pixels, lines, pages.
const notch = [100, 3, 1];
// A mouse's wheel that moves the page by fewer pixels at a notch.
const discreteStep = 40;
const mostNotches = 32;
// Messages in one frame.
export const inputsPerFrame = 32;

export class WheelNotches {
    constructor() { this.rest = [0, 0]; }

    // Whole notches, right and down; null if there is none yet.
    add({ deltaX, deltaY, deltaMode }) {
        const unit = notch[deltaMode] || notch[0];
        const notches = [deltaX, deltaY].map((delta, axis) => {
            if (!Number.isFinite(delta) || delta === 0) return 0;
            if (this.rest[axis] * delta < 0) this.rest[axis] = 0;
            // In browsers that scroll by less than 100 pixels at a notch.
            const isDiscrete = !deltaMode && Math.abs(delta) >= discreteStep && Number.isInteger(delta);
            const sum = this.rest[axis] + (isDiscrete ? Math.sign(delta) * Math.max(Math.round(Math.abs(delta) / unit), 1) : delta / unit);
            const whole = Math.trunc(sum);
            this.rest[axis] = sum - whole;
            return Math.min(Math.max(whole, -mostNotches), mostNotches);
        });
        return notches.some(Boolean) ? notches : null;
    }
}

export class InputMessages {
    // `grant` is the host's number.
    constructor(grant) {
        this.grant = grant;
        this.count = 0;
        // The RTP timestamp of the frame that is shown; null if the browser does not tell it.
        this.frame = null;
        // The same of a frame that comes over a relay (see `sealedFrame`).
        this.sealed = null;
        this.pending = [];
    }

    get isEmpty() { return !this.pending.length; }

    add(input) {
        const last = this.pending[this.pending.length - 1];
        if (last && input.move && last.move) last.move = input.move;
        else if (last && input.wheel && last.wheel) {
            last.wheel = last.wheel.map((notches, axis) => Math.min(Math.max(notches + input.wheel[axis], -mostNotches), mostNotches));
        } else this.pending.push({ ...input });
    }

    // Of what has happened, in frames of 32 messages at most.
    take(now) {
        const messages = this.pending.map(input => ({ ...this.next(now), input }));
        this.pending = [];
        const frames = [];
        for (let i = 0; i < messages.length; i += inputsPerFrame) frames.push(messages.slice(i, i + inputsPerFrame));
        return frames;
    }

    // Says that this viewer is there.
    alive(now) { return this.next(now); }

    clear() { this.pending = []; }

    next(now) {
        const message = { type: 'input', grant: this.grant, count: ++this.count, time: Math.round(now) };
        if (this.sealed !== null) message.sealed = this.sealed;
        else if (this.frame !== null) message.frame = this.frame;
        return message;
    }
}
