import assert from 'node:assert/strict';
import { test } from 'node:test';
import { element } from './fake-page.mjs';
import { FakeHost, encodeKeys, encodeNewEpoch, wrapWith } from './fake-host.mjs';
import { AdmissionStore } from '../../Sources/Peer/ViewerPage/Page/Script/admission.js';
import { concatenate, decodeBase64URL, encodeBase64URL, utf8 } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { Handover, redirectedLink } from '../../Sources/Peer/ViewerPage/Page/Script/handover.js';
import { SessionEnd } from '../../Sources/Peer/ViewerPage/Page/Script/session-end.js';
import { SignalingClient } from '../../Sources/Peer/ViewerPage/Page/Script/signaling-client.js';
import { link, range, viewerFingerprint } from './support.mjs';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
const hash = async bytes => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
const target = 'https://relay.example:8443/ABCDEFGH01234#' + encodeBase64URL(concatenate(Uint8Array.of(1), range(80, 96), range(96, 128)));

// The viewer's knock, so many milliseconds ago.
const knock = (elapsed = 200, followed = -1) => ({ nonce: encodeBase64URL(range(160, 176)), at: Date.now() - elapsed, followed });

// A host, its link, and what it signs.
async function makeHost() {
    const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify']);
    const key = new Uint8Array(await crypto.subtle.exportKey('spki', publicKey));
    // Only the key is read from a certificate whose hash is the link's.
    const certificate = concatenate(range(0, 90), key, range(0, 80));
    const known = { ...link, hostFingerprint: await hash(certificate) };
    async function redirect(text, { viewer = viewerFingerprint, id = link.id, nonce = range(160, 176), age = 100 } = {}) {
        const message = concatenate(utf8('share v1 redirect'), utf8(id), known.hostFingerprint, viewer, nonce, utf8(`${age} ${text}`));
        const signature = new Uint8Array(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, message));
        return { type: 'reconnect', link: text, age, certificate: encodeBase64URL(certificate), signature: encodeBase64URL(signature) };
    }
    return { known, redirect };
}

test('a redirect that the host has signed for this viewer is followed', async () => {
    const { known, redirect } = await makeHost();
    const found = await redirectedLink(await redirect(target), known, viewerFingerprint, knock());
    assert.equal(found.id, 'ABCDEFGH01234');
    assert.deepEqual(found.hostFingerprint, range(96, 128));
});

test('nobody but the host sends a viewer elsewhere', async () => {
    const { known, redirect } = await makeHost(), other = await makeHost();
    const good = await redirect(target);
    const refused = [
        await other.redirect(target), { ...good, certificate: (await other.redirect(target)).certificate },
        { ...good, link: target.replace('relay', 'other') }, await redirect(target, { viewer: range(1, 33) }), await redirect(target, { id: '0123456789ABD' }), await redirect(target, { nonce: range(161, 177) }),
        { ...good, signature: encodeBase64URL(range(0, 64)) }, { ...good, signature: '' }, { ...good, certificate: '' },
        { ...good, certificate: encodeBase64URL(decodeBase64URL(good.certificate).slice(1)) }, { ...good, link: null }, { ...good, age: 101 }, { ...good, age: '100' }, { ...good, age: undefined }, {}, await redirect('nonsense'),
    ];
    for (const event of refused) assert.equal(await redirectedLink(event, known, viewerFingerprint, knock()), null, JSON.stringify(event));
});

test('an order is followed for 30 s, and if it is newer than the last one', async () => {
    const { known, redirect } = await makeHost();
    const isFollowed = async (age, elapsed, followed) =>
        await redirectedLink(await redirect(target, { age }), known, viewerFingerprint, knock(elapsed, followed)) !== null;
    assert.ok(await isFollowed(0, 29000));
    assert.ok(!await isFollowed(0, 32000));
    assert.ok(await isFollowed(3600000, 3625000));
    assert.ok(!await isFollowed(3600000, 3640000));
    assert.ok(await isFollowed(101, 200, 100));
    assert.ok(!await isFollowed(100, 200, 100));
    assert.ok(!await isFollowed(-1, 200));
    // A page that was loaded before pages knew of it.
    assert.equal(await redirectedLink(await redirect(target), known, viewerFingerprint, undefined), null);
});

// A session at a host that has sent it elsewhere, whose requests are answered by `answer`.
async function watching(answer, makePeer = () => ({ close() { this.isClosed = true; } })) {
    const { known, redirect } = await makeHost(), requests = [];
    globalThis.fetch = (path, options = {}) => {
        requests.push(`${options.method || 'GET'} ${path}`);
        return new Promise((resolve, fail) => {
            if (options.signal) options.signal.addEventListener('abort', () => fail(new Error('aborted')));
            const found = answer(path);
            if (found) resolve(found);
        });
    };
    const keys = await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify']);
    const session = {
        link: known, fingerprint: viewerFingerprint, abort: new AbortController(), client: { instance: 'i' }, name: 'Ann', isOver: false,
        identity: { keys, isStored: false }, admissions: { current: { token: 't', knock: knock(), seal: { isSealed: false } } }, makePeer,
    };
    return { session, order: await redirect(target), requests };
}

test('a place that does not answer costs its time limit at most, and the session stays', async () => {
    const { session, order, requests } = await watching(() => null);
    const handover = new Handover(session, 50);
    assert.equal(await handover.followAtOnce(order), false);
    assert.deepEqual(requests, ['POST /ABCDEFGH01234/knock']);
    assert.equal(handover.home, null);
    assert.equal(session.client.token, 't');
    assert.equal(session.admissions.current.knock.followed, 100);
});

test('a knock that nobody answers in time is withdrawn', async () => {
    const { session, order, requests } = await watching(path => {
        if (path.endsWith('/knock')) {
            return new Response(JSON.stringify({ nonce: encodeBase64URL(range(64, 80)) }), { status: 202, headers: { Location: '/k' } });
        }
        return requests.at(-1) === 'PUT /k' ? new Response(null, { status: 204 }) : null;
    });
    assert.equal(await new Handover(session, 1000).followAtOnce(order), false);
    assert.deepEqual(requests, ['POST /ABCDEFGH01234/knock', 'PUT /k', 'GET /k', 'DELETE /k']);
});

test('a session that is called back knocks at its host and stays where it is until that has a frame', async () => {
    const { session, requests } = await watching(() => null);
    const handover = new Handover(session, 50), { admissions } = session;
    // Whoever is at the host already has nowhere to go.
    await handover.comeBack();
    assert.deepEqual(requests, []);
    const client = { leave() { this.hasLeft = true; } };
    handover.home = { link: session.link, client, admissions };
    session.link = { ...session.link, id: 'ABCDEFGH01234' };
    const going = handover.comeBack();
    await handover.comeBack();
    while (!requests.length) await new Promise(done => setTimeout(done));
    session.isOver = true;
    await going;
    assert.deepEqual(requests, [`POST /${link.id}/knock`]);
    assert.deepEqual([handover.isBusy, handover.returns, handover.home.client, client.hasLeft], [false, 0, client, undefined]);
});

const entries = [{ epoch: 3, track: 0, step: 7, baseKey: range(0, 32) }];
const sealed = { isSealed: true, keys: encodeBase64URL(encodeKeys(range(0, 16), entries)) };
// The third argument is what opens the media of the place.
function recordingPeers() {
    const media = [], makePeer = (_client, _onTrack, sealedMedia) => {
        media.push(sealedMedia);
        return { close() {} };
    };
    return { media, makePeer };
}

test('an order of a host that has answered with version 1 is not followed', async () => {
    for (const seal of [null, undefined]) {
        const { media, makePeer } = recordingPeers(), { session, order, requests } = await watching(() => null, makePeer);
        session.admissions.current.seal = seal;
        const handover = new Handover(session, 50);
        assert.equal(await handover.followAtOnce(order), false);
        await handover.follow(order);
        assert.deepEqual([media, requests, handover.isBusy], [[], [], false]);
    }
});

test('another server of a sealed host has sealed media alone, after a reload too, and that of another host has none', async () => {
    const workers = [];
    globalThis.Worker = class {
        constructor() { workers.push(this); }
        postMessage(message) { this.message = message; }
    };
    for (const [seal, isSealed] of [[sealed, true], [{ isSealed: false }, false]]) {
        const { media, makePeer } = recordingPeers(), { session, order } = await watching(() => null, makePeer);
        const items = new Map(), storage = { getItem: key => items.get(key) ?? null, setItem: (key, value) => items.set(key, value) };
        const store = new AdmissionStore('A', storage);
        store.current = { ...session.admissions.current, fingerprint: 'f', seal };
        store.save();
        session.admissions = new AdmissionStore('A', storage);
        await new Handover(session, 50).followAtOnce(order);
        assert.deepEqual(media.map(Boolean), [isSealed]);
    }
    assert.equal(workers.length, 1);
    assert.equal(workers[0].message.keys.keys[0].step, 7);
});

test('a sealed host whose keys are missing sends nobody elsewhere', async () => {
    for (const seal of [{ isSealed: true }, { isSealed: true, keys: 'AQ' }, {}]) {
        const { media, makePeer } = recordingPeers(), { session, order, requests } = await watching(() => null, makePeer);
        session.admissions.current.seal = seal;
        assert.equal(await new Handover(session, 50).followAtOnce(order), false);
        assert.deepEqual([media, requests], [[], []]);
    }
});

test('media is opened at the other server until the session is at its host again', async () => {
    const { session } = await watching(() => null), handover = new Handover(session), sealedMedia = {};
    Object.assign(session, {
        sealedMedia: null, peer: { close() {} }, reopenEvents() {}, connectionChanged() {}, rejoin: async () => {},
        client: { leave() {} },
    });
    handover.changeOver({ link, client: { leave() {} }, peer: { close() {} }, admissions: { current: {} }, sealedMedia }, []);
    assert.equal(session.sealedMedia, sealedMedia);
    assert.equal(element('live').textContent, 'Live, encrypted');
    assert.ok(handover.goHome());
    assert.equal(element('live').textContent, 'Live');
    assert.equal(session.sealedMedia, null);
});

test('a session that is called back has no transform at its host', async () => {
    const { media, makePeer } = recordingPeers(), { session } = await watching(() => null, makePeer);
    const handover = new Handover(session, 50), { admissions } = session;
    admissions.current.seal = sealed;
    handover.home = { link: session.link, client: { leave() {} }, admissions, sealedMedia: null };
    session.isOver = false;
    const going = handover.comeBack();
    while (!media.length) await new Promise(done => setTimeout(done));
    session.isOver = true;
    await going;
    assert.deepEqual(media, [null]);
});

test('a browser that makes no other connection leaves the session where it is', async () => {
    const { session, order, requests } = await watching(() => null, () => { throw new Error('too many connections'); });
    const handover = new Handover(session);
    assert.equal(await handover.followAtOnce(order), false);
    assert.deepEqual([requests, handover.isBusy], [[], false]);
});

test('keys that come with an order replace those of the admission', async () => {
    const { session, order } = await watching(() => null), handover = new Handover(session), run = range(0, 16), wrapKey = range(32, 48);
    const keysOf = step => encodeKeys(run, [{ epoch: 0, track: 0, step, baseKey: range(0, 32) }]);
    const older = keysOf(7), newer = keysOf(700);
    const wrap = (keys, key = wrapKey) => wrapWith(key, keys);
    const current = session.admissions.current;
    const after = async keys => {
        current.knock = knock();
        current.seal = { isSealed: true, run: encodeBase64URL(run), keys: encodeBase64URL(older), wrapKey: encodeBase64URL(wrapKey) };
        assert.ok(await handover.destination({ ...order, keys }));
        return current.seal.keys;
    };
    assert.equal(await after(wrap(newer)), encodeBase64URL(newer));
    const foreign = encodeKeys(range(1, 17), []);
    const others = [undefined, '', 'AAAA', wrap(newer, range(33, 49)), wrap(foreign), wrap(range(0, 9)), wrap(encodeNewEpoch(run, 1, range(0, 32)))];
    for (const keys of others) assert.equal(await after(keys), encodeBase64URL(older));
});

// Lets a promise of timers and of the browser's own tasks come to its end, whatever its timers wait for.
async function settled(t, promise) {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let isOver = false;
    promise.then(() => { isOver = true; }, () => { isOver = true; });
    while (!isOver) {
        await new Promise(setImmediate);
        t.mock.timers.tick(10000);
    }
    t.mock.timers.reset();
    return promise;
}

test('the only place that sends is tried five times', async t => {
    const { session, order } = await watching(() => null), handover = new Handover(session), only = { ...order, only: true };
    let attempts = 0;
    handover.tryOnce = async () => ++attempts === 5;
    assert.equal(await settled(t, handover.followAtOnce(only)), true);
    assert.equal(attempts, 5);
    assert.notEqual(handover.onlySince, null);
    handover.tryOnce = async () => { attempts++; return false; };
    session.admissions.current.knock = knock();
    await assert.rejects(settled(t, handover.followAtOnce(only)), { state: 'ended' });
    assert.equal(attempts, 10);
    // Where the host sends, too, it is tried once.
    session.admissions.current.knock = knock();
    assert.equal(await handover.followAtOnce(order), false);
    assert.equal(attempts, 11);
});

test('from the only place that sends, a session asks its host anew where that is', async () => {
    const { session, requests } = await watching(() => null), handover = new Handover(session), done = [];
    Object.assign(session, {
        sealedMedia: null, peer: { close() {} }, openPeer() { done.push('peer'); }, reopenEvents() {}, connectionChanged() {},
        client: { leave() {}, knock() { done.push('knock'); return Promise.reject(new Error('no answer')); } },
        rejoin: async () => { done.push('rejoin'); }, reconnection: { resumed() { done.push('resumed'); } }, end(ending) { done.push(ending.state); },
    });
    const goElsewhere = () => handover.changeOver(
        { link, client: { leave() {} }, peer: { close() {} }, admissions: { current: {} }, sealedMedia: {} }, []);
    goElsewhere();
    handover.onlySince = performance.now();
    assert.ok(handover.goHome());
    assert.ok(handover.isReturning);
    while (handover.isReturning) await new Promise(setImmediate);
    assert.deepEqual(done, ['resumed', 'peer', 'knock', 'ended']);
    assert.deepEqual([requests, handover.returns], [[], 1]);
    // After a minute there, returns are counted anew.
    handover.returns = 3;
    goElsewhere();
    handover.onlySince = performance.now() - 60001;
    assert.ok(handover.goHome());
    assert.equal(handover.returns, 1);
    while (handover.isReturning) await new Promise(setImmediate);
});

test('a session that has come back three times in a row ends', async () => {
    const { session, order, requests } = await watching(() => null), handover = new Handover(session);
    handover.returns = 3;
    await assert.rejects(handover.followAtOnce({ ...order, only: true }), { state: 'ended' });
    assert.equal(await handover.followAtOnce(order), false);
    assert.deepEqual(requests, []);
});

test('a host that has sealed its media is not believed to have stopped doing so', async () => {
    const open = await FakeHost.make(false);
    for (const change of [({ nonce }) => ({ nonce }), challenge => challenge]) {
        const { session } = await watching(() => null), handover = new Handover(session), ends = [];
        globalThis.fetch = async (_path, { method = 'GET', body }) => {
            if (method === 'POST') {
                const challenge = change(await open.challenge(JSON.parse(body)));
                return new Response(JSON.stringify(challenge), { status: 202, headers: { Location: '/k' } });
            }
            return method === 'PUT' ? new Response(null, { status: 204 }) : new Response(JSON.stringify({ token: 'new', iceServers: [] }));
        };
        Object.assign(session, {
            link: open.link, client: new SignalingClient(open.link, 'i', session.abort.signal),
            reopenEvents() {}, peer: { close() {} }, openPeer() {}, reconnection: { resumed() {} }, end(ending) { ends.push(ending); },
            rejoin: async () => { throw new SessionEnd('refused', 'not any more'); },
        });
        session.admissions.current.seal = sealed;
        await handover.rejoin(null);
        assert.deepEqual(ends.map(({ state }) => state), ['error']);
        assert.equal(session.admissions.current.token, 't');
    }
});
