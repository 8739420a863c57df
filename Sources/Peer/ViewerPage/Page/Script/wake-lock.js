// The display stays on while a broadcast plays: a telephone turns it off where nobody touches it (W3C Screen Wake Lock).

import { root } from './elements.js';

// Whether somebody looks at a picture that may change.
const isWatched = () => root.dataset.state === 'playing' && !('paused' in root.dataset) && !document.hidden;

export class WakeLock {
    constructor() {
        this.lock = null;
        this.isRequested = false;
    }

    // Asks for the lock while it is wanted, and gives it back otherwise. Browsers take it back themselves where the page is hidden.
    async update() {
        if (!isWatched()) {
            const { lock } = this;
            this.lock = null;
            if (lock) await lock.release();
        } else if (!this.lock && !this.isRequested && navigator.wakeLock) {
            this.isRequested = true;
            try {
                const lock = this.lock = await navigator.wakeLock.request('screen');
                lock.addEventListener('release', () => { if (this.lock === lock) this.lock = null; });
            } catch { /* Refused, as with an empty battery: asked again when the page is looked at again, or plays again. */ }
            this.isRequested = false;
            if (!isWatched()) await this.update();
        }
    }
}

export function setUpWakeLock() {
    const lock = new WakeLock();
    const update = () => { lock.update(); };
    new MutationObserver(update).observe(root, { attributes: true, attributeFilter: ['data-state', 'data-paused'] });
    document.addEventListener('visibilitychange', update);
}
