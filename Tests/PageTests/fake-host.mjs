// The host's side of a knock, version 2, written anew from the protocol with other functions of WebCrypto.

import { createCipheriv, createHash, hkdfSync, webcrypto as crypto } from 'node:crypto';
import { link, range } from './support.mjs';
import { concatenate, encodeBase64URL, utf8 } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';

const ecdsa = { name: 'ECDSA', namedCurve: 'P-256' }, ecdh = { name: 'ECDH', namedCurve: 'P-256' };
export const sha256 = (...parts) => Uint8Array.from(createHash('sha256').update(concatenate(...parts)).digest());
const bytes = text => Uint8Array.from(Buffer.from(text, 'base64url'));
const raw = async key => new Uint8Array(await crypto.subtle.exportKey('raw', key));

const number = value => Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);

// Keys as a host hands them over: { epoch, track, step, baseKey }.
export function encodeKeys(run, keys) {
    const entries = keys.map(({ epoch, track, step, baseKey }) => concatenate(number(epoch), Uint8Array.of(track), number(step), baseKey));
    return concatenate(Uint8Array.of(2), run, Uint8Array.of(keys.length), ...entries);
}

// The secret of a new epoch as a host hands it over.
export function encodeNewEpoch(run, epoch, secret) { return concatenate(Uint8Array.of(3), run, number(epoch), secret); }

// The base key of step 0 of a track, from the secret of its epoch.
export function baseKeyOf({ id, run, epoch, secret }, track) {
    const info = Buffer.concat([Buffer.from('share v1 sframe' + id), run, number(epoch), Uint8Array.of(track)]);
    return new Uint8Array(hkdfSync('sha256', secret, '', info, 32));
}

// Encrypts what a host hands over, as text.
export function wrapWith(key, plaintext, iv = range(7, 19)) {
    const cipher = createCipheriv('aes-128-gcm', key, iv);
    return Buffer.concat([iv, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

export class FakeHost {
    static async make(isSealed = true) {
        const host = new FakeHost();
        const signing = await crypto.subtle.generateKey(ecdsa, false, ['sign', 'verify']);
        const agreement = await crypto.subtle.generateKey(ecdh, false, ['deriveBits']);
        // Only the key is read from a certificate whose hash is the link's.
        const spki = new Uint8Array(await crypto.subtle.exportKey('spki', signing.publicKey));
        const certificate = concatenate(range(0, 90), spki, range(0, 80));
        return Object.assign(host, {
            signing, agreement, certificate, isSealed, run: range(200, 216), nonce: range(64, 80), key: await raw(agreement.publicKey),
            link: { ...link, hostFingerprint: sha256(certificate) },
        });
    }

    agreed(isSealed = this.isSealed) {
        return [
            utf8(this.link.id), this.link.hostFingerprint, this.viewer, this.commitment, this.key, this.nonce, this.run,
            Uint8Array.of(isSealed ? 1 : 0),
        ];
    }

    // The body of the 202.
    async challenge({ commitment, fingerprint }) {
        [this.commitment, this.viewer] = [bytes(commitment), bytes(fingerprint)];
        const message = concatenate(utf8('share v2 knock host'), ...this.agreed());
        const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, this.signing.privateKey, message);
        return {
            nonce: encodeBase64URL(this.nonce),
            seal: {
                key: encodeBase64URL(this.key), run: encodeBase64URL(this.run), sealed: this.isSealed,
                certificate: encodeBase64URL(this.certificate), signature: encodeBase64URL(new Uint8Array(signature)),
            },
        };
    }

    // Whether the viewer's answer is for its commitment and signed. `key` is that of the knock.
    async accepts({ signature, seal }, key) {
        const [viewerKey, viewerNonce] = [bytes(seal.key), bytes(seal.nonce)];
        if (viewerKey.length !== 65 || viewerNonce.length !== 16) return false;
        if (Buffer.compare(sha256(viewerKey, viewerNonce), this.commitment) !== 0) return false;
        this.viewerKey = viewerKey;
        this.transcript = sha256(utf8('share v2 knock'), ...this.agreed(), viewerKey, viewerNonce);
        const imported = await crypto.subtle.importKey('raw', bytes(key), ecdsa, false, ['verify']);
        const message = concatenate(utf8('share v2 knock viewer'), this.transcript);
        return crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, imported, bytes(signature), message);
    }

    words(wordList) {
        const digest = Buffer.from(sha256(utf8('share v2 words'), this.transcript));
        return [0, 2, 4, 6].map(i => wordList[digest.readUInt16BE(i) % 256]).join(' ');
    }

    // Seals keys for the viewer.
    async wrap(keys, secret = this.link.secret) {
        const point = await crypto.subtle.importKey('raw', this.viewerKey, ecdh, false, []);
        const shared = await crypto.subtle.deriveBits({ name: 'ECDH', public: point }, this.agreement.privateKey, 256);
        const key = hkdfSync('sha256', new Uint8Array(shared), secret, concatenate(utf8('share v2 keys'), this.transcript), 16);
        return wrapWith(new Uint8Array(key), keys);
    }
}
