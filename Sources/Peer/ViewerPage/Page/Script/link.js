// The link: /ID#code, where the code is base64url of 0x01 | secret (16 bytes) | SHA-256 of the host's certificate (32 bytes).

import { decodeBase64URL, encodeBase64URL } from './bytes.js';
import { SessionEnd } from './session-end.js';

const codeLength = 66;

// Throws `SessionEnd` with what is wrong. In the ID, O is 0, and I and L are 1.
export function parseLink(path, fragment) {
    const id = path.split('/')[1].toUpperCase().replace(/O/g, '0').replace(/[IL]/g, '1');
    const code = fragment.slice(1);
    const invalid = sentence => new SessionEnd('error', sentence, 'Ask the host for the link, or copy it again.');
    if (!code) throw invalid('The link is incomplete: the part after # is missing.');
    if (/[^A-Za-z0-9_-]/.test(code)) throw invalid('The link is mistyped: it has a character that no link has.');
    if (code.length < codeLength) {
        const missing = codeLength - code.length;
        throw invalid(`The link is incomplete: ${missing} ${missing === 1 ? 'character is' : 'characters are'} missing at its end.`);
    }
    if (code.length > codeLength) throw invalid('The link is mistyped: it is too long.');
    const bytes = decodeBase64URL(code + '==');
    if (bytes.length !== 49 || encodeBase64URL(bytes) !== code) throw invalid('The link is mistyped near its end.');
    if (bytes[0] !== 1) throw invalid('The link is mistyped, or made by a newer version of share.');
    return { id, secret: bytes.slice(1, 17), hostFingerprint: bytes.slice(17) };
}
