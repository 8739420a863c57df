// The link: /ID#code, where the code is base64url of 0x01 | secret (16 bytes) | SHA-256 of the host's certificate (32 bytes), or the
// same after 0x02 | flags (1 byte). Flag 1 says how programs check the certificate of HTTPS; a browser does that by itself. With flag
// 2 the SHA-256 of the certificate of a relay ends the code.

import { decodeBase64URL, encodeBase64URL } from './bytes.js';
import { SessionEnd } from './session-end.js';

const fieldsLength = 48, knownFlags = 0x03, relayFlag = 0x02;

// Throws `SessionEnd` with what is wrong. In the ID, which ends the path, O is 0, and I and L are 1.
export function parseLink(path, fragment) {
    const id = (path.split('/').filter(Boolean).pop() || '').toUpperCase().replace(/O/g, '0').replace(/[IL]/g, '1');
    const code = fragment.slice(1);
    const invalid = sentence => new SessionEnd('error', sentence, 'Ask the host for the link, or copy it again.');
    if (!code) throw invalid('The link is incomplete: the part after # is missing.');
    if (/[^A-Za-z0-9_-]/.test(code)) throw invalid('The link is mistyped: it has a character that no link has.');
    const [version, flags] = decodeBase64URL((code.slice(0, 4) + 'AAAA').slice(0, 4));
    if (version !== 1 && version !== 2) throw invalid('The link is mistyped, or made by a newer version of share.');
    if (version === 2 && flags & ~knownFlags) throw invalid('The link is made by a newer version of share.');
    const isOverRelay = version === 2 && (flags & relayFlag) !== 0;
    const begin = version, end = begin + fieldsLength + (isOverRelay ? 32 : 0);
    const codeLength = Math.ceil(end * 4 / 3);
    if (code.length < codeLength) {
        const missing = codeLength - code.length;
        throw invalid(`The link is incomplete: ${missing} ${missing === 1 ? 'character is' : 'characters are'} missing at its end.`);
    }
    if (code.length > codeLength) throw invalid('The link is mistyped: it is too long.');
    const bytes = decodeBase64URL(code + '=='.slice(0, (4 - codeLength % 4) % 4));
    if (bytes.length !== end || encodeBase64URL(bytes) !== code) throw invalid('The link is mistyped near its end.');
    return { id, secret: bytes.slice(begin, begin + 16), hostFingerprint: bytes.slice(begin + 16, begin + 48), isOverRelay };
}
