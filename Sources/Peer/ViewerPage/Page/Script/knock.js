// Asks the host for admission: knock, challenge, the four words, and the host's decision.

import { fourWords, makeProof, signKnock, signTranscript, transcriptWords } from './authentication.js';
import { decodeBase64URL, encodeBase64URL } from './bytes.js';
import { delay } from './delay.js';
import { KeyAgreement, openKeys } from './key-agreement.js';
import { codecRefusal, encryptionRefusal, knockRefusal } from './problem.js';
import { oldLinkMessage, wordList } from './server-values.js';
import { SessionEnd, tryLater, wrongHost } from './session-end.js';
import { problemOf } from './signaling-client.js';
import { show, showWords } from './view.js';

// Whether this browser can decode video of a codec, as SDP names it.
function canShow(codec) {
    const receiver = typeof RTCRtpReceiver === 'undefined' ? null : RTCRtpReceiver;
    const capabilities = receiver && receiver.getCapabilities && receiver.getCapabilities('video');
    return !capabilities || capabilities.codecs.some(({ mimeType }) => mimeType.toLowerCase() === `video/${codec}`.toLowerCase());
}

// Whether this browser can open sealed frames (W3C WebRTC Encoded Transform).
function canOpenSealed() { return typeof RTCRtpScriptTransform !== 'undefined' && typeof Worker !== 'undefined'; }

const retryAfter = answer => Number(answer.headers.get('Retry-After')) || 0;
async function refusalOf(answer) { return knockRefusal(answer.status, await problemOf(answer), retryAfter(answer)); }

// Reads the host's challenge and answers it: the request's body and the four words. `isAgreed`: the host knows version 2. Throws a
// `SessionEnd` if nobody is to be asked.
async function answerChallenge(challenge, link, keys, fingerprint, agreement) {
    const nonce = decodeBase64URL(challenge.nonce || '');
    // Nobody is asked about a viewer that could show nothing.
    if (typeof challenge.video === 'string' && !canShow(challenge.video)) throw codecRefusal(challenge.video.slice(0, 16));
    if (nonce.length !== 16) throw new SessionEnd('error', 'The host answered without a challenge.');
    if (challenge.seal === undefined) {
        const signature = encodeBase64URL(await signKnock(link, keys.privateKey, fingerprint, nonce));
        return { body: { signature }, words: await fourWords(wordList, link, fingerprint, nonce), isAgreed: false };
    }
    if (!await agreement.accept(challenge.seal, link, fingerprint, nonce)) throw wrongHost();
    if (agreement.isSealed && !canOpenSealed()) throw encryptionRefusal();
    const signature = encodeBase64URL(await signTranscript(keys.privateKey, agreement.transcript));
    return { body: { signature, seal: agreement.opening }, words: await transcriptWords(wordList, agreement.transcript), isAgreed: true };
}

// How the host's media is sealed at other servers, for the tab's session storage; null if the knock was of version 1.
async function sealOf(agreement, wrap, link) {
    if (!agreement) return null;
    const { toHost, toViewer } = await agreement.messageKeys(link);
    const messages = { toHost: encodeBase64URL(toHost), toViewer: encodeBase64URL(toViewer) };
    if (!agreement.isSealed) return { isSealed: false, messages };
    const wrapKey = await agreement.wrapKey(link), keys = await openKeys(wrap, wrapKey, agreement.run);
    if (!keys) throw new SessionEnd('error', 'The host accepted, and gave no keys that open its video.', tryLater);
    const run = encodeBase64URL(agreement.run);
    return { isSealed: true, run, keys: encodeBase64URL(keys), wrapKey: encodeBase64URL(wrapKey), messages };
}

// The host's answer: token and ICE servers, the `knock` that its later orders name (see `redirectedLink`), and the `seal` (see `sealOf`).
// Throws a `SessionEnd` if it refuses. `isQuiet`: the page goes on playing meanwhile.
export async function requestAdmission(client, link, keys, fingerprint, name, isQuiet = false) {
    const tell = isQuiet ? () => {} : show;
    const body = {
        name: name || 'Guest', fingerprint: encodeBase64URL(fingerprint),
        proof: encodeBase64URL(await makeProof(link, 'share v1 viewer', fingerprint)),
        key: encodeBase64URL(new Uint8Array(await crypto.subtle.exportKey('raw', keys.publicKey))),
    };
    let answer, ticket, reply, knock, agreement;
    for (let attempt = 0; ; attempt++) {
        // The wall clock goes on while the machine sleeps, and over a reload.
        knock = { nonce: encodeBase64URL(crypto.getRandomValues(new Uint8Array(16))), at: Date.now(), followed: -1 };
        agreement = await KeyAgreement.make();
        answer = await client.knock({ ...body, nonce: knock.nonce, commitment: encodeBase64URL(agreement.commitment) });
        if (answer.status === 202) {
            // The challenge's nonce is the host's, and the person there is asked only after the signature.
            ticket = client.ticket = answer.headers.get('Location');
            try {
                reply = await answerChallenge(await answer.json(), link, keys, fingerprint, agreement);
            } catch (error) {
                client.withdraw();
                throw error;
            }
            if (!ticket) throw new SessionEnd('error', 'The host answered without a challenge.');
            answer = await client.sendJSON('PUT', ticket, reply.body);
        }
        if (answer.status !== 429 && answer.status !== 503 || attempt >= 5) break;
        tell('connecting', 'The host is busy. Trying again ...');
        await delay(1000 * Math.min(Math.max(retryAfter(answer) || 2, 1), 30));
    }
    if (answer.status === 404) throw new SessionEnd('ended', ...oldLinkMessage, '');
    if (answer.status !== 204) throw await refusalOf(answer);
    tell('waiting', 'Waiting for the host to accept ...', 'The host sees your name and the same four words.' + (link.isOverRelay && !link.base
        ? ' This page is from the relay, which could change it; the program share does not depend on that.' : ''));
    if (!isQuiet) showWords(reply.words);
    const decision = await waitForDecision(client, ticket);
    client.ticket = null;
    if (decision.status === 200) {
        const { keys: wrap, ...admission } = await decision.json();
        return { ...admission, knock, seal: await sealOf(reply.isAgreed ? agreement : null, wrap, link) };
    }
    // Browsers suspend hidden pages, as while their owner tells the words, and a knock that is not polled is withdrawn. A poll within
    // a minute restores it with the same words; later it is a new knock.
    if (decision.status === 410 && (await problemOf(decision.clone())).type === 'not-found') {
        if (document.hidden) await new Promise(done => document.addEventListener('visibilitychange', done, { once: true }));
        return requestAdmission(client, link, keys, fingerprint, name, isQuiet);
    }
    throw await refusalOf(decision);
}

// Has the host admit a viewer anew, whom it knows. `place`: where the host is. `client`: asks it. A host that seals does so to its end: a
// server in between that strips a knock of its version 2 would make it look like one that does not.
export async function renewAdmission({ identity, fingerprint, name }, place, client = place.client) {
    const { admissions } = place, isSealed = ({ seal }) => Boolean(seal && seal.isSealed);
    const current = await requestAdmission(client, place.link, identity.keys, fingerprint, name, true);
    // Who has left meanwhile keeps none.
    client.signal.throwIfAborted();
    if (typeof current.token !== 'string' || isSealed(admissions.current) && !isSealed(current)) throw wrongHost();
    admissions.current = { ...admissions.current, ...current };
    place.client.token = client.token = current.token;
    if (identity.isStored) admissions.save();
    return current;
}

// Polls until the host has decided.
async function waitForDecision(client, ticket) {
    let failures = 0;
    for (;;) {
        let answer;
        try {
            answer = await client.request(ticket);
            failures = 0;
        } catch (error) {
            if (client.signal.aborted || ++failures > 4) throw error;
            await delay(500 * failures);
            continue;
        }
        if (answer.status === 202) await delay(50);
        else if (answer.status === 429 || answer.status === 503) await delay(2000);
        else return answer;
    }
}
