// The keys of new epochs, by events and by request, of a session that watches at another server.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import './fake-page.mjs';
import { FakeHost, encodeKeys, encodeNewEpoch, wrapWith } from './fake-host.mjs';
import { link, range, viewerFingerprint } from './support.mjs';
import { encodeBase64URL } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { FrameKeys } from '../../Sources/Peer/ViewerPage/Page/Script/frame-keys.js';
import { Handover } from '../../Sources/Peer/ViewerPage/Page/Script/handover.js';
import { ViewerSession } from '../../Sources/Peer/ViewerPage/Page/Script/session.js';

const run = range(0, 16), wrapKey = range(32, 48), secret = range(60, 92);
const entry = (epoch, step = 0) => ({ epoch, track: 0, step, baseKey: range(epoch, epoch + 32) });
const newEpoch = (epoch, key = wrapKey, of = run) => wrapWith(key, encodeNewEpoch(of, epoch, secret));
const keysOf = (...epochs) => wrapWith(wrapKey, encodeKeys(run, epochs.map(epoch => entry(epoch))));
const settled = () => new Promise(done => setTimeout(done, 20));
async function until(holds) {
    for (let i = 0; i < 500 && !holds(); i++) await new Promise(done => setTimeout(done, 2));
    assert.ok(holds(), String(holds));
}

// What the worker has got.
const given = [];
globalThis.Worker = class {
    postMessage({ keys }) { if (keys) given.push(keys); }
};
globalThis.RTCRtpScriptTransform = class {};
Object.defineProperty(globalThis, 'navigator', { value: { onLine: true }, configurable: true });
beforeEach(() => given.splice(0));

// A session that its host has sent elsewhere. `answer(method, path, options)` gives a response, or nothing.
async function elsewhere(answer = () => null, home = link) {
    const requests = [], saved = [], clock = { now: 1000 };
    globalThis.fetch = async (path, options = {}) => {
        const method = options.method || 'GET';
        requests.push({ request: `${method} ${path}`, headers: options.headers, body: options.body });
        return await answer(method, path, options) || new Promise((_, fail) => {
            if (options.signal) options.signal.addEventListener('abort', () => fail(new Error('aborted')));
        });
    };
    const texts = [run, wrapKey, encodeKeys(run, [entry(0)])].map(bytes => encodeBase64URL(bytes));
    const seal = { isSealed: true, run: texts[0], wrapKey: texts[1], keys: texts[2] };
    const keys = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify']);
    const session = {
        link: { ...link, id: 'ABCDEFGH01234' }, client: { instance: 'i', token: 'other', leave() {} }, abort: new AbortController(), isOver: false,
        fingerprint: viewerFingerprint, name: 'Ann', identity: { keys, isStored: true }, sealedMedia: {},
        admissions: { current: { token: 'other' } }, endings: [], reopenEvents() {}, rejoin: async () => {},
        end(ending) {
            this.isOver = true;
            this.endings.push(ending);
            this.abort.abort();
        },
    };
    const handover = session.handover = new Handover(session);
    const frameKeys = handover.frameKeys = new FrameKeys(handover, () => clock.now);
    const admissions = { current: { token: 't', seal, fingerprint: 'f' }, save() { saved.push(this.current); } };
    handover.home = { link: home, client: { token: 'former', leave() {} }, admissions, sealedMedia: null };
    return { session, handover, frameKeys, admissions, clock, requests, saved };
}
const json = (body, status = 200) => new Response(JSON.stringify(body), { status });

test('an event of a new epoch gives the worker the secret and the host\'s broadcast', async () => {
    const { frameKeys } = await elsewhere();
    frameKeys.handle(newEpoch(5));
    await until(() => given.length);
    assert.deepEqual(given, [{ run, epoch: 5, secret, id: link.id }]);
    frameKeys.handle(keysOf(6, 7));
    await until(() => given.length > 1);
    assert.deepEqual(given[1].keys, [entry(6), entry(7)]);
});

test('a session takes events elsewhere alone, and none of another kind', async () => {
    const taken = [], session = new ViewerSession(link, { current: null }, 'Ann', null);
    session.handover.frameKeys.handle = keys => taken.push(keys);
    session.handle({ type: 'keys', keys: 'AAAA' });
    assert.deepEqual(taken, ['AAAA']);
    const { frameKeys, handover, session: other } = await elsewhere(), { home } = handover;
    handover.home = null;
    frameKeys.handle(newEpoch(5));
    [handover.home, other.sealedMedia] = [home, null];
    frameKeys.handle(newEpoch(5));
    await settled();
    assert.deepEqual(given, []);
});

test('what is not the host\'s is ignored, and does not keep the next event back', async () => {
    const { frameKeys, handover, admissions } = await elsewhere();
    for (const wrap of [
        undefined, null, 7, {}, [newEpoch(5)], '', '!!', 'AAAA', 'A'.repeat(65000), newEpoch(5, range(33, 49)), newEpoch(5, wrapKey, range(1, 17)),
        newEpoch(5).slice(0, -4), wrapWith(wrapKey, new Uint8Array()), wrapWith(wrapKey, encodeNewEpoch(run, 5, secret).slice(1)),
    ]) {
        frameKeys.handle(wrap);
        await settled();
    }
    assert.deepEqual(given, []);
    const { current } = admissions;
    for (const wrong of [null, {}, { seal: null }, { seal: { isSealed: false } }, { seal: { ...current.seal, wrapKey: 7 } }]) {
        admissions.current = wrong;
        frameKeys.handle(newEpoch(5));
        await settled();
    }
    admissions.current = current;
    // At home when its turn comes.
    const { home } = handover;
    frameKeys.handle(newEpoch(5));
    frameKeys.handle(newEpoch(6));
    handover.home = null;
    await settled();
    assert.deepEqual(given.map(({ epoch }) => epoch), [5]);
    handover.home = home;
    frameKeys.handle(newEpoch(7));
    await until(() => given.length === 2);
});

test('of a flood of events one is opened at a time, and then the newest', async t => {
    const { frameKeys } = await elsewhere(), { subtle } = crypto;
    let atOnce = 0, most = 0, all = 0;
    const decrypt = subtle.decrypt.bind(subtle);
    t.mock.method(subtle, 'decrypt', async (...args) => {
        all++;
        most = Math.max(most, ++atOnce);
        try { return await decrypt(...args); } finally { atOnce--; }
    });
    const junk = newEpoch(3, range(1, 17));
    frameKeys.handle(newEpoch(1));
    for (let i = 0; i < 20000; i++) frameKeys.handle(junk);
    for (const epoch of [2, 3, 4]) frameKeys.handle(newEpoch(epoch));
    await until(() => given.length === 2);
    await settled();
    assert.deepEqual(given.map(({ epoch }) => epoch), [1, 4]);
    assert.deepEqual([all, most], [2, 1]);
});

test('an event that a server repeats does not get to the worker again', async () => {
    const { frameKeys } = await elsewhere();
    for (const wrap of [newEpoch(5), newEpoch(5), keysOf(4, 5), newEpoch(4), newEpoch(6)]) {
        frameKeys.handle(wrap);
        await settled();
    }
    assert.deepEqual(given.map(({ epoch }) => epoch), [5, 6]);
});

test('keys that are missing are asked for at the host, with its token', async () => {
    const { frameKeys, requests, handover } = await elsewhere(() => json({ keys: keysOf(3, 4) }));
    await frameKeys.request();
    assert.deepEqual(requests, [{ request: `POST /${link.id}/keys`, headers: { Authorization: 'Bearer t' }, body: undefined }]);
    assert.deepEqual(given.map(({ run: of, keys }) => ({ of, keys })), [{ of: run, keys: [entry(3), entry(4)] }]);
    assert.equal(handover.home.client.token, 'former');
});

test('the receivers of another server lead to the request, also before the session is there', async () => {
    const { session, handover, frameKeys, requests } = await elsewhere(() => json({ keys: keysOf(3) })), { home } = handover;
    // On its way from the host.
    handover.home = null;
    Object.assign(session, { link: home.link, admissions: home.admissions });
    const { callbacks } = handover.sealedMedia();
    callbacks.onNeedsKeys();
    await until(() => !frameKeys.isAsking);
    assert.deepEqual([requests.length, given.at(-1).keys], [1, [entry(3)]]);
    assert.equal(frameKeys.requests, 1);
    callbacks.onUsesNewKeys();
    assert.equal(frameKeys.requests, 0);
});

test('requests follow each other after 1 s, twice that each time up to 30 s, and after 1 s when a frame was opened with new keys', async () => {
    const { frameKeys, clock, requests } = await elsewhere(() => json({}, 503));
    // When the next request is sent, to the millisecond.
    const waitTime = async () => {
        const count = requests.length, start = clock.now;
        for (const step of [500, 499, 1]) {
            clock.now += step;
            await frameKeys.request();
            if (requests.length > count) return clock.now - start;
        }
        while (requests.length === count) {
            clock.now += 500;
            await frameKeys.request();
        }
        return clock.now - start;
    };
    await frameKeys.request();
    assert.equal(requests.length, 1);
    const times = [];
    for (let i = 0; i < 7; i++) times.push(await waitTime());
    assert.deepEqual(times, [1000, 2000, 4000, 8000, 16000, 30000, 30000]);
    frameKeys.noteUse();
    assert.deepEqual([await waitTime(), await waitTime(), await waitTime()], [1000, 1000, 2000]);
});

test('one request is under way at a time, and the wait begins with its end', async () => {
    let release = null;
    const { frameKeys, clock, requests } = await elsewhere(() => new Promise(done => { release = () => done(json({}, 404)); }));
    const first = frameKeys.request();
    clock.now += 60000;
    for (let i = 0; i < 100; i++) await frameKeys.request();
    assert.equal(requests.length, 1);
    release();
    await first;
    await frameKeys.request();
    assert.equal(requests.length, 1);
    clock.now += 1000;
    frameKeys.request();
    await until(() => requests.length === 2);
});

test('answers that help nobody give no keys, and the next request is sent later', async () => {
    const answers = [
        () => json({}), () => json(null), () => json({ keys: 7 }), () => json({ keys: {} }), () => json({ keys: newEpoch(3) }), () => json({ keys: 'AAAA' }),
        () => json({ keys: wrapWith(range(1, 17), encodeKeys(run, [entry(3)])) }),
        () => json({ keys: wrapWith(wrapKey, encodeKeys(range(1, 17), [entry(3)])) }),
        () => new Response('nonsense'), () => json({}, 403), () => json({ keys: keysOf(3) }, 201), () => json({}, 500), () => { throw new Error('no network'); },
    ];
    const { frameKeys, session, clock, requests } = await elsewhere(() => answers[requests.length - 1]());
    while (requests.length < answers.length) {
        await frameKeys.request();
        clock.now += 30000;
    }
    assert.deepEqual([requests.length, given, session.endings], [answers.length, [], []]);
});

// A host that no longer takes the token, and admits the viewer anew as `decide` says.
async function knockingAt(host, decide, change = challenge => challenge) {
    let key = null, isKnown = false;
    return elsewhere(async (method, path, { headers, body }) => {
        if (path.endsWith('/keys')) {
            const isValid = isKnown && headers.Authorization === 'Bearer new';
            return isValid ? json({ keys: await host.wrap(encodeKeys(host.run, [entry(9)])) }) : json({}, 401);
        }
        if (path.endsWith('/knock')) {
            ({ key } = JSON.parse(body));
            const challenge = change(await host.challenge(JSON.parse(body)));
            return new Response(JSON.stringify(challenge), { status: 202, headers: { Location: '/k' } });
        }
        if (method === 'PUT') {
            const answer = JSON.parse(body);
            return new Response(null, { status: !answer.seal || await host.accepts(answer, key) ? 204 : 403 });
        }
        isKnown = true;
        return method === 'GET' ? decide() : new Response(null, { status: 204 });
    }, host.link);
}

test('a token that has ended is replaced by a quiet knock, whose wrap key is in use from then on', async () => {
    const host = await FakeHost.make();
    const decide = async () => json({ token: 'new', iceServers: [], keys: await host.wrap(encodeKeys(host.run, [entry(8)])) });
    const { frameKeys, handover, admissions, clock, requests, saved } = await knockingAt(host, decide), former = admissions.current.seal;
    await frameKeys.request();
    assert.deepEqual(requests.map(({ request }) => request), [`POST /${link.id}/keys`, `POST /${link.id}/knock`, 'PUT /k', 'GET /k']);
    const { token, seal, fingerprint, knock } = admissions.current;
    assert.deepEqual([token, seal.run, fingerprint, typeof knock.nonce], ['new', encodeBase64URL(host.run), 'f', 'string']);
    assert.notEqual(seal.wrapKey, former.wrapKey);
    assert.deepEqual([handover.home.client.token, saved], ['new', [admissions.current]]);
    assert.deepEqual(given.map(({ run: of, keys }) => ({ of, keys })), [{ of: host.run, keys: [entry(8)] }]);
    // Events and answers under the former key are none of the host's any more.
    frameKeys.handle(newEpoch(9, wrapKey, host.run));
    await settled();
    frameKeys.handle(await host.wrap(encodeNewEpoch(host.run, 9, secret)));
    await until(() => given.length === 2);
    assert.equal(given[1].epoch, 9);
    clock.now += 1000;
    await frameKeys.request();
    assert.deepEqual(given[2].keys, [entry(9)]);
});

test('a knock that gives no seal replaces nothing', async () => {
    const host = await FakeHost.make(), open = await FakeHost.make(false);
    const decide = () => json({ token: 'new', iceServers: [] });
    const withoutToken = async () => json({ keys: await host.wrap(encodeKeys(host.run, [entry(8)])) });
    for (const [stage, last] of [
        [[host, decide, ({ nonce }) => ({ nonce })], 'GET /k'], [[open, decide], 'GET /k'], [[host, decide], 'GET /k'], [[host, withoutToken], 'GET /k'],
        [[host, decide, () => ({})], 'DELETE /k'],
    ]) {
        const { frameKeys, session, admissions, requests } = await knockingAt(...stage), former = admissions.current;
        await frameKeys.request();
        assert.equal(requests.at(-1).request, last);
        assert.deepEqual([admissions.current, given, session.endings], [former, [], []]);
    }
});

test('a host that refuses the knock is not asked again', async () => {
    const host = await FakeHost.make();
    for (const [answer, endings] of [
        [() => json({ reason: 'no' }, 403), ['refused']], [() => json({ type: 'urn:share:unanswered' }, 410), ['ended']], [() => json({}, 500), []],
    ]) {
        const { frameKeys, session, clock, requests } = await knockingAt(host, answer);
        await frameKeys.request();
        const count = requests.length;
        assert.deepEqual(session.endings.map(({ state }) => state), endings);
        clock.now += 30000;
        await frameKeys.request();
        assert.equal(requests.length > count, endings.length === 0);
    }
});

test('a session that goes back to its host ends what is under way, and asks for no keys on the way', async () => {
    const host = await FakeHost.make(), { frameKeys, handover, admissions, requests } = await knockingAt(host, () => null);
    const former = admissions.current;
    const asking = frameKeys.request();
    await until(() => requests.some(({ request }) => request === 'GET /k'));
    assert.ok(handover.goHome());
    await asking;
    assert.deepEqual([requests.at(-1).request, admissions.current, given], ['DELETE /k', former, []]);
    const other = await elsewhere(() => json({ keys: keysOf(3) }));
    other.handover.tryOnce = () => new Promise(() => {});
    other.handover.comeBack();
    await other.frameKeys.request();
    other.handover.isBusy = false;
    other.session.isOver = true;
    await other.frameKeys.request();
    assert.deepEqual([other.requests, given], [[], []]);
});

test('keys that were opened with a seal that was replaced meanwhile are not given', async () => {
    const { frameKeys, admissions } = await elsewhere();
    frameKeys.handle(newEpoch(5));
    admissions.current = { ...admissions.current, seal: { ...admissions.current.seal, run: encodeBase64URL(range(1, 17)) } };
    await settled();
    assert.deepEqual(given, []);
});
