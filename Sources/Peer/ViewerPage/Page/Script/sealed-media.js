// The sealed media of a server other than the host: each receiver has a transform (W3C WebRTC Encoded Transform) in the page's one
// worker (seal-worker.js), which has the keys.

import { decodeBase64URL } from './bytes.js';
import { delay } from './delay.js';
import { parseKeys } from './key-agreement.js';
import { pageBase } from './local-page.js';

// How long the worker may take to tell a count, in milliseconds.
const countLimit = 2000;

// Frames of video whose numbers are known.
const frameLimit = 128;

let worker = null, lastID = 0, lastMessage = 0;
// What the worker has to open, by numbers.
const openings = new Map();
// By their IDs.
const receivers = new Map();
// The numbers of frames of video by their RTP timestamps, the newest last, while they are watched.
const frames = new Map();
let isWatching = false;

function openWorker() {
    if (worker) return;
    worker = new Worker(`${pageBase()}/_/seal-worker.js`);
    if (isWatching) worker.postMessage({ watch: true });
    worker.onmessage = ({ data }) => {
        if (data.message) return messageOpened(data.message);
        if (data.frame) return noteFrame(data.frame);
        const receiver = receivers.get(data.id);
        if (receiver) receiver.handle(data);
    };
}

function noteFrame({ timestamp, number }) {
    if (!isWatching) return;
    frames.set(timestamp, number);
    if (frames.size > frameLimit) frames.delete(frames.keys().next().value);
}

// Whether the worker tells the numbers of the frames that it opens.
export function watchFrames(isWanted) {
    if (isWanted === isWatching) return;
    isWatching = isWanted;
    frames.clear();
    if (worker) worker.postMessage({ watch: isWanted });
}

// [key ID, counter] of the frame with an RTP timestamp; null if it is not known, as of one from the host itself.
export function sealedFrame(timestamp) { return frames.get(timestamp) || null; }

// Hands keys to the worker: what `parseKeys` gives, or a new epoch's with the broadcast's ID (see `firstBaseKey`).
export function giveKeys(keys) {
    openWorker();
    worker.postMessage({ keys });
}

function messageOpened({ id, result, bytes }) {
    const done = openings.get(id);
    openings.delete(id);
    if (done) done({ result, bytes });
}

// Opens a frame of what the host tells all viewers: { result, bytes } as of a `FrameOpener`.
export function openMessage(bytes) {
    openWorker();
    return new Promise(done => {
        openings.set(++lastMessage, done);
        worker.postMessage({ message: { id: lastMessage, bytes } });
    });
}

// How many frames of video a receiver has decoded.
async function framesDecoded(receiver) {
    const entries = [...(await receiver.getStats()).values()];
    return entries.reduce((sum, entry) => sum + (entry.type === 'inbound-rtp' && entry.framesDecoded || 0), 0);
}

// A receiver whose frames the worker opens.
class SealedReceiver {
    constructor(receiver, callbacks) {
        this.receiver = receiver;
        this.callbacks = callbacks;
        this.id = ++lastID;
        // How many frames the worker has passed on, as far as it is known.
        this.opened = 0;
        // Fulfilled with the first of them.
        this.firstOpened = new Promise(done => { this.tellOpened = done; });
        this.tellCounted = () => {};
        receivers.set(this.id, this);
        receiver.transform = new RTCRtpScriptTransform(worker, { id: this.id, kind: receiver.track.kind });
    }

    // A message of the worker.
    handle(message) {
        if (message.needsKeys) this.callbacks.onNeedsKeys();
        else if (message.usesNewKeys) this.callbacks.onUsesNewKeys();
        else this.note(message);
    }

    note({ opened, isAnswer }) {
        this.opened = opened;
        if (opened > 0) this.tellOpened();
        if (isAnswer) this.tellCounted();
    }

    // Whether the browser has decoded more frames than the worker has passed on.
    async isBypassed() {
        const decoded = await framesDecoded(this.receiver);
        if (decoded <= this.opened) return false;
        const counted = new Promise(done => { this.tellCounted = done; });
        worker.postMessage({ count: this.id });
        await Promise.race([counted, delay(countLimit)]);
        return decoded > this.opened;
    }

    close() { receivers.delete(this.id); }
}

export class SealedMedia {
    // `seal`: of the home server's admission. Fails if it has no keys. `onNeedsKeys()`: frames of an epoch without keys were dropped, at
    // most once a second for a receiver. `onUsesNewKeys()`: the first frame of an epoch and track was opened.
    constructor(seal, { onNeedsKeys = () => {}, onUsesNewKeys = () => {} } = {}) {
        this.callbacks = { onNeedsKeys, onUsesNewKeys };
        giveKeys(parseKeys(decodeBase64URL(seal.keys)));
    }

    // Sets the transform, before the receiver has got a frame.
    attach(receiver) { return new SealedReceiver(receiver, this.callbacks); }
}
