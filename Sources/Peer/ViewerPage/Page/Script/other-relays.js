// The links of the broadcast at other relays of a cluster, and the way to one of them. Another relay is another origin, with another
// identity of this viewer, so the page is loaded from there, and begins without a click. Only links that this page's own server has
// signed are followed: the events may be those of a host, which this server forwards.

import { concatenate, decodeBase64URL, equalBytes, utf8 } from './bytes.js';
import { isSignedBy } from './certificate.js';
import { parseLink } from './link.js';

const othersLimit = 8, textLimit = 512;

// The links of an `alternates` event that are for the same broadcast, as URLs. `server`: the fingerprint of the server's certificate, in
// base64url.
export async function otherLinks({ links, certificate, signature }, link, server) {
    try {
        if (!Array.isArray(links) || links.length > othersLimit) return [];
        if (!links.every(text => typeof text === 'string' && text.length <= textLimit && !text.includes(' '))) return [];
        const fingerprint = decodeBase64URL(server);
        const message = concatenate(utf8('share v1 alternates'), utf8(link.id), fingerprint, utf8(links.join(' ')));
        if (!await isSignedBy(decodeBase64URL(certificate), fingerprint, decodeBase64URL(signature), message)) return [];
    } catch { return []; }
    return links.flatMap(text => {
        try {
            const url = new URL(text), other = parseLink(url.pathname, url.hash);
            return url.protocol === 'https:' && other.id === link.id && equalBytes(other.secret, link.secret) ? [url] : [];
        } catch { return []; }
    });
}

// The address at which the page of the other relay begins for this viewer. `mark`: of the former relay, valid once for two minutes.
export function addressOfMove(url, name, mark) {
    const address = new URL(url);
    address.search = new URLSearchParams(typeof mark === 'string' ? { moved: name, mark } : { moved: name });
    return address.href;
}

// The viewer's name and the mark if the page was loaded by a move; null otherwise.
export function moveOf(search) {
    const values = new URLSearchParams(search), name = values.get('moved');
    return name === null ? null : { name, mark: values.get('mark') };
}

// Whether another relay has sent this viewer here. Any site can make the rest of the address.
export async function isMove(mark, link, request = (...options) => fetch(...options)) {
    if (!mark) return false;
    try {
        const answer = await request(`${link.base || ''}/${link.id}/moved`, {
            method: 'POST', cache: 'no-store', redirect: 'error', signal: AbortSignal.timeout(5000),
            headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ mark }),
        });
        return answer.status === 204;
    } catch { return false; }
}
