// Detects an outage and ends it: an ICE restart first, then another session with the same token. Nobody is asked again.

import { showPause } from './broadcast-pause.js';
import { delay } from './delay.js';
import { OutageDetector } from './outage-detector.js';
import { countHostCandidates } from './peer-connection.js';
import { SessionEnd } from './session-end.js';
import { markOutage, showNotice } from './view.js';

// Between two questions whether the host answers, in milliseconds.
const questionInterval = 700;

// Waits for `milliseconds` at most, and only while the condition holds.
async function delayWhile(holds, milliseconds) {
    const until = performance.now() + milliseconds;
    while (holds() && performance.now() < until) await delay(100);
}

export class Reconnection {
    constructor(session) {
        this.session = session;
        this.detector = new OutageDetector(navigator.onLine);
        this.isInterrupted = this.isRecovering = false;
        // While the host was reachable.
        this.usualHostCandidates = 0;
    }

    noteHostCandidates(count) {
        if (!this.isInterrupted) this.usualHostCandidates = Math.max(this.usualHostCandidates, count);
    }

    suspect() { this.detector.suspect(performance.now()); }

    // Until the session is over.
    async watch() {
        const { session, detector } = this, signal = session.abort.signal;
        for (const kind of ['online', 'offline']) window.addEventListener(kind, () => this.suspect(), { signal });
        if (navigator.connection) navigator.connection.addEventListener('change', () => this.suspect(), { signal });
        detector.begin(session.peer, performance.now());
        while (!session.isOver) {
            await delay(250);
            if (session.isOver) return;
            const peer = session.peer;
            if (session.handover.isReturning) {
                detector.begin(peer, performance.now());
                continue;
            }
            let hasReceived = false;
            try { hasReceived = detector.hasReceived((await peer.pc.getStats()).values(), peer); } catch { /* It was closed meanwhile. */ }
            if (session.isOver) return;
            const state = detector.update(hasReceived && peer === session.peer, peer, performance.now(), navigator.onLine);
            if (state === 'ended') return session.endWithoutHost('Nothing came from the host for 30 s. The host or the network is down.');
            if (state === 'reachable' && this.isInterrupted) this.resumed();
            if (state !== 'outage') continue;
            showNotice('Connection lost, trying again ...', ` ${Math.floor(detector.silence / 1000)} s`);
            if (this.isInterrupted) continue;
            this.isInterrupted = true;
            markOutage(true);
            this.recover();
        }
    }

    resumed() {
        this.isInterrupted = false;
        markOutage(false);
        showNotice('');
        showPause(this.session.hold, this.session.isInactive);
        // The event stream may be dead without knowing it.
        this.session.reopenEvents();
    }

    // Tries until the host is heard again.
    async recover() {
        if (this.isRecovering) return;
        this.isRecovering = true;
        const { session } = this, isNeeded = () => this.isInterrupted && !session.isOver;
        let canRestart = true, isFirst = true;
        while (isNeeded()) {
            let patience = 300;
            try {
                // The first attempt finds a host that another address of this machine already reaches.
                if (!isFirst && !await this.hostAnswers(isNeeded)) break;
                const signal = AbortSignal.timeout(isFirst ? 1000 : 3000);
                isFirst = false;
                const exchange = fragment => session.client.restartICE(fragment, signal);
                const isRestarted = canRestart && await session.peer.restart(exchange);
                canRestart = false;
                if (!isRestarted && isNeeded()) {
                    await session.rejoin();
                    // The host's later candidates come as events.
                    if (this.isInterrupted) session.reopenEvents();
                }
                patience = isRestarted ? 3000 : 4000;
            } catch (error) {
                if (session.isOver) break;
                if (error instanceof SessionEnd) session.end(error);
                else await this.endIfHostIsGone();
            }
            await delayWhile(isNeeded, patience);
        }
        this.isRecovering = false;
    }

    // Waits until the host answers. Asks again and again without waiting for the answers of before: a connection that the outage
    // has cut repeats what it lost only after seconds. False if that is not needed any more.
    async hostAnswers(isNeeded) {
        let hasAnswered = false;
        const isSilent = () => isNeeded() && !hasAnswered;
        while (isSilent()) {
            this.session.client.ping().then(() => { hasAnswered = true; }, () => {});
            await delayWhile(isSilent, questionInterval);
            if (isSilent()) await this.endIfHostIsGone();
        }
        return isNeeded();
    }

    // Ends the session if the host refuses, and this machine has as many addresses as before: its network works.
    async endIfHostIsGone() {
        const isRefusing = () => this.detector.isHostRefusing(navigator.onLine);
        if (!isRefusing()) return;
        const count = await countHostCandidates(this.usualHostCandidates);
        if (this.isInterrupted && isRefusing() && count >= this.usualHostCandidates) {
            this.session.endWithoutHost('The host has gone: it no longer answers.');
        }
    }
}
