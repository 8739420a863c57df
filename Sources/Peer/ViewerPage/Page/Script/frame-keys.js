// The keys of sealed media that come while the session is at another server: those of a new epoch as an event there, and those of now
// by request from the host (Docs/internals/protocol.md, "Sealed media").

import { decodeBase64URL } from './bytes.js';
import { openEventKeys, openKeys, parseKeys } from './key-agreement.js';
import { renewAdmission } from './knock.js';
import { giveKeys } from './sealed-media.js';
import { SessionEnd } from './session-end.js';
import { SignalingClient } from './signaling-client.js';

// From one request to the next, in milliseconds; doubled while they do not help.
const requestWaits = { shortest: 1000, longest: 30000 };

// The newest epoch of what a host has handed over.
function newestEpoch({ secret, epoch: ofSecret, keys }) { return secret ? ofSecret : Math.max(-1, ...keys.map(({ epoch }) => epoch)); }

export class FrameKeys {
    // `now`: a clock in milliseconds.
    constructor(handover, now = () => performance.now()) {
        this.handover = handover;
        this.now = now;
        // The text of the newest event that is not opened yet.
        this.waiting = null;
        this.isOpening = this.isAsking = false;
        // The newest epoch whose keys the worker has got from here, and its run as text.
        this.given = { run: '', epoch: -1 };
        // How many requests have ended since new keys opened a frame, and when the last one has.
        this.requests = 0;
        this.askedAt = -Infinity;
        // Of the request that is under way.
        this.abort = new AbortController();
    }

    // Takes the text of an event. One event is opened at a time, and of those that come meanwhile the newest.
    handle(wrap) {
        const { home, session } = this.handover;
        if (!home || !session.sealedMedia || session.isOver || typeof wrap !== 'string') return;
        this.waiting = wrap;
        if (!this.isOpening) this.openWaiting();
    }

    async openWaiting() {
        this.isOpening = true;
        while (this.waiting !== null) {
            const wrap = this.waiting;
            this.waiting = null;
            await this.openEvent(wrap).catch(() => {});
        }
        this.isOpening = false;
    }

    async openEvent(wrap) {
        const { home } = this.handover;
        if (!home) return;
        const { seal } = home.admissions.current;
        const keys = await openEventKeys(wrap, decodeBase64URL(seal.wrapKey), decodeBase64URL(seal.run));
        // Epochs only rise, so an event that a server repeats is no work for the worker.
        const isNewer = keys && (seal.run !== this.given.run || newestEpoch(keys) > this.given.epoch);
        if (isNewer) this.give(keys, home, seal);
    }

    // `home`: where the host is, whose `seal` may have been replaced while the keys were opened.
    give(keys, { link, admissions }, seal) {
        const { current } = admissions, { given } = this;
        if (!current || current.seal !== seal || this.handover.session.isOver) return;
        this.given = { run: seal.run, epoch: Math.max(newestEpoch(keys), seal.run === given.run ? given.epoch : -1) };
        giveKeys({ ...keys, id: link.id });
    }

    // Frames of an epoch without keys were dropped. Asks the host for its keys, unless it was asked a short while ago.
    async request() {
        const { session, home, isBusy } = this.handover;
        // At home the session needs no keys; before its first time elsewhere the host is where the session is.
        if (this.isAsking || session.isOver || home && isBusy || this.now() - this.askedAt < this.wait) return;
        this.isAsking = true;
        const abort = this.abort = new AbortController(), stop = () => abort.abort(), place = home || session;
        session.abort.signal.addEventListener('abort', stop);
        const client = new SignalingClient(place.link, session.client.instance, abort.signal);
        try {
            await this.ask(place, client);
        } catch (error) {
            // The host has decided on this viewer, so it is not asked again and again.
            if (error instanceof SessionEnd && error.state !== 'error' && !abort.signal.aborted) session.end(error);
        }
        session.abort.signal.removeEventListener('abort', stop);
        client.leave();
        this.requests++;
        this.askedAt = this.now();
        this.isAsking = false;
    }

    get wait() { return Math.min(requestWaits.shortest * 2 ** Math.max(this.requests - 1, 0), requestWaits.longest); }

    // A frame was opened with keys that are new.
    noteUse() { this.requests = 0; }

    // Ends the request that is under way: the session goes back to the host.
    stop() { this.abort.abort(); }

    async ask(home, client) {
        const { token, seal } = home.admissions.current;
        client.token = token;
        const answer = await client.askForKeys();
        if (client.signal.aborted) return;
        if (answer.status === 401) {
            // The token has ended.
            const { seal: renewed } = await renewAdmission(this.handover.session, home, client);
            if (renewed && !client.signal.aborted) this.give(parseKeys(decodeBase64URL(renewed.keys)), home, renewed);
        }
        if (answer.status !== 200) return;
        const { keys } = await answer.json();
        const bytes = await openKeys(keys, decodeBase64URL(seal.wrapKey), decodeBase64URL(seal.run));
        if (bytes) this.give(parseKeys(bytes), home, seal);
    }
}
