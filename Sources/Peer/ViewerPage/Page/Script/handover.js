// The host's order to watch at its relay, and the way there and back. The former connection plays until the next one has a frame. Both
// places have this page's origin, so the viewer's identity is the same.

import { concatenate, decodeBase64URL, equalBytes, utf8 } from './bytes.js';
import { delay } from './delay.js';
import { requestAdmission } from './knock.js';
import { parseLink } from './link.js';
import { addTrack, holdLastFrame } from './player.js';
import { SessionEnd, tryLater } from './session-end.js';
import { SignalingClient } from './signaling-client.js';

const attempts = 5, returnLimit = 3, timeLimit = 10000;
// A relay sends at once what came since the last key frame; the page changes over when that has been shown.
const replayTime = 150;
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

// The link of a redirect; null if the host of `link` has not signed it for this viewer.
export async function redirectedLink({ link: text, certificate, signature }, link, fingerprint) {
    try {
        const der = decodeBase64URL(certificate);
        if (!equalBytes(new Uint8Array(await crypto.subtle.digest('SHA-256', der)), link.hostFingerprint)) return null;
        const key = await crypto.subtle.importKey('raw', publicPoint(der), { name: 'ECDSA', namedCurve: 'P-256' }, false, ['verify']);
        const message = concatenate(utf8('share v1 redirect'), utf8(link.id), link.hostFingerprint, fingerprint, utf8(text));
        const isSigned = await crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, decodeBase64URL(signature), message);
        const url = new URL(text);
        return isSigned ? parseLink(url.pathname, url.hash) : null;
    } catch { return null; }
}

export class Handover {
    constructor(session) {
        this.session = session;
        // Where the host is, while the session is elsewhere.
        this.home = null;
        this.isBusy = false;
        this.returns = 0;
    }

    // Follows the order of the host, which is where the session is.
    async follow(event) {
        const { session } = this;
        if (this.isBusy || this.home || this.returns >= returnLimit) return;
        this.isBusy = true;
        const link = await redirectedLink(event, session.link, session.fingerprint);
        for (let attempt = 1; link && attempt <= attempts && !session.isOver; attempt++) {
            if (await this.tryOnce(link)) break;
            await delay((500 + 1000 * Math.random()) * attempt);
        }
        this.isBusy = false;
    }

    // Goes where the host has sent this viewer with its admission. False if the viewer has to watch at the host.
    async followAtOnce(redirect) {
        const { session } = this;
        session.client.token = session.admissions.current.token;
        const link = await redirectedLink(redirect, session.link, session.fingerprint);
        return link !== null && await this.tryOnce(link);
    }

    // Whether the session is there.
    async tryOnce(link) {
        const { session } = this, tracks = [];
        const client = new SignalingClient(link, session.client.instance, session.abort.signal);
        const peer = session.makePeer(client, (...track) => tracks.push(track));
        try {
            const current = await requestAdmission(
                client, link, session.identity.keys, session.fingerprint, session.name, true);
            client.token = current.token;
            const admissions = { current, save() {}, forget() {}, forgetStored() {} };
            await session.join(true, { peer, client, link, admissions });
            await firstFrame(tracks);
            if (session.isOver || session.reconnection.isInterrupted) throw new Error('too late');
            this.changeOver({ link, client, peer, admissions }, tracks);
            return true;
        } catch {
            peer.close();
            client.leave();
            return false;
        }
    }

    changeOver(place, tracks) {
        const { session } = this, { link, client, peer, admissions } = session;
        this.home = { link, client, admissions };
        holdLastFrame();
        Object.assign(session, place, { others: [] });
        for (const track of tracks) addTrack(...track);
        session.connectionChanged(session.peer);
        session.reopenEvents();
        client.leave();
        peer.close();
    }

    // Goes back to the host when the other place has ended. False if the session is not elsewhere. `ending`: what the viewer is told if
    // the host has ended, too.
    goHome(ending = null) {
        const { session, home } = this;
        if (!home || session.isOver) return false;
        this.home = null;
        this.returns++;
        session.client.leave();
        Object.assign(session, home, { others: [] });
        session.reopenEvents();
        this.rejoin(ending);
        return true;
    }

    // With the token of before, or, if it has ended, with another one: the host knows this viewer.
    async rejoin(ending) {
        const { session } = this;
        try {
            try {
                await session.rejoin();
            } catch (error) {
                if (!(error instanceof SessionEnd) || error.state !== 'refused') throw error;
                const current = await requestAdmission(
                    session.client, session.link, session.identity.keys, session.fingerprint, session.name, true);
                session.admissions.current = { ...session.admissions.current, ...current };
                session.client.token = current.token;
                await session.rejoin();
            }
            session.reopenEvents();
        } catch (error) {
            const failure = error instanceof SessionEnd ? error : new SessionEnd('ended', 'The host cannot be reached.', tryLater);
            if (!session.isOver) session.end(ending || failure);
        }
    }
}

// Waits until the video of these tracks has a frame, in an element that is not shown.
async function firstFrame(tracks) {
    const probe = document.createElement('video'), until = performance.now() + timeLimit;
    probe.muted = probe.playsInline = true;
    try {
        while (!tracks.some(([track]) => track.kind === 'video')) {
            if (performance.now() > until) throw new Error('no track');
            await delay(20);
        }
        probe.srcObject = new MediaStream(tracks.map(([track]) => track).filter(track => track.kind === 'video'));
        await Promise.race([
            new Promise(resolve => { probe.onloadeddata = resolve; probe.play().catch(() => {}); }),
            delay(timeLimit).then(() => { throw new Error('no frame'); }),
        ]);
        await delay(replayTime);
    } finally { probe.srcObject = null; }
}
