// The host's order to watch at its relay, and the way there and back. The former connection plays until the next one has a frame. Both
// places have this page's origin, so the viewer's identity is the same.

import { concatenate, decodeBase64URL, encodeBase64URL, utf8 } from './bytes.js';
import { isSignedBy } from './certificate.js';
import { delay } from './delay.js';
import { FrameKeys } from './frame-keys.js';
import { openKeys } from './key-agreement.js';
import { renewAdmission, requestAdmission } from './knock.js';
import { parseLink } from './link.js';
import { openRedirectPlace, pageBase } from './local-page.js';
import { addTrack, holdLastFrame } from './player.js';
import { SealedMedia } from './sealed-media.js';
import { SessionEnd, tryLater } from './session-end.js';
import { SignalingClient } from './signaling-client.js';
import { show, showEncryption } from './view.js';

const attempts = 5, returnLimit = 3;
// Returns are counted anew after so long at the only server that sends.
const stayTime = 60000;
// How long an order is valid, and by how much both clocks may differ, for each millisecond since the knock.
const lifetime = 30000, drift = 0.001;
// A relay sends at once what came since the last key frame; the page changes over when that has been shown.
const replayTime = 150;
// An order may be so old, and is newer than the last one. A server in between that keeps it back makes it look older.
function isCurrent(age, { at, followed }) {
    const elapsed = Date.now() - at;
    return Number.isSafeInteger(age) && age > followed && elapsed - age <= lifetime + elapsed * drift;
}

// The link of a redirect; null if the host of `link` has not signed it for this viewer a short while ago. `knock`: the one that the host
// has accepted, with the age of the last order that was followed.
export async function redirectedLink({ link: text, age, certificate, signature }, link, fingerprint, knock) {
    try {
        if (!isCurrent(age, knock)) return null;
        const message = concatenate(
            utf8('share v1 redirect'), utf8(link.id), link.hostFingerprint, fingerprint, decodeBase64URL(knock.nonce), utf8(`${age} ${text}`));
        const url = new URL(text);
        const isSigned = await isSignedBy(decodeBase64URL(certificate), link.hostFingerprint, decodeBase64URL(signature), message);
        return isSigned ? parseLink(url.pathname, url.hash) : null;
    } catch { return null; }
}

// Those of the admission may be too old when the host sends its viewer elsewhere.
async function takeNewerKeys(seal, wrap) {
    if (!seal.isSealed || typeof wrap !== 'string') return;
    const keys = await openKeys(wrap, decodeBase64URL(seal.wrapKey), decodeBase64URL(seal.run));
    if (keys) seal.keys = encodeBase64URL(keys);
}

export class Handover {
    // `timeLimit`: from the knock at the other place to its first frame, in milliseconds.
    constructor(session, timeLimit = 10000) {
        this.session = session;
        this.timeLimit = timeLimit;
        // Where the host is, while the session is elsewhere.
        this.home = null;
        this.isBusy = false;
        this.returns = 0;
        // When the session came to the only server that sends; null if its host sends, too.
        this.onlySince = null;
        // The session is on its way from there back to it: the host says where that is now.
        this.isReturning = false;
        this.frameKeys = new FrameKeys(this);
    }

    // Follows the order of the host, which is where the session is.
    async follow(event) {
        const { session } = this;
        if (this.isBusy || this.home || this.returns >= returnLimit) return;
        this.isBusy = true;
        const link = await this.destination(event);
        for (let attempt = 1; link && attempt <= attempts && !session.isOver; attempt++) {
            if (await this.tryOnce(link)) break;
            await delay((500 + 1000 * Math.random()) * attempt);
        }
        this.isBusy = false;
    }

    // Goes where the host has sent this viewer with its admission. False if the viewer has to watch at the host. Throws a `SessionEnd` if
    // the host does not send, and the other place neither.
    async followAtOnce(redirect) {
        const { session } = this, isOnly = redirect.only === true;
        session.client.token = session.admissions.current.token;
        const link = this.returns < returnLimit ? await this.destination(redirect) : null;
        for (let attempt = 1; link && attempt <= (isOnly ? attempts : 1) && !session.isOver; attempt++) {
            if (attempt > 1) await delay((500 + 1000 * Math.random()) * (attempt - 1));
            if (!await this.tryOnce(link)) continue;
            this.onlySince = isOnly ? performance.now() : null;
            return true;
        }
        if (isOnly) throw new SessionEnd('ended', 'The relay does not send what the host shows.', tryLater);
        if (link && !session.isOver) show('connecting', 'The relay does not send. Connecting to the host itself ...');
        return false;
    }

    // Where an order sends this viewer; null if it is not to be followed: only a host that has answered with version 2 of the knock has
    // said whether its media is sealed there.
    async destination(redirect) {
        const { link, fingerprint, admissions, identity } = this.session, { current } = admissions;
        if (!current.seal) return null;
        const found = await redirectedLink(redirect, link, fingerprint, current.knock);
        if (found && pageBase()) {
            found.base = await openRedirectPlace(redirect, fingerprint, current.knock.nonce);
            if (!found.base) return null;
        }
        if (found) {
            await takeNewerKeys(current.seal, redirect.keys);
            current.knock.followed = redirect.age;
            if (identity.isStored) admissions.save();
        }
        return found;
    }

    // Goes back to the host, which is about to end its publication where the session is.
    async comeBack() {
        const { session, home } = this;
        if (this.isBusy || !home) return;
        this.isBusy = true;
        this.frameKeys.stop();
        for (let attempt = 1; attempt <= attempts && this.home === home && !session.isOver; attempt++) {
            if (await this.tryOnce(home.link, home)) break;
            await delay((500 + 1000 * Math.random()) * attempt);
        }
        this.isBusy = false;
    }

    // Whether the session is there. The limit is one for all of it, so a place that does not answer costs that time at most. `home`: where
    // the host is, if the session goes back there.
    async tryOnce(link, home = null) {
        const { session } = this, stop = new AbortController();
        session.abort.signal.addEventListener('abort', () => stop.abort());
        const client = new SignalingClient(link, session.client.instance, stop.signal);
        const place = { link, client, peer: null, admissions: home && home.admissions, sealedMedia: null };
        const going = this.goTo(place, home);
        const limit = setTimeout(() => stop.abort(), this.timeLimit);
        try {
            await Promise.race([
                going, new Promise((_, fail) => stop.signal.addEventListener('abort', () => fail(new Error('too late')))),
            ]);
            return true;
        } catch {
            stop.abort();
            if (place.peer) place.peer.close();
            client.leave();
            // What was under way may have opened a session yet.
            going.catch(() => client.leave());
            return false;
        } finally { clearTimeout(limit); }
    }

    // Opens a session at another place, and changes over with its first frame.
    async goTo(place, home) {
        const { session } = this, { link, client } = place, tracks = [];
        if (!home) place.sealedMedia = this.sealedMedia();
        place.peer = session.makePeer(client, (...track) => tracks.push(track), place.sealedMedia);
        if (home) {
            await renewAdmission(session, home, client);
        } else {
            const current = await requestAdmission(client, link, session.identity.keys, session.fingerprint, session.name, true);
            client.token = current.token;
            place.admissions = { current, save() {}, forget() {}, forgetStored() {} };
        }
        await session.join(true, place);
        await firstFrame(tracks, client.signal);
        if (client.signal.aborted || session.isOver || session.reconnection.isInterrupted || this.home !== home) throw new Error('too late');
        this.changeOver(place, tracks);
    }

    // What opens the media of another server, as the host has said; null if it is not sealed.
    sealedMedia() {
        const { frameKeys } = this, { seal } = this.session.admissions.current;
        if (seal.isSealed === false) return null;
        return new SealedMedia(seal, { onNeedsKeys: () => frameKeys.request(), onUsesNewKeys: () => frameKeys.noteUse() });
    }

    changeOver(place, tracks) {
        const { session } = this, { link, client, peer, admissions, sealedMedia } = session;
        // Where the host's place is the next one, the session is not elsewhere any more.
        if (this.home) this.returns++;
        this.home = this.home ? null : { link, client, admissions, sealedMedia };
        holdLastFrame();
        Object.assign(session, place, { others: [] });
        showEncryption(session.sealedMedia !== null);
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
        this.frameKeys.stop();
        if (this.onlySince !== null && performance.now() - this.onlySince >= stayTime) this.returns = 0;
        this.returns++;
        session.client.leave();
        Object.assign(session, home, { others: [] });
        showEncryption(false);
        session.reopenEvents();
        this.rejoin(ending);
        return true;
    }

    async rejoin(ending) {
        const { session } = this;
        this.isReturning = this.onlySince !== null;
        try {
            await (this.isReturning ? this.returnAnew() : this.rejoinHost());
            session.reopenEvents();
        } catch (error) {
            const failure = error instanceof SessionEnd ? error : new SessionEnd('ended', 'The host cannot be reached.', tryLater);
            if (!session.isOver) session.end(ending || failure);
        } finally { this.isReturning = false; }
    }

    // With the token of before, or, if it has ended, with another one: the host knows this viewer.
    async rejoinHost() {
        const { session } = this;
        try {
            await session.rejoin();
        } catch (error) {
            if (!(error instanceof SessionEnd) || error.state !== 'refused') throw error;
            await renewAdmission(session, session);
            await session.rejoin();
        }
    }

    // To the only server that sends, of which the host gives the link and the keys of now.
    async returnAnew() {
        const { session } = this;
        session.reconnection.resumed();
        // The end of the former connection is no end of the session.
        holdLastFrame();
        session.peer.close();
        session.openPeer();
        const { reconnect } = await renewAdmission(session, session);
        if (!reconnect || !await this.followAtOnce(reconnect)) await session.rejoin();
    }
}

// Waits until the video of these tracks has a frame, which was opened if it is sealed, in an element that is not shown. Fails when
// `signal` is aborted.
async function firstFrame(tracks, signal) {
    const probe = document.createElement('video');
    probe.muted = probe.playsInline = true;
    try {
        while (!tracks.some(([track]) => track.kind === 'video')) {
            if (signal.aborted) throw new Error('no track');
            await delay(20);
        }
        const videos = tracks.filter(([track]) => track.kind === 'video');
        probe.srcObject = new MediaStream(videos.map(([track]) => track));
        await new Promise((resolve, fail) => {
            const stop = () => fail(new Error('no frame'));
            if (signal.aborted) stop();
            signal.addEventListener('abort', stop);
            const hasFrame = new Promise(done => { probe.onloadeddata = done; });
            Promise.all([hasFrame, ...videos.map(([, , , opened]) => opened)]).then(resolve);
            probe.play().catch(() => {});
        });
        await delay(replayTime);
    } finally { probe.srcObject = null; }
}
