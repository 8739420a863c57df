// Signatures by the keys of certificates (ECDSA P-256 with SHA-256, 64 bytes r | s).

import { decodeBase64URL, equalBytes, sha256 } from './bytes.js';

// What a public key of P-256 begins with in a certificate (RFC 5480), before its point of 65 bytes.
const keyHeader = decodeBase64URL('MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgA');

// The point of a certificate's key (DER); null if it is none of P-256.
function publicPoint(certificate) {
    const end = keyHeader.length + 65;
    for (let at = 0; at + end <= certificate.length; at++) {
        if (equalBytes(certificate.slice(at, at + keyHeader.length), keyHeader)) return certificate.slice(at + keyHeader.length, at + end);
    }
    return null;
}

// Whether the key of a certificate (DER), whose SHA-256 has to be `fingerprint`, made the signature. Fails if it has no such key.
export async function isSignedBy(certificate, fingerprint, signature, message) {
    if (!equalBytes(await sha256(certificate), fingerprint)) return false;
    const key = await crypto.subtle.importKey('raw', publicPoint(certificate), { name: 'ECDSA', namedCurve: 'P-256' }, false, ['verify']);
    return crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, signature, message);
}
