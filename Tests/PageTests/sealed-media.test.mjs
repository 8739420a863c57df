// Sealed media at a fake worker and fake receivers: nothing is shown or heard before a frame was opened.

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { element, root } from './fake-page.mjs';
import { encodeKeys } from './fake-host.mjs';
import { range } from './support.mjs';
import { encodeBase64URL } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { PeerConnection } from '../../Sources/Peer/ViewerPage/Page/Script/peer-connection.js';
import { addTrack, closePlayer, holdLastFrame, openPlayer } from '../../Sources/Peer/ViewerPage/Page/Script/player.js';
import { SealedMedia } from '../../Sources/Peer/ViewerPage/Page/Script/sealed-media.js';

const workers = [];
globalThis.Worker = class {
    constructor(address) {
        Object.assign(this, { address, messages: [], answer: null });
        workers.push(this);
    }

    postMessage(message) {
        this.messages.push(message);
        if (message.count && this.answer !== null) report(message.count, this.answer, true);
    }
};
globalThis.RTCRtpScriptTransform = class {
    constructor(worker, options) { Object.assign(this, { worker, options }); }
};
globalThis.RTCRtpReceiver = {
    getCapabilities: () => ({ codecs: ['audio/opus', 'audio/red', 'audio/RED', 'audio/PCMU'].map(mimeType => ({ mimeType })) }),
};
globalThis.MediaStream = class {
    constructor(tracks = []) { this.tracks = [...tracks]; }
    addTrack(track) { this.tracks.push(track); }
    getVideoTracks() { return this.tracks.filter(({ kind }) => kind === 'video'); }
    getAudioTracks() { return this.tracks.filter(({ kind }) => kind === 'audio'); }
};
globalThis.RTCPeerConnection = class {
    constructor(configuration) { Object.assign(this, { configuration, transceivers: [] }); }
    addTransceiver(kind, options) {
        this.transceivers.push({ kind, ...options, receiver: makeReceiver(kind), setCodecPreferences(codecs) { this.codecs = codecs; } });
    }
    getTransceivers() { return this.transceivers; }
    close() {}
};

const entries = [{ epoch: 3, track: 0, step: 7, baseKey: range(0, 32) }];
const seal = { isSealed: true, keys: encodeBase64URL(encodeKeys(range(0, 16), entries)) };
const handlers = onTrack => ({ onTrack, onHostCandidates() {}, onStateChange() {}, onCheckFailure() {}, sendCandidates() {} });
const track = kind => ({ kind, enabled: true, muted: false });
const settled = () => new Promise(done => setTimeout(done));
let makeReceiver = kind => ({
    track: track(kind), framesDecoded: 0,
    async getStats() { return new Map([['a', { type: 'inbound-rtp', framesDecoded: this.framesDecoded }], ['b', { type: 'codec' }]]); },
});
function tell(peer, index) {
    const transceiver = peer.pc.transceivers[index], { receiver } = transceiver;
    peer.pc.ontrack({ receiver, track: receiver.track, transceiver });
    return receiver;
}
// A sealed connection whose video receiver has decoded some frames.
function decodingPeer(framesDecoded) {
    const peer = new PeerConnection([], handlers(() => {}), new SealedMedia(seal)), receiver = tell(peer, 0);
    receiver.framesDecoded = framesDecoded;
    return { peer, id: receiver.transform.options.id };
}
function report(id, opened, isAnswer = false) { workers[0].onmessage({ data: { id, opened, dropped: 0, isAnswer } }); }

afterEach(() => closePlayer());

test('the page has one worker, which gets the keys', () => {
    assert.throws(() => new SealedMedia({ isSealed: true }));
    assert.throws(() => new SealedMedia({ isSealed: true, keys: 'AQ' }));
    assert.ok(new SealedMedia(seal) && new SealedMedia(seal));
    assert.deepEqual(workers.map(({ address }) => address), ['/_/seal-worker.js']);
    assert.deepEqual(workers[0].messages[0], { keys: { run: range(0, 16), keys: entries } });
});

test('each receiver of a sealed connection has a transform before its track is told, and no RED', async () => {
    const told = [], sealedMedia = new SealedMedia(seal);
    const peer = new PeerConnection([], handlers((...args) => told.push(args)), sealedMedia);
    assert.deepEqual(peer.pc.transceivers.map(({ direction }) => direction), ['recvonly', 'recvonly', 'recvonly']);
    assert.deepEqual(peer.pc.transceivers.map(({ codecs }) => codecs && codecs.map(({ mimeType }) => mimeType)),
        [undefined, ['audio/opus', 'audio/PCMU'], ['audio/opus', 'audio/PCMU']]);
    // Before any track: Chromium would ignore it later.
    for (const { receiver } of peer.pc.transceivers) {
        assert.equal(receiver.transform.worker, workers[0]);
        assert.equal(receiver.transform.options.kind, receiver.track.kind);
    }
    assert.equal(peer.pc.configuration.encodedInsertableStreams, true);
    const receivers = [tell(peer, 0), tell(peer, 1)];
    assert.notEqual(receivers[0].transform.options.id, receivers[1].transform.options.id);
    const opened = [];
    told.forEach(([{ kind }, , , first]) => first.then(() => opened.push(kind)));
    report(receivers[1].transform.options.id, 0);
    await settled();
    assert.deepEqual(opened, []);
    report(receivers[1].transform.options.id, 1);
    await settled();
    assert.deepEqual(opened, ['audio']);
});

test('whoever made the sealed media is told that keys are missing, and that new ones are in use', async () => {
    const told = [], callbacks = { onNeedsKeys: () => told.push('needed'), onUsesNewKeys: () => told.push('used') };
    const media = new SealedMedia(seal, callbacks), peer = new PeerConnection([], handlers(() => {}), media);
    const [{ id }, other] = [0, 1].map(index => tell(peer, index).transform.options);
    report(id, 3);
    for (const message of [{ id, needsKeys: true }, { id: other.id, usesNewKeys: true }, { id: 9999, needsKeys: true }]) {
        workers[0].onmessage({ data: message });
    }
    assert.deepEqual(told, ['needed', 'used']);
    // They are no counts.
    assert.equal(peer.sealedReceivers[0].opened, 3);
    peer.close();
    workers[0].onmessage({ data: { id, needsKeys: true } });
    assert.equal(told.length, 2);
});

test('a track without a transform is not told, and a browser that takes none makes no connection', () => {
    const told = [], peer = new PeerConnection([], handlers(args => told.push(args)), new SealedMedia(seal));
    peer.pc.ontrack({ receiver: makeReceiver('video'), track: track('video'), transceiver: peer.pc.transceivers[0] });
    assert.deepEqual(told, []);
    const former = makeReceiver;
    makeReceiver = kind => Object.defineProperty({ track: track(kind) }, 'transform', { set() { throw new Error('not supported'); } });
    assert.throws(() => new PeerConnection([], handlers(() => {}), new SealedMedia(seal)), /not supported/);
    makeReceiver = former;
});

test('a connection to the host itself has no transform and every codec', () => {
    const told = [], peer = new PeerConnection([], handlers((...args) => told.push(args)));
    assert.deepEqual([tell(peer, 0).transform, peer.pc.transceivers[1].codecs, told[0][3]], [undefined, undefined, null]);
    assert.deepEqual(peer.pc.configuration, { bundlePolicy: 'max-bundle', certificates: [] });
});

test('of two audio tracks the second transceiver\'s is the microphone, also before one is played', () => {
    const told = [], peer = new PeerConnection([], handlers((...args) => told.push(args)));
    for (const index of [0, 1, 2]) tell(peer, index);
    assert.deepEqual(told.map(([, , isMicrophone]) => isMicrophone), [false, false, true]);
});

test('a browser that decodes more than was opened ignores the transform', async () => {
    const { peer, id } = decodingPeer(5);
    // What the page knows may be old, so the worker is asked.
    report(id, 3);
    workers[0].answer = 6;
    assert.equal(await peer.isBypassed(), false);
    report(id, 3);
    workers[0].answer = 4;
    assert.equal(await peer.isBypassed(), true);
    // A report that was on its way is no answer.
    workers[0].answer = null;
    report(id, 3);
    const asked = peer.isBypassed();
    await settled();
    report(id, 4);
    report(id, 5, true);
    assert.equal(await asked, false);
    peer.close();
});

test('a worker that does not answer has opened what it has told', async t => {
    const { peer } = decodingPeer(1);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const asked = peer.isBypassed();
    for (let i = 0; i < 20; i++) await Promise.resolve();
    t.mock.timers.tick(2000);
    assert.equal(await asked, true);
});

// A player whose video element has a frame, and promises of frames that were opened.
function player() {
    const shown = [], video = element('video'), lastFrame = element('last-frame'), gates = [];
    Object.assign(video, { videoWidth: 1280, videoHeight: 720, readyState: 2, paused: false, play: async () => {}, muted: false });
    Object.assign(element('microphone'), { play: async () => {} });
    lastFrame.hidden = true;
    lastFrame.getContext = () => ({ drawImage() {} });
    root.dataset.state = 'connecting';
    openPlayer(hasPicture => shown.push(hasPicture));
    const opened = () => new Promise(done => gates.push(done));
    return { shown, lastFrame, gates, opened, stream: new globalThis.MediaStream() };
}

test('video is hidden until a frame of it was opened', async () => {
    const { shown, lastFrame, gates, opened, stream } = player();
    holdLastFrame();
    assert.equal(lastFrame.hidden, false);
    addTrack(track('video'), stream, false, opened());
    await settled();
    assert.deepEqual([root.dataset.unopened, shown, lastFrame.hidden], ['', [], false]);
    gates[0]();
    await settled();
    assert.deepEqual([root.dataset.unopened, shown, lastFrame.hidden], [undefined, [true], true]);
});

test('a frame of a former connection does not show the video of the next', async () => {
    const { gates, opened, stream } = player();
    addTrack(track('video'), stream, false, opened());
    addTrack(track('video'), stream, false, opened());
    gates[0]();
    await settled();
    assert.equal(root.dataset.unopened, '');
    // Nothing of it is kept as the last frame.
    holdLastFrame();
    assert.equal(element('last-frame').hidden, true);
    // The host itself sends no sealed frames.
    addTrack(track('video'), stream, false);
    assert.equal(root.dataset.unopened, undefined);
});

test('audio is silent until a frame of its own track was opened', async () => {
    const { gates, opened, stream } = player(), system = track('audio'), microphone = track('audio'), video = track('video');
    addTrack(video, stream, false, opened());
    addTrack(system, stream, false, opened());
    addTrack(microphone, stream, true, opened());
    gates[0]();
    gates[2]();
    await settled();
    assert.deepEqual([video.enabled, system.enabled, microphone.enabled], [true, false, true]);
    gates[1]();
    await settled();
    assert.equal(system.enabled, true);
    const clear = track('audio');
    addTrack(clear, stream, false);
    assert.equal(clear.enabled, true);
});
