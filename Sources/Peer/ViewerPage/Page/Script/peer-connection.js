// A receiving RTCPeerConnection: offers, the host's answers, candidates in both directions, ICE restarts.

import { delay } from './delay.js';
import {
    fragmentCandidates, iceCredentials, restartedAnswer, trickleFragment, usernameFragment, withStereo,
} from './sdp.js';

const isHostCandidate = candidate => / typ host/.test(candidate && candidate.candidate);
const fragmentLimit = 40;

// Redundant audio (RFC 2198) has several frames in a payload, and none of them could be opened.
function leaveOutRED(transceiver) {
    try {
        const { codecs } = RTCRtpReceiver.getCapabilities('audio');
        transceiver.setCodecPreferences(codecs.filter(({ mimeType }) => mimeType.toLowerCase() !== 'audio/red'));
    } catch { /* This browser cannot choose: what it gets as RED is dropped. */ }
}

export class PeerConnection {
    // `onTrack(track, stream, isMicrophone)`, `onHostCandidates(count)`, `onStateChange()`, `onCheckFailure()` for connectivity
    // checks without answers; `sendCandidates(fragment)` throws when it has to be repeated. With `sealedMedia` each frame is sealed, and
    // `onTrack` has a fourth argument: a promise that is fulfilled when a frame of the track was opened.
    constructor(certificates, { onTrack, onHostCandidates, onStateChange, onCheckFailure, sendCandidates }, sealedMedia = null) {
        this.configuration = { bundlePolicy: 'max-bundle', certificates };
        // Without this (Chromium's alone) Chromium passes frames on in clear when a receiver has no transform at once, and ignores one that
        // comes later. With it nothing is decoded without a transform.
        if (sealedMedia) this.configuration.encodedInsertableStreams = true;
        const pc = this.pc = new RTCPeerConnection(this.configuration);
        this.sendCandidates = sendCandidates;
        // Not sent yet; null is the end of candidates.
        this.candidates = [];
        this.hostCandidates = 0;
        // Of the last offer.
        this.credentials = null;
        this.answer = null;
        this.hasAnswer = this.isTrickling = this.isClosed = false;
        for (const kind of ['video', 'audio', 'audio']) pc.addTransceiver(kind, { direction: 'recvonly' });
        const stream = new MediaStream(), transceivers = pc.getTransceivers();
        let hasAudio = false;
        if (sealedMedia) transceivers.slice(1).forEach(leaveOutRED);
        // At once: in the `track` event Chromium 156 ignores them, even with the first frame still to come.
        this.sealedReceivers = sealedMedia ? transceivers.map(({ receiver }) => sealedMedia.attach(receiver)) : [];
        pc.ontrack = event => {
            const sealed = this.sealedReceivers.find(({ receiver }) => receiver === event.receiver) || null;
            if (sealedMedia && !sealed) return;
            try { event.receiver.jitterBufferTarget = 0; } catch { /* Not in this browser. */ }
            try { event.receiver.playoutDelayHint = 0; } catch { /* Not in this browser. */ }
            const isMicrophone = event.transceiver === transceivers[2] && hasAudio;
            if (event.track.kind === 'audio') hasAudio = true;
            onTrack(event.track, stream, isMicrophone, sealed && sealed.firstOpened);
        };
        pc.onicecandidate = event => {
            if (this.isClosed) return;
            this.candidates.push(event.candidate && event.candidate.candidate ? event.candidate.candidate : null);
            if (isHostCandidate(event.candidate)) this.hostCandidates++;
            onHostCandidates(this.hostCandidates);
            this.trickle();
        };
        pc.oniceconnectionstatechange = () => {
            if (pc.iceConnectionState === 'disconnected' || pc.iceConnectionState === 'failed') onCheckFailure();
        };
        pc.onconnectionstatechange = () => { if (!this.isClosed) onStateChange(); };
    }

    get state() { return this.pc.connectionState; }

    useICEServers(iceServers) {
        if (!Array.isArray(iceServers) || !iceServers.length) return;
        try {
            this.pc.setConfiguration({ ...this.configuration, iceServers });
        } catch { /* The browser refuses them: without. */ }
    }

    // An offer that is not set, for its fingerprint.
    async draftOffer() { return (await this.pc.createOffer()).sdp; }

    async makeOffer() {
        await this.setOffer(await this.pc.createOffer());
        return this.pc.localDescription.sdp;
    }

    async setOffer(offer) {
        try {
            await this.pc.setLocalDescription({ type: 'offer', sdp: withStereo(offer.sdp) });
        } catch { await this.pc.setLocalDescription(offer); }
        this.credentials = iceCredentials(this.pc.localDescription.sdp);
    }

    async acceptAnswer(sdp) {
        await this.pc.setRemoteDescription({ type: 'answer', sdp });
        this.answer = sdp;
        this.hasAnswer = true;
        this.trickle();
    }

    fragment(credentials, candidates) { return trickleFragment(this.pc.getTransceivers()[0].mid, credentials, candidates); }

    // Sends the candidates that are not sent yet.
    async trickle() {
        if (!this.hasAnswer || this.isTrickling) return;
        this.isTrickling = true;
        let failures = 0;
        while (this.candidates.length && this.hasAnswer && !this.isClosed) {
            const queue = this.candidates, some = queue.slice(0, fragmentLimit);
            try {
                await this.sendCandidates(this.fragment(this.credentials, some));
                queue.splice(0, some.length);
                failures = 0;
            } catch { await delay(Math.min(300 * ++failures, 1000)); }
        }
        this.isTrickling = false;
    }

    // Takes candidates that the host found after its answer. The fragment has all of them so far.
    async addCandidates(fragment) {
        const remote = this.pc.remoteDescription, ufrag = usernameFragment(fragment);
        if (this.isClosed || !remote || ufrag !== usernameFragment(remote.sdp)) return;
        for (const candidate of fragmentCandidates(fragment)) {
            try {
                await this.pc.addIceCandidate({ candidate, sdpMLineIndex: 0, usernameFragment: ufrag });
            } catch { /* Of a kind that this browser does not know. */ }
        }
    }

    // An ICE restart on the network of now, with the same keys. `exchange` sends a fragment and returns the host's, or null. The
    // offer is set together with its answer: Firefox plays nothing after an offer that was rolled back, and Chromium would check
    // the host's former agent from its new addresses and stay with it. False if the host takes no restart.
    async restart(exchange) {
        const offer = await this.pc.createOffer({ iceRestart: true });
        const fragment = await exchange(this.fragment(iceCredentials(offer.sdp), []));
        if (fragment === null) return false;
        const sdp = restartedAnswer(this.answer, fragment);
        this.hasAnswer = false;
        this.candidates = [];
        this.hostCandidates = 0;
        try {
            await Promise.all([this.setOffer(offer), this.pc.setRemoteDescription({ type: 'answer', sdp })]);
        } catch { return false; }
        this.answer = sdp;
        this.hasAnswer = true;
        this.trickle();
        return true;
    }

    // Whether the browser has decoded sealed frames that were not opened.
    async isBypassed() { return (await Promise.all(this.sealedReceivers.map(receiver => receiver.isBypassed()))).includes(true); }

    close() {
        this.isClosed = true;
        this.pc.close();
        for (const receiver of this.sealedReceivers) receiver.close();
    }
}

// How many host candidates this machine has now, counted up to `limit` within a second.
export async function countHostCandidates(limit) {
    const pc = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
    let count = 0;
    pc.onicecandidate = event => { if (isHostCandidate(event.candidate)) count++; };
    try {
        for (const kind of ['video', 'audio', 'audio']) pc.addTransceiver(kind, { direction: 'recvonly' });
        await pc.setLocalDescription(await pc.createOffer());
        for (let i = 0; i < 20 && count < limit; i++) await delay(50);
    } catch { /* As many as were found. */ }
    pc.close();
    return count;
}
