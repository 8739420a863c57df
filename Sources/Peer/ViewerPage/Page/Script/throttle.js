// Calls something at most once in an interval: at once if the last call is long enough ago, otherwise when the interval is over.

export class Throttle {
    // In milliseconds.
    constructor(interval, call) {
        Object.assign(this, { interval, call });
        this.timer = this.dueAt = null;
        this.calledAt = -Infinity;
    }

    // `interval`: another one for this call. The earlier call is made if two are requested.
    request(interval = this.interval) {
        const dueAt = this.calledAt + interval;
        if (this.timer !== null && this.dueAt <= dueAt) return;
        this.cancel();
        this.dueAt = dueAt;
        const wait = dueAt - performance.now();
        if (wait <= 0) return this.flush();
        this.timer = setTimeout(() => {
            this.timer = null;
            this.flush();
        }, wait);
    }

    // Calls it now.
    flush() {
        this.cancel();
        this.calledAt = performance.now();
        this.call();
    }

    cancel() {
        if (this.timer !== null) clearTimeout(this.timer);
        this.timer = null;
    }
}
