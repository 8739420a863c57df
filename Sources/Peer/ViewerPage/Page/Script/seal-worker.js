// The dedicated worker that opens sealed frames between the browser's depacketizer and its decoder (W3C WebRTC Encoded Transform). What
// is not opened never gets to the decoder. The page sends the keys, which never leave this worker.

import { FrameOpener, KeyStore } from './sframe.js';

// In milliseconds.
const requestInterval = 300, reportInterval = 200, keysInterval = 1000;

const keyStore = new KeyStore();
// Opens what the host tells all viewers, each once.
const messages = new FrameOpener('messages', keyStore);
// By the ID that the page has given.
const transforms = new Map();
// Whether the page wants to know the numbers of the frames.
let isWatched = false;

// Opens the frames of one receiver.
class ReceiverTransform {
    constructor({ readable, writable, options: { id, kind } }, requestKeyFrame) {
        this.id = id;
        this.kind = kind;
        this.requestKeyFrame = requestKeyFrame;
        this.opener = new FrameOpener(kind, keyStore);
        this.opened = this.dropped = 0;
        this.requestedAt = this.reportedAt = this.neededKeysAt = -Infinity;
        this.timer = null;
        const transform = (frame, controller) => this.pass(frame, controller);
        // The streams end with the receiver.
        readable.pipeThrough(new TransformStream({ transform })).pipeTo(writable).catch(() => {}).then(() => this.end());
    }

    async pass(frame, controller) {
        const { result, bytes, isFirst, number } = await this.opener.open(new Uint8Array(frame.data)).catch(() => ({ result: 'failed' }));
        if (result === 'opened') {
            frame.data = bytes.buffer;
            this.opened++;
            controller.enqueue(frame);
            if (isWatched && this.kind === 'video') this.tell(frame, number);
            if (isFirst) postMessage({ id: this.id, usesNewKeys: true });
            if (this.opened === 1) return this.report();
        } else {
            this.dropped++;
            if (result === 'unknownKey') this.needKeys();
            if (this.kind === 'video' && result !== 'tooOld' && result !== 'replayed') this.wantKeyFrame();
        }
        this.reportSoon();
    }

    tell(frame, number) {
        // Browsers of before the field was there have the RTP timestamp in `timestamp`.
        const { rtpTimestamp } = frame.getMetadata ? frame.getMetadata() : {};
        postMessage({ frame: { timestamp: rtpTimestamp ?? frame.timestamp, number } });
    }

    wantKeyFrame() {
        const now = performance.now();
        if (now - this.requestedAt < requestInterval) return;
        this.requestedAt = now;
        this.requestKeyFrame();
    }

    // The host has keys of newer epochs.
    needKeys() {
        const now = performance.now();
        if (now - this.neededKeysAt < keysInterval) return;
        this.neededKeysAt = now;
        postMessage({ id: this.id, needsKeys: true });
    }

    reportSoon() {
        if (this.timer !== null) return;
        this.timer = setTimeout(() => this.report(), Math.max(this.reportedAt + reportInterval - performance.now(), 0));
    }

    // `isAnswer`: the page has asked.
    report(isAnswer = false) {
        clearTimeout(this.timer);
        this.timer = null;
        this.reportedAt = performance.now();
        postMessage({ id: this.id, opened: this.opened, dropped: this.dropped, isAnswer });
    }

    end() {
        this.report();
        transforms.delete(this.id);
    }
}

self.onrtctransform = ({ transformer }) => {
    // Fails where the receiver has no SSRC yet, and is not in all browsers.
    const requestKeyFrame = async () => {
        try { await transformer.sendKeyFrameRequest(); } catch { /* The next dropped frame asks again. */ }
    };
    transforms.set(transformer.options.id, new ReceiverTransform(transformer, requestKeyFrame));
};

async function open({ id, bytes: sealed }) {
    const { result, bytes } = await messages.open(sealed).catch(() => ({ result: 'failed' }));
    postMessage({ message: { id, result, bytes } });
}

// Keys, a message to be opened, whether frames are watched, or a question for the counts of now.
self.onmessage = ({ data: { keys, message, watch, count } }) => {
    if (watch !== undefined) isWatched = watch;
    if (message) return open(message);
    if (keys) (keys.secret ? keyStore.addEpoch(keys) : keyStore.add(keys)).catch(() => {});
    const transform = transforms.get(count);
    if (transform) transform.report(true);
};
