// Calls something at most once in an interval: at once if the last call is long enough ago, otherwise when the interval is over.

export class Throttle {
    // In milliseconds.
    constructor(interval, call) {
        Object.assign(this, { interval, call });
        this.timer = null;
        this.calledAt = -Infinity;
    }

    request() {
        if (this.timer !== null) return;
        const wait = this.calledAt + this.interval - performance.now();
        if (wait <= 0) this.flush();
        else this.timer = setTimeout(() => this.flush(), wait);
    }

    // Calls it now.
    flush() {
        this.cancel();
        this.calledAt = performance.now();
        this.call();
    }

    cancel() {
        clearTimeout(this.timer);
        this.timer = null;
    }
}
