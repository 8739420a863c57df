// The requests to the host: knock, WHEP session (RFC 9725 and draft-ietf-wish-whep), events (Docs/internals/protocol.md).

import { EventStreamParser } from './event-stream.js';
import { parseProblem } from './problem.js';
import { SessionEnd, tryLater } from './session-end.js';

export async function problemOf(answer) { return parseProblem(await answer.text()); }

export class SignalingClient {
    // `instance` tells this page from another one with the same certificate. `signal` aborts all that waits.
    // `link.base`: what the paths begin with, on the page of `share join --browser`.
    constructor(link, instance, signal) {
        this.broadcast = `${link.base || ''}/${link.id}`;
        this.instance = instance;
        this.signal = signal;
        this.bearer = null;
        this.socketProtocols = [];
        // Of a knock, until the host has decided.
        this.ticket = null;
        // Of the session.
        this.resource = null;
        this.etag = null;
    }

    set token(token) {
        this.bearer = { Authorization: 'Bearer ' + token };
        // A page cannot set headers of a WebSocket.
        this.socketProtocols = ['share.messages.1', 'bearer.' + token];
    }

    // Fails with a `SessionEnd` when there is no answer within 30 s: the host holds a poll for 20 s.
    async request(path, options) {
        const limit = new AbortController(), stop = () => limit.abort(), timer = setTimeout(stop, 30000);
        this.signal.addEventListener('abort', stop);
        try {
            if (this.signal.aborted) stop();
            return await fetch(path, { cache: 'no-store', signal: limit.signal, redirect: 'error', ...options });
        } catch (error) {
            if (this.signal.aborted) throw error;
            throw new SessionEnd('error', 'The host cannot be reached.', 'It may have stopped sharing, or the network is down. ' + tryLater);
        } finally {
            clearTimeout(timer);
            this.signal.removeEventListener('abort', stop);
        }
    }

    // Fails when there is no answer within 3 s, or as `options.signal` says.
    requestSoon(path, options) {
        return fetch(path, { cache: 'no-store', redirect: 'error', signal: AbortSignal.timeout(3000), ...options });
    }

    sendJSON(method, path, body) {
        return this.request(path, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    }

    knock(body) { return this.sendJSON('POST', `${this.broadcast}/knock`, body); }

    // Sends an offer; `isSoon` as in `requestSoon`.
    sendOffer(sdp, isSoon) {
        const headers = { 'Content-Type': 'application/sdp', 'Share-Visit': this.instance, ...this.bearer };
        const options = { method: 'POST', headers, body: sdp };
        return isSoon ? this.requestSoon(`${this.broadcast}/whep`, options) : this.request(`${this.broadcast}/whep`, options);
    }

    // The session's address, from the answer to an offer.
    sessionOpened(answer) {
        this.resource = answer.headers.get('Location');
        this.etag = answer.headers.get('ETag');
    }

    // Sends candidates. A host that takes none, or these no more (412), finds ours by their checks. Throws if it is busy.
    async sendCandidates(fragment) {
        const headers = { 'Content-Type': 'application/trickle-ice-sdpfrag', ...this.bearer };
        if (this.etag) headers['If-Match'] = this.etag;
        const answer = await this.requestSoon(this.resource, { method: 'PATCH', headers, body: fragment });
        if (answer.status === 429 || answer.status === 503) throw new Error('busy');
    }

    // Sends an ICE restart (RFC 9725 section 4.4). Null if the host takes none, otherwise its fragment.
    async restartICE(fragment, signal) {
        const headers = { 'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': '*', ...this.bearer };
        const answer = await this.requestSoon(this.resource, { method: 'PATCH', headers, body: fragment, signal });
        if (answer.status !== 200) return null;
        const remote = await answer.text();
        this.etag = answer.headers.get('ETag');
        return remote;
    }

    // The ICE servers with credentials from now on; null if the host does not tell them.
    async iceServers() {
        const answer = await this.requestSoon(`${this.broadcast}/servers`, { headers: this.bearer });
        return answer.status === 200 ? (await answer.json()).iceServers : null;
    }

    // Asks for the keys of now of the sealed media.
    askForKeys() { return this.requestSoon(`${this.broadcast}/keys`, { method: 'POST', headers: this.bearer }); }

    // Says something to the host.
    say(messages) {
        const headers = { 'Content-Type': 'application/json', ...this.bearer };
        return this.requestSoon(`${this.broadcast}/messages`, { method: 'POST', headers, body: JSON.stringify({ messages }) });
    }

    // The WebSocket of messages.
    openMessageSocket() {
        const { protocol, host } = location;
        return new WebSocket(`${protocol === 'http:' ? 'ws' : 'wss'}://${host}${this.broadcast}/messages`, this.socketProtocols);
    }

    // The same over a relay: base64url of what only the host can read.
    saySealed(sealed) {
        const headers = { 'Content-Type': 'application/json', ...this.bearer };
        return this.requestSoon(`${this.broadcast}/messages`, { method: 'POST', headers, body: JSON.stringify({ sealed }) });
    }

    // Whether the host answers at all; fails if not.
    ping() { return this.requestSoon(this.resource, { headers: this.bearer }); }

    openEvents(signal) {
        return this.requestSoon(`${this.broadcast}/events`, { headers: { Accept: 'text/event-stream', ...this.bearer }, signal });
    }

    // Calls `onEvent` until the stream ends.
    async readEvents(answer, onEvent) {
        const reader = answer.body.getReader(), decoder = new TextDecoder(), parser = new EventStreamParser();
        for (;;) {
            const { value, done } = await reader.read();
            if (done || this.signal.aborted) return;
            for (const event of parser.push(decoder.decode(value, { stream: true }))) onEvent(event);
        }
    }

    // Closes a session that another one has replaced.
    closeFormer(resource) { this.requestSoon(resource, { method: 'DELETE', headers: this.bearer }).catch(() => {}); }

    // Nobody takes requests any more.
    forgetSession() { this.ticket = this.resource = null; }

    // Withdraws a knock, also while the page is unloaded.
    withdraw() {
        if (this.ticket) this.remove(this.ticket, {});
        this.ticket = null;
    }

    remove(path, headers) { fetch(path, { method: 'DELETE', headers, redirect: 'error', keepalive: true }).catch(() => {}); }

    // Closes the session, too, also while the page is unloaded.
    leave() {
        this.withdraw();
        if (this.resource) this.remove(this.resource, this.bearer);
        this.resource = null;
    }
}
