// Opens sealed frames: SFrame (RFC 9605) with AES_128_GCM_SHA256_128, whose keys a ratchet derives (Docs/internals/protocol.md). On the
// wire: clear prefix | SFrame header | ciphertext | tag. The prefix is the metadata of RFC 9605 section 4.4.3.

import { concatenate, equalBytes, utf8 } from './bytes.js';

// RFC 9605 section 4.5. `keyLength` is Nk; Nn is 12 and Nt is 16 for AES-GCM.
const suite4 = { id: 4, hash: 'SHA-256', keyLength: 16 };
const tagLength = 16, nonceLength = 12;
// How far the ratchet catches up, how many steps can be told apart, and how many steps have a key.
const stepLimit = 256, stepCount = 512, keptSteps = 4;
const windowLength = 1024n;
// How long keys of older epochs are kept after a frame of a newer one was opened, in milliseconds: frames may still be on the way.
const graceTime = 2000;
// The same from the announcement of the newer one on, half a second after which it begins.
const announcedTime = 4000;
// The tracks that a receiver opens: the encodings of the video; system audio and microphone; what the host tells all viewers.
const tracksOf = { video: [0, 1, 2, 3], audio: [4, 5], messages: [6] };
const openedTracks = [...tracksOf.video, ...tracksOf.audio, ...tracksOf.messages];

// `length` bytes, big-endian.
function integer(value, length) {
    const bytes = new Uint8Array(length);
    for (let i = length - 1, rest = BigInt(value); i >= 0; i--, rest >>= 8n) bytes[i] = Number(rest & 0xFFn);
    return bytes;
}

function readInteger(bytes) { return bytes.reduce((value, byte) => value << 8n | BigInt(byte), 0n); }

// The SFrame header (RFC 9605 section 4.3) at `start`, with the offset of what follows it; null if the frame is too short.
export function readHeader(frame, start) {
    if (start >= frame.length) return null;
    const configuration = frame[start];
    let end = start + 1;
    // A field of 3 bits is the value itself, or, after a set bit, the number of its bytes less one.
    const value = field => {
        if (!(field & 8)) return BigInt(field);
        const begin = end;
        end += (field & 7) + 1;
        return readInteger(frame.subarray(begin, end));
    };
    const keyID = value(configuration >> 4), counter = value(configuration & 15);
    return end <= frame.length ? { keyID, counter, end } : null;
}

// How much of a frame is in clear. Bit 0 of VP8's first byte is 0 in key frames (RFC 6386 section 9.1).
export function clearPrefixLength(kind, frame) {
    if (kind === 'messages') return 0;
    if (kind !== 'video') return 1;
    return frame.length && !(frame[0] & 1) ? 10 : 3;
}

async function hmac(hash, key, message) {
    const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash }, false, ['sign']);
    return new Uint8Array(await crypto.subtle.sign('HMAC', imported, message));
}

// HKDF-Extract (RFC 5869) without a salt, which is the same as one of zeros. WebCrypto takes no empty key.
function extract(hash, keyMaterial) { return hmac(hash, new Uint8Array(32), keyMaterial); }

// HKDF-Expand for at most the length of the hash.
async function expand(hash, secret, info, length) {
    return (await hmac(hash, secret, concatenate(info, Uint8Array.of(1)))).slice(0, length);
}

// The base key of the next step (RFC 9605 section 5.1).
export async function nextBaseKey(baseKey) {
    return expand('SHA-256', await extract('SHA-256', baseKey), utf8('SFrame 1.0 Ratchet'), 32);
}

// The base key of step 0 of a track, from the secret of its epoch. `id`: of the host's broadcast, as text.
export async function firstBaseKey({ id, run, epoch, secret }, track) {
    const info = concatenate(utf8('share v1 sframe'), utf8(id), run, integer(epoch, 4), Uint8Array.of(track));
    return expand('SHA-256', await extract('SHA-256', secret), info, 32);
}

// Key and salt of a base key (RFC 9605 section 4.4.2).
export async function deriveKeyAndSalt(baseKey, keyID, { id, hash, keyLength } = suite4) {
    const secret = await extract(hash, baseKey);
    const info = label => concatenate(utf8(label), integer(keyID, 8), integer(id, 2));
    return {
        key: await expand(hash, secret, info('SFrame 1.0 Secret key '), keyLength),
        salt: await expand(hash, secret, info('SFrame 1.0 Secret salt '), nonceLength),
    };
}

// The nonce of a counter (RFC 9605 section 4.4.3).
export function nonceOf(salt, counter) { return integer(counter, nonceLength).map((byte, i) => byte ^ salt[i]); }

// The key ID of 16 bits.
export function keyIDOf(epoch, track, step) { return epoch % 16 << 12 | track << 9 | step % stepCount; }

// The counters of one key that were opened.
export class ReplayWindow {
    constructor() {
        this.newest = -1n;
        // Bit i is for the counter newest - i.
        this.bits = 0n;
    }

    has(counter) {
        const age = this.newest - counter;
        return age >= 0n && (age >= windowLength || (this.bits >> age & 1n) === 1n);
    }

    add(counter) {
        const age = this.newest - counter;
        if (age >= 0n) {
            this.bits |= 1n << age;
        } else {
            this.bits = -age < windowLength ? BigInt.asUintN(Number(windowLength), this.bits << -age | 1n) : 1n;
            this.newest = counter;
        }
    }
}

// The keys of one track in one epoch. Each is { step, baseKey, key, salt }.
export class TrackKeys {
    constructor(epoch, track) {
        this.epoch = epoch;
        this.track = track;
        this.newest = -1;
        // Whether a frame was opened with them.
        this.isUsed = false;
        // When they are forgotten.
        this.expiresAt = Infinity;
        // By their steps.
        this.kept = new Map();
        // The base keys after the newest step, as far as the ratchet has made them, so forged frames make it work once.
        this.ahead = new Map();
        this.work = Promise.resolve();
    }

    // Takes a key that the host has handed over.
    add(step, baseKey) {
        const isNeeded = () => step > this.newest - keptSteps && !this.kept.has(step);
        return this.inTurn(async () => { if (isNeeded()) this.keep(await this.make(step, baseKey)); });
    }

    // The key of a frame, from 9 bits of its step; null if it is too old.
    find(bits) {
        return this.inTurn(async () => {
            if (this.newest < 0) return null;
            const ahead = (bits - this.newest % stepCount + stepCount) % stepCount;
            if (ahead >= stepLimit) return this.kept.get(this.newest + ahead - stepCount) || null;
            return this.kept.get(this.newest + ahead) || this.derive(this.newest + ahead);
        });
    }

    // Keeps a key that has opened a frame, or was handed over.
    keep(key) {
        this.newest = Math.max(this.newest, key.step);
        if (!this.kept.has(key.step)) this.kept.set(key.step, key);
        for (const step of this.kept.keys()) if (step <= this.newest - keptSteps) this.kept.delete(step);
        for (const step of this.ahead.keys()) if (step <= this.newest) this.ahead.delete(step);
    }

    async derive(step) {
        let { baseKey } = this.kept.get(this.newest);
        for (let next = this.newest + 1; next <= step; next++) {
            if (!this.ahead.has(next)) this.ahead.set(next, await nextBaseKey(baseKey));
            baseKey = this.ahead.get(next);
        }
        return this.make(step, baseKey);
    }

    async make(step, baseKey) {
        const { key, salt } = await deriveKeyAndSalt(baseKey, keyIDOf(this.epoch, this.track, step));
        return { step, baseKey, salt, key: await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['decrypt']) };
    }

    // Receivers share the keys, so they are made one after the other.
    inTurn(task) {
        const done = this.work.then(task);
        this.work = done.catch(() => {});
        return done;
    }
}

// The keys of a broadcast, by epoch and track.
export class KeyStore {
    // `now`: a clock in milliseconds.
    constructor(now = () => performance.now()) {
        this.now = now;
        this.run = new Uint8Array();
        // By the epoch's 4 bits and the track.
        this.tracks = new Map();
        // The newest epoch of which a frame was opened.
        this.newestUsed = 0;
    }

    // Adds keys that the host has handed over: { epoch, track, step, baseKey }. Those of another run of the host replace all. Steps never
    // fall, and epochs that are older than one in use are ignored.
    async add({ run, keys }) {
        if (!equalBytes(run, this.run)) {
            this.run = run;
            this.tracks.clear();
            this.newestUsed = 0;
        }
        this.forgetExpired();
        const isCurrent = ({ epoch }) => epoch >= this.newestUsed;
        await Promise.all(keys.filter(isCurrent).map(({ epoch, track, step, baseKey }) => this.trackKeys(epoch, track).add(step, baseKey)));
    }

    // Adds the keys of a new epoch of the run whose keys are here: see `firstBaseKey`.
    async addEpoch(secret) {
        const { run, epoch } = secret;
        const keys = await Promise.all(openedTracks.map(
            async track => ({ epoch, track, step: 0, baseKey: await firstBaseKey(secret, track) })));
        if (!equalBytes(run, this.run)) return;
        await this.add({ run, keys });
        // A server that holds its frames back, too, does not make the former one last.
        this.expireBefore(epoch, announcedTime);
    }

    // Epochs only rise: a later one takes the place of that with the same bits.
    trackKeys(epoch, track) {
        const place = epoch % 16 << 3 | track, present = this.tracks.get(place);
        if (present && present.epoch >= epoch) return present.epoch === epoch ? present : new TrackKeys(epoch, track);
        const made = new TrackKeys(epoch, track);
        this.tracks.set(place, made);
        return made;
    }

    find(epochBits, track) {
        this.forgetExpired();
        return this.tracks.get(epochBits << 3 | track) || null;
    }

    // A frame was opened with these keys. Those of older epochs, of all tracks, are forgotten soon. True for the first frame.
    noteUse(trackKeys) {
        const { epoch, track, isUsed } = trackKeys;
        // They may have been replaced meanwhile, by those of another run, too.
        if (isUsed || this.tracks.get(epoch % 16 << 3 | track) !== trackKeys) return false;
        trackKeys.isUsed = true;
        this.newestUsed = Math.max(epoch, this.newestUsed);
        this.expireBefore(epoch, graceTime);
        return true;
    }

    expireBefore(epoch, milliseconds) {
        const expiresAt = this.now() + milliseconds;
        for (const keys of this.tracks.values()) if (keys.epoch < epoch) keys.expiresAt = Math.min(keys.expiresAt, expiresAt);
    }

    forgetExpired() {
        const now = this.now();
        for (const [place, { expiresAt }] of this.tracks) if (now >= expiresAt) this.tracks.delete(place);
    }
}

// Opens the frames of one receiver. Its replay windows begin empty: another connection sends the frames since the last key frame again.
export class FrameOpener {
    constructor(kind, keyStore) {
        this.kind = kind;
        this.keyStore = keyStore;
        // By track keys, then by step.
        this.windows = new WeakMap();
        this.last = Promise.resolve();
    }

    // Opens one frame after the other. The result is { result: 'opened', bytes, isFirst, number }, where `isFirst` tells the first frame of
    // its epoch and track and `number` is [key ID, counter], or says why the frame is dropped: `tooOld`, `unknownKey` (there are no keys of
    // its epoch), `malformed`, `forged` or `replayed`.
    open(frame) {
        const opening = this.last.then(() => this.openNext(frame));
        this.last = opening.catch(() => {});
        return opening;
    }

    async openNext(frame) {
        const prefix = clearPrefixLength(this.kind, frame), header = readHeader(frame, prefix);
        if (!header || frame.length < header.end + tagLength) return { result: 'malformed' };
        const { keyID, counter, end } = header, bits = Number(keyID), track = bits >> 9 & 7;
        if (keyID > 0xFFFFn || !tracksOf[this.kind].includes(track)) return { result: 'malformed' };
        const trackKeys = this.keyStore.find(bits >> 12, track);
        if (!trackKeys) return { result: 'unknownKey' };
        const key = await trackKeys.find(bits % stepCount);
        if (!key) return { result: 'tooOld' };
        const replayWindow = this.replayWindow(trackKeys, key.step);
        if (replayWindow.has(counter)) return { result: 'replayed' };
        let plaintext;
        try {
            plaintext = await crypto.subtle.decrypt({
                name: 'AES-GCM', iv: nonceOf(key.salt, counter), tagLength: 8 * tagLength,
                additionalData: concatenate(frame.subarray(prefix, end), frame.subarray(0, prefix)),
            }, key.key, frame.subarray(end));
        } catch { return { result: 'forged' }; }
        trackKeys.keep(key);
        replayWindow.add(counter);
        this.keepWindow(trackKeys, key.step, replayWindow);
        const isFirst = this.keyStore.noteUse(trackKeys);
        const bytes = concatenate(frame.subarray(0, prefix), new Uint8Array(plaintext));
        return { result: 'opened', bytes, isFirst, number: [bits, Number(counter)] };
    }

    replayWindow(trackKeys, step) {
        const windows = this.windows.get(trackKeys);
        return windows && windows.get(step) || new ReplayWindow();
    }

    // Windows of keys that are no longer kept go with them.
    keepWindow(trackKeys, step, replayWindow) {
        const windows = this.windows.get(trackKeys) || new Map();
        windows.set(step, replayWindow);
        for (const other of windows.keys()) if (!trackKeys.kept.has(other)) windows.delete(other);
        this.windows.set(trackKeys, windows);
    }
}
