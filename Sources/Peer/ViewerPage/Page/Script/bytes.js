// Bytes: base64url without padding (RFC 4648 section 5), UTF-8, concatenation, comparison, SHA-256.

const encoder = new TextEncoder();

export function utf8(text) { return encoder.encode(text); }

export function encodeBase64URL(bytes) {
    return btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

export function decodeBase64URL(code) {
    const binary = atob(code.replace(/-/g, '+').replace(/_/g, '/'));
    return Uint8Array.from(binary, letter => letter.charCodeAt(0));
}

export function concatenate(...parts) {
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let offset = 0;
    for (const part of parts) {
        all.set(part, offset);
        offset += part.length;
    }
    return all;
}

export async function sha256(bytes) { return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)); }

// Takes the same time wherever the bytes differ.
export function equalBytes(a, b) {
    let difference = a.length ^ b.length;
    for (let i = 0; i < a.length && i < b.length; i++) difference |= a[i] ^ b[i];
    return difference === 0;
}
