// A knock, version 2: both sides agree on a key before the four words, in which the host hands over the keys of its sealed media
// (Docs/internals/protocol.md). `V` and `H` are the fingerprints of the viewer's and of the host's certificate.

import { concatenate, decodeBase64URL, encodeBase64URL, equalBytes, sha256, utf8 } from './bytes.js';
import { isSignedBy } from './certificate.js';

const algorithm = { name: 'ECDH', namedCurve: 'P-256' };
// What a host hands over: the first byte tells the form.
const keysForm = 2, newEpochForm = 3;
const entryLength = 41, entryLimit = 64, lastTrack = 6;
// In characters: the most keys, nonce and tag in base64url have fewer.
const wrapLimit = 4096;

function field(text, length) {
    const bytes = decodeBase64URL(text);
    if (bytes.length !== length) throw new Error('a field of another length');
    return bytes;
}

export class KeyAgreement {
    // With a key and a nonce for one knock.
    static async make() {
        const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, false, ['deriveBits']);
        const key = new Uint8Array(await crypto.subtle.exportKey('raw', publicKey)), nonce = crypto.getRandomValues(new Uint8Array(16));
        return new KeyAgreement(privateKey, key, nonce, await sha256(concatenate(key, nonce)));
    }

    constructor(privateKey, key, nonce, commitment) {
        Object.assign(this, { privateKey, key, nonce, commitment });
        // After the host's challenge.
        this.hostKey = this.run = this.transcript = null;
        this.isSealed = false;
    }

    // Takes the host's part of the challenge and its nonce. False if it is not from the link's host, for this knock.
    async accept(seal, link, fingerprint, hostNonce) {
        try {
            const { key, run, sealed, certificate, signature } = seal;
            if (typeof sealed !== 'boolean') return false;
            [this.hostKey, this.run, this.isSealed] = [field(key, 65), field(run, 16), sealed];
            const agreed = [
                utf8(link.id), link.hostFingerprint, fingerprint, this.commitment, this.hostKey, hostNonce, this.run,
                Uint8Array.of(sealed ? 1 : 0),
            ];
            const message = concatenate(utf8('share v2 knock host'), ...agreed);
            if (!await isSignedBy(decodeBase64URL(certificate), link.hostFingerprint, field(signature, 64), message)) return false;
            this.transcript = await sha256(concatenate(utf8('share v2 knock'), ...agreed, this.key, this.nonce));
            return true;
        } catch { return false; }
    }

    // What the viewer discloses with its signature.
    get opening() { return { key: encodeBase64URL(this.key), nonce: encodeBase64URL(this.nonce) }; }

    // The key of what the host hands to this viewer, as bytes for `openKeys`.
    wrapKey(link) { return this.key128(link, 'share v2 keys'); }

    // The keys of what the viewer and its host say to each other, as bytes.
    async messageKeys(link) {
        return { toHost: await this.key128(link, 'share v2 messages to host'), toViewer: await this.key128(link, 'share v2 messages to viewer') };
    }

    async key128(link, label) {
        const point = await crypto.subtle.importKey('raw', this.hostKey, algorithm, false, []);
        const shared = await crypto.subtle.deriveBits({ name: 'ECDH', public: point }, this.privateKey, 256);
        const secret = await crypto.subtle.importKey('raw', shared, 'HKDF', false, ['deriveBits']);
        const info = concatenate(utf8(label), this.transcript);
        return new Uint8Array(await crypto.subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt: link.secret, info }, secret, 128));
    }
}

// Decrypts what the host has wrapped for this viewer: the bytes, and as `parse` reads them. Null if it is not the host's, of this run.
async function unwrap(wrap, wrapKey, run, parse) {
    try {
        if (wrap.length > wrapLimit) return null;
        const sealed = decodeBase64URL(wrap), key = await crypto.subtle.importKey('raw', wrapKey, 'AES-GCM', false, ['decrypt']);
        const bytes = new Uint8Array(await crypto.subtle.decrypt({ name: 'AES-GCM', iv: sealed.slice(0, 12) }, key, sealed.slice(12)));
        const keys = parse(bytes);
        return equalBytes(keys.run, run) ? { bytes, keys } : null;
    } catch { return null; }
}

// Opens the keys that came with the admission, with an order or by request, as bytes (see `parseKeys`). Null if they are not the host's,
// of this run.
export async function openKeys(wrap, wrapKey, run) {
    const opened = await unwrap(wrap, wrapKey, run, parseKeys);
    return opened && opened.bytes;
}

// Opens the keys of an event: those of a new epoch (see `parseNewEpoch`), or as of an admission (see `parseKeys`). Null as above.
export async function openEventKeys(wrap, wrapKey, run) {
    const opened = await unwrap(wrap, wrapKey, run, bytes => bytes[0] === newEpochForm ? parseNewEpoch(bytes) : parseKeys(bytes));
    return opened && opened.keys;
}

// Keys that a host hands over: 0x02 | run (16) | count (1) | count x (epoch (4) | track (1) | step (4) | base key (32)). Fails if they are
// not of that form.
export function parseKeys(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length), count = view.getUint8(17), keys = [];
    if (bytes[0] !== keysForm || count > entryLimit || bytes.length !== 18 + entryLength * count) throw new Error('keys of another form');
    for (let at = 18; at < bytes.length; at += entryLength) {
        const epoch = view.getUint32(at), track = bytes[at + 4], step = view.getUint32(at + 5);
        if (track > lastTrack) throw new Error('keys of an unknown track');
        keys.push({ epoch, track, step, baseKey: bytes.slice(at + 9, at + entryLength) });
    }
    return { run: bytes.slice(1, 17), keys };
}

// The secret of a new epoch: 0x03 | run (16) | epoch (4) | secret (32). Fails if it is not of that form.
export function parseNewEpoch(bytes) {
    if (bytes[0] !== newEpochForm || bytes.length !== 53) throw new Error('a new epoch of another form');
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return { run: bytes.slice(1, 17), epoch: view.getUint32(17), secret: bytes.slice(21) };
}
