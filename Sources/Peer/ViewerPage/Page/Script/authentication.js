// Proofs of the link's secret, the signature of a knock, and the four words that host and viewer compare (Docs/internals/protocol.md).
// `fingerprint` is the SHA-256 of this browser's certificate.

import { concatenate, sha256, utf8 } from './bytes.js';

// HMAC-SHA-256 with a key that HKDF derives from the link's secret for the purpose `info`.
export async function makeProof(link, info, ...message) {
    const secret = await crypto.subtle.importKey('raw', link.secret, 'HKDF', false, ['deriveKey']);
    const key = await crypto.subtle.deriveKey(
        { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: utf8(info) }, secret,
        { name: 'HMAC', hash: 'SHA-256', length: 256 }, false, ['sign']);
    return new Uint8Array(await crypto.subtle.sign('HMAC', key, concatenate(utf8(link.id), ...message)));
}

// ECDSA with SHA-256: 64 bytes r | s.
async function sign(privateKey, ...parts) {
    return new Uint8Array(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, concatenate(...parts)));
}

// Signs the host's nonce.
export function signKnock(link, privateKey, fingerprint, nonce) {
    return sign(privateKey, utf8('share v1 knock'), utf8(link.id), link.hostFingerprint, fingerprint, nonce);
}

// The same in version 2 (see `KeyAgreement`).
export function signTranscript(privateKey, transcript) { return sign(privateKey, utf8('share v2 knock viewer'), transcript); }

async function wordsOf(wordList, ...parts) {
    const digest = await sha256(concatenate(...parts));
    return [0, 1, 2, 3].map(i => wordList[(digest[2 * i] << 8 | digest[2 * i + 1]) % 256]).join(' ');
}

export function fourWords(wordList, link, fingerprint, nonce) {
    return wordsOf(wordList, utf8('share v1 words'), fingerprint, link.hostFingerprint, nonce);
}

// The same in version 2.
export function transcriptWords(wordList, transcript) { return wordsOf(wordList, utf8('share v2 words'), transcript); }
