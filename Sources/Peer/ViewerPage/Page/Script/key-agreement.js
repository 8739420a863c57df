// A knock, version 2: both sides agree on a key before the four words, in which the host hands over the keys of its sealed media
// (Docs/internals/protocol.md). `V` and `H` are the fingerprints of the viewer's and of the host's certificate.

import { concatenate, decodeBase64URL, encodeBase64URL, equalBytes, sha256, utf8 } from './bytes.js';
import { isSignedBy } from './certificate.js';

const algorithm = { name: 'ECDH', namedCurve: 'P-256' };
const entryLength = 37;

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
    async wrapKey(link) {
        const point = await crypto.subtle.importKey('raw', this.hostKey, algorithm, false, []);
        const shared = await crypto.subtle.deriveBits({ name: 'ECDH', public: point }, this.privateKey, 256);
        const secret = await crypto.subtle.importKey('raw', shared, 'HKDF', false, ['deriveBits']);
        const info = concatenate(utf8('share v2 keys'), this.transcript);
        return new Uint8Array(await crypto.subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt: link.secret, info }, secret, 128));
    }
}

// Opens the keys that came with the admission or with an order, as bytes (see `parseKeys`). Null if they are not the host's, of this run.
export async function openKeys(wrap, wrapKey, run) {
    try {
        const bytes = decodeBase64URL(wrap), key = await crypto.subtle.importKey('raw', wrapKey, 'AES-GCM', false, ['decrypt']);
        const keys = new Uint8Array(await crypto.subtle.decrypt({ name: 'AES-GCM', iv: bytes.slice(0, 12) }, key, bytes.slice(12)));
        return equalBytes(parseKeys(keys).run, run) ? keys : null;
    } catch { return null; }
}

// Keys that a host hands over: 0x01 | run (16) | epoch (4) | count (1) | count x (track (1) | step (4) | base key (32)). Fails if they
// are not of that form.
export function parseKeys(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length), count = view.getUint8(21), keys = [];
    if (bytes[0] !== 1 || bytes.length !== 22 + entryLength * count) throw new Error('keys of another form');
    for (let at = 22; at < bytes.length; at += entryLength) {
        keys.push({ track: bytes[at], step: view.getUint32(at + 1), baseKey: bytes.slice(at + 5, at + entryLength) });
    }
    return { run: bytes.slice(1, 17), epoch: view.getUint32(17), keys };
}
