// The page that `share join --browser` serves on this computer. The program passes the page's requests on, and checks the certificate of
// each server by the link that names it.

import { encodeBase64URL } from './bytes.js';
import { delay } from './delay.js';
import { stage } from './elements.js';

// What all paths begin with; '' for the page of a host or a relay.
export function pageBase() { return stage.dataset.base || ''; }

// Asks the program to pass requests on to another server, which the one of this page has signed. What their paths begin with; null if it
// does not.
async function openPlace(request) {
    try {
        const answer = await fetch(`${pageBase()}/_/places`, {
            method: 'POST', cache: 'no-store', redirect: 'error', signal: AbortSignal.timeout(5000),
            headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(request),
        });
        return answer.status === 200 ? (await answer.json()).base : null;
    } catch { return null; }
}

// For an order of the host (see `redirectedLink`).
export function openRedirectPlace({ link, age, certificate, signature }, fingerprint, nonce) {
    return openPlace({ redirect: { link, age, certificate, signature }, viewer: encodeBase64URL(fingerprint), nonce });
}

// For one of the other relays of an event (see `otherLinks`), whose link is `url`.
export function openRelayPlace({ links, certificate, signature }, url) {
    return openPlace({ alternates: { links, certificate, signature }, link: links.find(text => new URL(text).href === url.href) });
}

// Returns when the program has ended, which knows by this stream that the page is open. Browsers end the stream, too, when the page is
// loaded again.
export async function waitForProgramEnd() {
    let isLeaving = false;
    addEventListener('beforeunload', () => { isLeaving = true; });
    for (;;) {
        try {
            const answer = await fetch(`${pageBase()}/_/presence`, { cache: 'no-store', redirect: 'error' });
            const reader = answer.body.getReader();
            while (!(await reader.read()).done) { /* Nothing is in it. */ }
        } catch { /* It has ended. */ }
        if (!isLeaving) return;
        await delay(1000);
        isLeaving = false;
    }
}
