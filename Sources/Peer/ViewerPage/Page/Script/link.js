// The link: /ID#code, where the code is base64url of 0x01 | secret (16 bytes) | SHA-256 of the host's certificate (32 bytes). In
// version 2 a byte of flags follows the version, and with flag 2 the SHA-256 of a relay's certificate ends the code.

import { decodeBase64URL, encodeBase64URL } from './bytes.js';
import { SessionEnd } from './session-end.js';

const flags = { webPKI: 1, relay: 2 };

// Where the secret begins, and the number of bytes in all; null for a version that the page does not know.
function layout(code) {
    const [version, flag] = decodeBase64URL(code.slice(0, 4).padEnd(4, 'A'));
    if (version === 1) return { start: 1, size: 49 };
    if (version !== 2 || !flag || flag & ~(flags.webPKI | flags.relay)) return null;
    return { start: 2, size: flag & flags.relay ? 82 : 50 };
}

// Throws `SessionEnd` with what is wrong. In the ID, O is 0, and I and L are 1.
export function parseLink(path, fragment) {
    const id = path.split('/')[1].toUpperCase().replace(/O/g, '0').replace(/[IL]/g, '1');
    const code = fragment.slice(1);
    const invalid = sentence => new SessionEnd('error', sentence, 'Ask the host for the link, or copy it again.');
    if (!code) throw invalid('The link is incomplete: the part after # is missing.');
    if (/[^A-Za-z0-9_-]/.test(code)) throw invalid('The link is mistyped: it has a character that no link has.');
    const form = layout(code);
    if (!form) throw invalid('The link is mistyped, or made by a newer version of share.');
    const length = Math.ceil(form.size * 4 / 3);
    if (code.length < length) {
        const missing = length - code.length;
        throw invalid(`The link is incomplete: ${missing} ${missing === 1 ? 'character is' : 'characters are'} missing at its end.`);
    }
    if (code.length > length) throw invalid('The link is mistyped: it is too long.');
    const bytes = decodeBase64URL(code.padEnd(Math.ceil(length / 4) * 4, '='));
    if (bytes.length !== form.size || encodeBase64URL(bytes) !== code) throw invalid('The link is mistyped near its end.');
    const secretEnd = form.start + 16;
    return { id, secret: bytes.slice(form.start, secretEnd), hostFingerprint: bytes.slice(secretEnd, secretEnd + 32) };
}
