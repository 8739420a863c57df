// What this viewer and its host say to each other over a relay, encrypted with the keys of the admission, and what the host tells all
// viewers (Docs/internals/protocol.md, "Messages over a relay").

import { concatenate, decodeBase64URL, encodeBase64URL, utf8 } from './bytes.js';
import { EventStreamParser } from './event-stream.js';
import { renewAdmission } from './knock.js';
import { openMessage } from './sealed-media.js';
import { SealedSocket } from './sealed-socket.js';
import { SignalingClient } from './signaling-client.js';

// Events that count only where no relay can have made them up.
const sealedTypes = ['comment', 'rights', 'pointers', 'control'];
const headerLength = 12, windowLength = 1024n;

async function messageKey(text, usage) {
    return crypto.subtle.importKey('raw', decodeBase64URL(text), 'AES-GCM', false, [usage]);
}

// What a WebSocket brings has this as associated data, so that a relay cannot repeat it as a request.
const socketData = utf8('socket');

// counter (8) | instance (4) | ciphertext | tag (16)
export async function sealMessage(text, key, counter, instance, additionalData = new Uint8Array()) {
    const head = new Uint8Array(8);
    new DataView(head.buffer).setBigUint64(0, BigInt(counter));
    const iv = concatenate(instance, head);
    const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData }, await messageKey(key, 'encrypt'), utf8(text));
    return concatenate(head, instance, new Uint8Array(sealed));
}

// { counter, text }; fails if the owner of the key has not made that.
export async function openBox(box, key) {
    const head = box.subarray(0, 8), iv = concatenate(box.subarray(8, headerLength), head);
    const opened = await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, await messageKey(key, 'decrypt'), box.subarray(headerLength));
    const counter = new DataView(box.buffer, box.byteOffset, 8).getBigUint64(0);
    return { counter, text: new TextDecoder().decode(opened) };
}

// The counters of the boxes that were opened, which come over the host and over relays, so in another order perhaps.
export class MessageWindow {
    constructor() {
        this.newest = -1n;
        this.seen = new Set();
    }

    // False if the message came before, or is older than the newest 1024.
    takes(counter) {
        if (counter <= this.newest - windowLength || this.seen.has(counter)) return false;
        this.seen.add(counter);
        if (counter > this.newest) this.newest = counter;
        for (const old of this.seen) if (old <= this.newest - windowLength) this.seen.delete(old);
        return true;
    }
}

export class SealedMessages {
    constructor(session) {
        this.session = session;
        this.instance = crypto.getRandomValues(new Uint8Array(4));
        // Of the admission whose boxes the window has.
        this.key = '';
        this.window = new MessageWindow();
        this.rightsCounter = -1n;
        // One message after the other, and one event after the other.
        this.saying = this.opening = Promise.resolve();
    }

    // Where the host is.
    get home() { return this.session.handover.home || this.session; }

    get isOverRelay() { return Boolean(this.home.link.isOverRelay); }

    // What says something to the host.
    get speaker() {
        return this.isOverRelay
            ? { say: messages => this.say(messages), openMessageSocket: () => this.openSocket() } : this.session.client;
    }

    // Says something to the host; the answer is that of the host, or of the relay.
    say(messages) {
        const said = this.saying.then(() => this.sayNow(messages));
        this.saying = said.catch(() => {});
        return said;
    }

    async sayNow(messages) {
        const { session, home, client } = this;
        const answer = await this.sayBy(client, home, messages);
        if (answer.status !== 401 || home === session) return answer;
        // The token has ended.
        const { seal } = await renewAdmission(session, home, client);
        if (!seal || session.isOver) return answer;
        return this.sayBy(client, home, messages);
    }

    // Of the session, or one for the host while the session is at another server.
    get client() {
        const { session, home } = this;
        if (home === session) return session.client;
        const client = new SignalingClient(home.link, session.client.instance, session.abort.signal);
        client.token = home.admissions.current.token;
        return client;
    }

    async sayBy(client, { admissions }, messages) {
        const { seal } = admissions.current;
        if (!seal || !seal.messages) return client.say(messages);
        return client.saySealed(await this.seal(JSON.stringify({ messages }), seal, admissions));
    }

    // base64url of what only the host can read.
    async seal(text, seal, admissions, additionalData = new Uint8Array()) {
        // Also above those of this tab before a reload.
        seal.said = Math.max((seal.said || 0) + 1, Date.now() * 1000);
        // Each input of a socket is not worth it: the clock goes on.
        if (this.session.identity.isStored && additionalData !== socketData) admissions.save();
        return encodeBase64URL(await sealMessage(text, seal.messages.toHost, seal.said, this.instance, additionalData));
    }

    // A socket is for one admission. Fails if the host cannot read what passes its relay encrypted.
    openSocket() {
        const { home: { admissions }, client } = this, { seal } = admissions.current;
        if (!seal || !seal.messages) throw new Error('no keys');
        return new SealedSocket(
            client.openMessageSocket(), text => this.seal(text, seal, admissions, socketData), () => this.say([]),
        );
    }

    // Calls `take` with the events that the host has made, in their order. False for an event that this does not concern.
    handle(event, take) {
        const isSealed = event.type === 'sealed' || event.type === 'sealedrights';
        // A relay could have made it up.
        if (!isSealed) return sealedTypes.includes(event.type) && this.isOverRelay;
        if (this.isOverRelay) this.opening = this.opening.then(() => this.open(event, take)).catch(() => {});
        return true;
    }

    async open({ box, frame }, take) {
        const text = typeof box === 'string' ? await this.openBox(box) : typeof frame === 'string' ? await this.openFrame(frame) : null;
        if (text === null || this.session.isOver) return;
        for (const event of new EventStreamParser().push(text.text)) {
            if (!event || !sealedTypes.includes(event.type)) continue;
            if (event.type === 'rights') {
                if (text.counter < this.rightsCounter) continue;
                this.rightsCounter = text.counter;
            }
            take(event);
        }
    }

    async openBox(text) {
        const { seal } = this.home.admissions.current;
        if (!seal || !seal.messages) return null;
        const key = seal.messages.toViewer, opened = await openBox(decodeBase64URL(text), key);
        if (key !== this.key) [this.key, this.window, this.rightsCounter] = [key, new MessageWindow(), -1n];
        return this.window.takes(opened.counter) ? opened : null;
    }

    async openFrame(text) {
        if (!this.session.handover.home) return null;
        const { result, bytes } = await openMessage(decodeBase64URL(text));
        if (result === 'unknownKey') this.session.handover.frameKeys.request();
        return result === 'opened' ? { counter: 0n, text: new TextDecoder().decode(bytes) } : null;
    }
}
