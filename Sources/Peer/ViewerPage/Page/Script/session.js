// One session of this viewer, from the first request to its end.

import { makeProof } from './authentication.js';
import { holdOf, showPause } from './broadcast-pause.js';
import { encodeBase64URL, equalBytes, utf8 } from './bytes.js';
import { describeFailure } from './connection-failure.js';
import { showControls } from './controls.js';
import { delay } from './delay.js';
import { root } from './elements.js';
import { Handover } from './handover.js';
import { ICEServerRenewal, validServers } from './ice-server-renewal.js';
import { ownIdentity } from './identity.js';
import { requestAdmission } from './knock.js';
import { openRelayPlace, pageBase } from './local-page.js';
import { addressOfMove, otherLinks } from './other-relays.js';
import { PeerConnection } from './peer-connection.js';
import { addTrack, closePlayer, holdLastFrame, openPlayer } from './player.js';
import { offerRefusal } from './problem.js';
import { Reconnection } from './reconnection.js';
import { serverFingerprint } from './server-values.js';
import { sessionName, sha256Fingerprint, withSHA256FingerprintsOnly } from './sdp.js';
import { SealedMessages } from './sealed-messages.js';
import { SessionEnd, asSentence, askForNewLink, tryLater, wrongHost } from './session-end.js';
import { SignalingClient, problemOf } from './signaling-client.js';
import { markAudioAlone, markOutage, offerForm, show, showEncryption, showRecorderCount, showViewerCount, showViewerNames } from './view.js';

export class ViewerSession {
    // `admissions`: the store of the host's admission. `mustAsk`: shows the question; null if a click has answered it, so that the host
    // may be asked.
    constructor(link, admissions, name, mustAsk, interaction) {
        this.link = link;
        this.admissions = admissions;
        this.name = name;
        this.mustAsk = mustAsk;
        this.abort = new AbortController();
        const instance = encodeBase64URL(crypto.getRandomValues(new Uint8Array(16)));
        this.client = new SignalingClient(link, instance, this.abort.signal);
        this.reconnection = new Reconnection(this);
        this.handover = new Handover(this);
        this.renewal = new ICEServerRenewal(this);
        this.interaction = interaction;
        this.sealedMessages = new SealedMessages(this);
        this.isOver = this.hasPlayed = this.isInactive = false;
        // What the host holds back of the broadcast: 'pause', 'freeze' or 'blank'.
        this.hold = '';
        this.identity = this.fingerprint = this.peer = this.events = null;
        // While the session is at a server that has sealed media alone.
        this.sealedMedia = null;
        // Where the broadcast can be watched, too.
        this.others = [];
        this.noting = Promise.resolve();
        // The event that has named them.
        this.alternates = null;
    }

    async run() {
        openPlayer(hasPicture => this.playing(hasPicture));
        try {
            this.requireBrowserFeatures();
            show('connecting', 'Contacting the host ...');
            this.identity = await ownIdentity(!pageBase());
            // The host's token is for this certificate alone, so all connections of the session have it.
            this.fingerprint = sha256Fingerprint(await this.openPeer().draftOffer());
            if (!this.fingerprint) {
                throw new SessionEnd('error', 'This browser made no certificate that the host can check.', 'Use another browser, or share join.');
            }
            if (await this.connectAgain() || this.isOver) return;
            const { keys } = this.identity;
            const admitted = await requestAdmission(this.client, this.link, keys, this.fingerprint, this.name);
            if (this.isOver) return;
            const { token, iceServers, knock, seal, reconnect } = admitted;
            const isOnly = Boolean(reconnect && reconnect.only === true), fingerprint = encodeBase64URL(this.fingerprint);
            this.admissions.current = { token, iceServers, knock, seal, isOnly, fingerprint };
            if (this.identity.isStored) this.admissions.save();
            show('connecting', 'The host accepted. Connecting ...');
            if (reconnect && await this.handover.followAtOnce(reconnect)) return this.watch();
            await this.connect();
        } catch (error) {
            if (this.isOver) return;
            this.end(error instanceof SessionEnd ? error
                : new SessionEnd('error', 'This page failed: ' + (error && error.message || error), tryLater));
        }
    }

    requireBrowserFeatures() {
        if (!window.isSecureContext || !window.crypto || !crypto.subtle) {
            throw new SessionEnd('error', 'This page needs https.', 'Open the link as the host gave it.', '');
        }
        if (!window.RTCPeerConnection) {
            throw new SessionEnd('error', 'This browser cannot play shared screens: WebRTC is missing or switched off.',
                'Switch it on, use another browser, or watch with share join.', '');
        }
    }

    playing(hasPicture) {
        this.hasPlayed = true;
        show('playing', 'Playing');
        showControls();
        markAudioAlone(!hasPicture);
        if (this.isStill || !hasPicture) showPause(this.hold, this.isInactive);
    }

    // No new frame comes, and the session lives.
    get isStill() { return Boolean(this.hold) || this.isInactive; }

    // Replaces the session's connection.
    openPeer() {
        this.peer = this.makePeer(this.client, addTrack, this.sealedMedia);
        return this.peer;
    }

    // A connection that `client` negotiates. `sealedMedia`: null at the host.
    makePeer(client, onTrack, sealedMedia) {
        const peer = new PeerConnection([this.identity.certificate], {
            onTrack,
            onHostCandidates: count => { if (peer === this.peer) this.reconnection.noteHostCandidates(count); },
            onStateChange: () => this.connectionChanged(peer),
            onCheckFailure: () => { if (peer === this.peer) this.reconnection.suspect(); },
            sendCandidates: fragment => client.sendCandidates(fragment),
        }, sealedMedia);
        if (sealedMedia) this.watchTransforms(peer);
        return peer;
    }

    // Ends the session if the browser decodes what was not opened.
    async watchTransforms(peer) {
        while (!this.isOver && !peer.isClosed) {
            await delay(1000);
            const isBypassed = await peer.isBypassed().catch(() => false);
            if (isBypassed && !peer.isClosed) {
                this.end(new SessionEnd('error', 'This browser does not decrypt the video that it gets.',
                    'Nobody can tell who made it. Use another browser, or watch with share join.', ''));
            }
        }
    }

    // Whether the host seals what other servers send.
    get isSealed() {
        const { current } = (this.handover.home || this).admissions;
        return Boolean(current && current.seal && current.seal.isSealed !== false);
    }

    // With the admission from before, if the host still accepts it. False if the host has to be asked.
    async connectAgain() {
        if (!this.admissions.current) return false;
        // The host sends nothing itself, and says without a question where this viewer goes.
        if (this.admissions.current.isOnly) {
            this.admissions.forget();
            return false;
        }
        if (this.admissions.current.fingerprint === encodeBase64URL(this.fingerprint)) {
            show('connecting', 'Reconnecting ...');
            try {
                await this.connect();
                return true;
            } catch (error) {
                if (!(error instanceof SessionEnd) || error.state !== 'refused') throw error;
            }
        }
        this.admissions.forget();
        if (this.isOver) return true;
        if (this.mustAsk) {
            this.close();
            this.mustAsk();
            return true;
        }
        this.peer.close();
        this.openPeer();
        show('connecting', 'Contacting the host ...');
        return false;
    }

    async connect() {
        const { token } = this.admissions.current;
        if (typeof token !== 'string') throw new SessionEnd('error', 'The host answered without a token.', tryLater);
        this.client.token = token;
        await this.join(false);
        if (this.isOver) return;
        if (this.identity.isStored) this.admissions.save();
        this.watch();
        const isConnecting = () => !this.isOver && this.peer.state !== 'connected' && root.dataset.state !== 'playing';
        setTimeout(() => {
            if (isConnecting() && !this.isStill) show('connecting', 'Still connecting ...', 'A firewall or a router makes it difficult.');
        }, 6000);
        // A browser without any candidate pair never reports a failure. The host gives up after 20 s.
        setTimeout(() => { if (isConnecting()) this.endWithoutConnection(); }, 25000);
    }

    watch() {
        this.interaction.open(() => this.sealedMessages.speaker);
        this.listen();
        this.reconnection.watch();
    }

    // Opens a WHEP session for the connection of now, or for that of another place. `isSoon`: fails after 3 s without an answer.
    async join(isSoon, { peer, client, link, admissions } = this) {
        peer.useICEServers(await validServers(client, admissions, this.identity.isStored));
        const offer = await peer.makeOffer();
        const offered = sha256Fingerprint(offer);
        if (!offered || !equalBytes(offered, this.fingerprint)) {
            throw new SessionEnd('error', 'This browser has changed its certificate.', tryLater);
        }
        const answer = await client.sendOffer(offer, isSoon);
        if (answer.status !== 201) {
            if (this.reconnection.isInterrupted && answer.status >= 429) throw new Error('busy');
            throw offerRefusal(answer.status, await problemOf(answer));
        }
        client.sessionOpened(answer);
        const sdp = withSHA256FingerprintsOnly(await answer.text());
        await this.requireLinksHost(link, sdp, answer.headers.get('Share-Proof') || '');
        if (this.isOver) return client.leave();
        document.title = sessionName(sdp) || document.title;
        await peer.acceptAnswer(sdp);
    }

    // Checks before the DTLS handshake that the answer names the link's certificate and that its sender knows the
    // link's secret.
    async requireLinksHost(link, sdp, claimedProof) {
        const hostFingerprint = sha256Fingerprint(sdp);
        const proof = encodeBase64URL(await makeProof(link, 'share v1 host', this.fingerprint, link.hostFingerprint));
        if (!hostFingerprint || !equalBytes(hostFingerprint, link.hostFingerprint) || !equalBytes(utf8(claimedProof), utf8(proof))) {
            throw wrongHost();
        }
    }

    // Another WHEP session with the same token, under the last frame of the former one.
    async rejoin() {
        const former = this.client.resource;
        holdLastFrame();
        this.peer.close();
        this.openPeer();
        await this.join(true);
        if (!this.isOver && former) this.client.closeFormer(former);
    }

    // Reads the host's events until the session is over. Whether the host has gone is decided by the media: see `Reconnection`.
    async listen() {
        const { detector } = this.reconnection;
        let failures = 0;
        while (!this.isOver) {
            const stream = this.events = new AbortController(), asked = performance.now();
            const limit = setTimeout(() => stream.abort(), 5000);
            let isOpen = false;
            try {
                const answer = await this.client.openEvents(stream.signal);
                clearTimeout(limit);
                if ([401, 404, 410].includes(answer.status) && this.handover.goHome()) continue;
                if (answer.status === 404 || answer.status === 410) {
                    return this.end(new SessionEnd('ended', 'The host has stopped sharing.', askForNewLink, ''));
                }
                if (answer.status === 401) {
                    return this.end(new SessionEnd('ended', 'The host no longer accepts this viewer.', tryLater));
                }
                if (answer.ok && answer.body) {
                    failures = 0;
                    isOpen = true;
                    detector.eventStreamOpened();
                    await this.client.readEvents(answer, event => this.handle(event));
                } else { failures++; }
            } catch { if (!isOpen) failures++; }
            clearTimeout(limit);
            if (this.isOver) return;
            const now = performance.now();
            if (!isOpen) detector.eventStreamFailed(now - asked < 800);
            else if (!stream.signal.aborted) detector.eventStreamBroke(now);
            await delay(Math.min(300 * (failures + 1), 2000));
        }
    }

    reopenEvents() {
        if (this.events) this.events.abort();
        if (!this.isOver) this.interaction.reopen(this.handover.home !== null && !this.sealedMessages.isOverRelay);
    }

    handle(event) {
        if (this.sealedMessages.handle(event, opened => this.interaction.handle(opened))) return;
        if (event.type === 'ended') {
            const ending = new SessionEnd('ended', asSentence(event.reason, 'The host has stopped sharing.'), askForNewLink, '');
            if (!this.handover.goHome(ending)) this.end(ending);
        } else if (event.type === 'removed') {
            this.end(new SessionEnd('refused', asSentence(event.reason, 'The host removed you.'), 'You can ask again.', 'Ask again'));
        } else if (event.type === 'paused' || event.type === 'resumed') {
            this.setStill(event.type === 'paused' ? holdOf(event) : '', this.isInactive);
        } else if (event.type === 'inactive' || event.type === 'active') {
            this.setStill(this.hold, event.type === 'inactive');
        } else if (event.type === 'viewercount') {
            showViewerCount(Number(event.count ?? event.viewercount ?? event.viewerCount) || 0);
        } else if (event.type === 'recordercount') {
            showRecorderCount(Number(event.recordercount) || 0);
        } else if (event.type === 'viewers') {
            showViewerNames(event.names, Number(event.count) || 0);
        } else if (event.type === 'alternates') {
            this.noteOthers(event);
        } else if (event.type === 'reconnect') {
            if (event.link === undefined) this.noting.then(() => this.moveOn()); else this.handover.follow(event);
        } else if (event.type === 'return') {
            this.handover.comeBack();
        } else if (event.type === 'keys') {
            this.handover.frameKeys.handle(event.keys);
        } else if (event.type === 'candidates' && typeof event.fragment === 'string') {
            if (!this.isOver) this.peer.addCandidates(event.fragment);
        } else if (!this.isOver) {
            this.interaction.handle(event);
        }
    }

    // An order to go on may follow at once.
    noteOthers(event) {
        const { link } = this;
        this.noting = otherLinks(event, link, serverFingerprint).then(others => {
            if (this.link === link) [this.others, this.alternates] = [others, event];
        });
    }

    // Goes to another relay. False if none is known. The link of a relay is for media that it can open, so not for that of a sealed host.
    moveOn() {
        if (this.isOver || !this.others.length || this.isSealed) return false;
        const next = this.others[Math.floor(Math.random() * this.others.length)];
        this.close();
        show('connecting', 'Going on at another relay ...', next.host);
        this.openPage(next);
        return true;
    }

    // Loads the page of another relay, or this one again if the program of this computer serves it.
    async openPage(url) {
        let address = url;
        if (pageBase()) {
            const base = await openRelayPlace(this.alternates, url);
            if (!base) {
                show('ended', 'The other relay cannot be used.', tryLater);
                return offerForm('Try again', 0, true);
            }
            address = new URL(`${base}${url.pathname}${url.hash}`, location.href);
        }
        location.replace(addressOfMove(address, this.name, this.alternates.mark));
    }

    // In an outage the notice is about the outage.
    setStill(hold, isInactive) {
        if (this.isOver || this.hold === hold && this.isInactive === isInactive) return;
        [this.hold, this.isInactive] = [hold, isInactive];
        if (!this.reconnection.isInterrupted) showPause(hold, isInactive);
    }

    connectionChanged(peer) {
        if (this.isOver || peer !== this.peer) return;
        if (peer.state === 'connected') {
            for (const { transport } of peer.pc.getReceivers()) {
                if (!transport) continue;
                transport.onstatechange = () => { if (transport.state === 'closed') this.connectionClosed(peer); };
            }
            this.renewal.connected();
        } else if (peer.state === 'failed') {
            if (root.dataset.state !== 'playing') this.endWithoutConnection();
        } else if (peer.state === 'closed') {
            this.connectionClosed(peer);
        }
    }

    // The host's events say why, and Firefox may read them after the end of DTLS. In an outage the host may have closed this session
    // alone: then there will be another.
    async connectionClosed(peer) {
        const isCurrent = () => peer === this.peer && !this.reconnection.isInterrupted;
        if (!isCurrent()) return;
        await delay(1000);
        if (isCurrent()) this.endWithoutHost('The host closed the connection.');
    }

    // Without a network the other relays cannot be reached either, and this page would be lost.
    endWithoutHost(sentence) {
        if (navigator.onLine && (this.moveOn() || this.handover.goHome())) return;
        this.end(new SessionEnd('ended', sentence, tryLater));
    }

    endWithoutConnection() {
        const { pc } = this.peer;
        const hasTURN = (pc.getConfiguration().iceServers || []).some(server => String(server.urls).includes('turn'));
        const why = describeFailure((pc.localDescription || {}).sdp, (pc.remoteDescription || {}).sdp, hasTURN);
        this.end(new SessionEnd('error', 'No connection to the host is possible.', why));
    }

    // Without a word to the viewer.
    close() {
        this.isOver = true;
        this.renewal.stop();
        this.client.leave();
        this.abort.abort();
        this.reopenEvents();
        if (this.peer) this.peer.close();
        closePlayer();
        this.interaction.end();
        showViewerCount(null);
        showViewerNames([], 0);
        showEncryption(false);
        showRecorderCount(0);
        markOutage(false);
        markAudioAlone(false);
        if (this.isStill) showPause(false);
    }

    leave() { this.end(new SessionEnd('ended', 'You have left.')); }

    // `ending` is a SessionEnd.
    end(ending) {
        if (this.isOver) return;
        this.close();
        const button = ending.button ?? (this.hasPlayed ? 'Watch again' : 'Try again');
        // The link or the token is no longer valid.
        if (button === '' || button === 'Ask again') this.admissions.forget();
        show(ending.state, ending.message, ending.hint);
        offerForm(button, ending.seconds, !this.admissions.current);
    }
}
