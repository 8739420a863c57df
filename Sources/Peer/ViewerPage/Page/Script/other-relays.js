// The links of the broadcast at other relays of a cluster, and the way to one of them. Another relay is another origin, with another
// identity of this viewer, so the page is loaded from there, and begins without a click.

import { equalBytes } from './bytes.js';
import { parseLink } from './link.js';

const othersLimit = 8;

// The links among these texts that are for the same broadcast, as URLs.
export function otherLinks(texts, link) {
    if (!Array.isArray(texts)) return [];
    return texts.slice(0, othersLimit).flatMap(text => {
        try {
            const url = new URL(text), other = parseLink(url.pathname, url.hash);
            return url.protocol === 'https:' && other.id === link.id && equalBytes(other.secret, link.secret) ? [url] : [];
        } catch { return []; }
    });
}

// The address at which the page of the other relay begins for this viewer.
export function addressOfMove(url, name) {
    const address = new URL(url);
    address.search = new URLSearchParams({ moved: name });
    return address.href;
}

// The viewer's name if the page was loaded by a move; null otherwise.
export function nameAfterMove(search) { return new URLSearchParams(search).get('moved'); }
