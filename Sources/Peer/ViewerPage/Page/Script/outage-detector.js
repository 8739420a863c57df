// Decides from received bytes and the event stream whether the host is reachable. Times are in milliseconds, of one clock.

// Silence that counts as an outage; the host sends a report at least each second.
const outageLimit = 3000;
// The same, if the event stream or the network state also indicates an outage.
const suspectedOutageLimit = 1500;
// Silence after which the session ends.
const endLimit = 30000;
const suspicionLifetime = 10000;

export class OutageDetector {
    constructor(isOnline) {
        // The connection that was heard last, and what each of its counters said.
        this.connection = null;
        this.counters = new Map();
        this.hasHeard = false;
        this.silence = 0;
        this.sampledAt = 0;
        this.heardAt = null;
        this.suspectedAt = -Infinity;
        // Of the event stream.
        this.refusals = 0;
        this.brokenAt = null;
        this.wasOnline = isOnline;
    }

    begin(connection, now) {
        this.connection = connection;
        this.sampledAt = now;
    }

    // The browser reports another network, or that connectivity checks get no answer.
    suspect(now) { this.suspectedAt = now; }

    eventStreamOpened() { this.refusals = 0; }
    eventStreamBroke(now) { this.brokenAt = now; }
    // `isFast`: with an answer, rather than none.
    eventStreamFailed(isFast) { this.refusals = isFast ? this.refusals + 1 : 0; }

    // Whether entries of `getStats` show that something was received since the last call.
    hasReceived(entries, connection) {
        const isKnown = connection === this.connection;
        let hasReceived = false;
        for (const entry of entries) {
            // On a new connection only media proves that it works.
            const count = entry.type === 'inbound-rtp' ? entry.packetsReceived
                : entry.type === 'candidate-pair' && isKnown ? entry.bytesReceived : undefined;
            if (!(count > (isKnown && this.counters.get(entry.id) || 0))) continue;
            this.counters.set(entry.id, count);
            hasReceived = true;
        }
        return hasReceived;
    }

    // `reachable`, `silent` (not long enough to tell), `outage` or `ended`.
    update(hasReceived, connection, now, isOnline) {
        // A suspended page has not listened.
        const elapsed = Math.min(now - this.sampledAt, suspectedOutageLimit);
        this.sampledAt = now;
        if (hasReceived) {
            this.connection = connection;
            this.hasHeard = true;
            this.heardAt = now;
            this.silence = 0;
            return 'reachable';
        }
        this.silence += elapsed;
        if (!this.hasHeard) return 'reachable';
        if (this.silence >= endLimit) return 'ended';
        const isSuspected = this.isHostRefusing(isOnline) || now - this.suspectedAt < suspicionLifetime;
        return this.silence < (isSuspected ? suspectedOutageLimit : outageLimit) ? 'silent' : 'outage';
    }

    // The host closed the event stream when its media ended, which an outage does not do, and refuses new connections.
    isHostRefusing(isOnline) {
        return isOnline === this.wasOnline && this.refusals >= 3 && this.brokenAt !== null
            && Math.abs(this.brokenAt - this.heardAt) < 1500;
    }
}
