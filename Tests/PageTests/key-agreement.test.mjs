// A knock, version 2, at a host of the tests.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { root } from './fake-page.mjs';
import { FakeHost, encodeKeys, encodeNewEpoch, wrapWith } from './fake-host.mjs';
import { range, viewerFingerprint } from './support.mjs';
import { decodeBase64URL, encodeBase64URL } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { openEventKeys, openKeys, parseKeys, parseNewEpoch } from '../../Sources/Peer/ViewerPage/Page/Script/key-agreement.js';
import { requestAdmission } from '../../Sources/Peer/ViewerPage/Page/Script/knock.js';
import { wordList } from '../../Sources/Peer/ViewerPage/Page/Script/server-values.js';

const numbers = Array.from({ length: 256 }, (_, i) => String(i));
const entries = [
    { epoch: 9, track: 0, step: 70000, baseKey: range(0, 32) }, { epoch: 8, track: 0, step: 69999, baseKey: range(1, 33) },
    { epoch: 0x01020304, track: 6, step: 3, baseKey: range(32, 64) },
];

beforeEach(() => { globalThis.RTCRtpScriptTransform = globalThis.Worker = class {}; });
afterEach(() => { delete globalThis.RTCRtpScriptTransform; });

// A knock at a host. `change` alters its challenge; `decide` gives the body of the decision, or a response.
async function knockAt(host, { change = challenge => challenge, decide = () => ({ token: 't' }), link = host.link } = {}) {
    const requests = [];
    let key = null;
    const json = (body, status, headers) => new Response(JSON.stringify(body), { status, headers });
    const client = {
        ticket: null, signal: new AbortController().signal,
        async knock(body) {
            requests.push({ method: 'POST', body });
            key = body.key;
            return json(await change(await host.challenge(body)), 202, { Location: '/k' });
        },
        async sendJSON(method, _path, body) {
            requests.push({ method, body });
            return await host.accepts(body, key) ? new Response(null, { status: 204 }) : json({ type: 'urn:share:wrong-signature' }, 403);
        },
        async request() {
            requests.push({ method: 'GET' });
            const decision = await decide();
            return decision instanceof Response ? decision : json(decision, 200);
        },
        withdraw() {
            requests.push({ method: 'DELETE' });
            this.ticket = null;
        },
    };
    const keys = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify']);
    const result = requestAdmission(client, link, keys, viewerFingerprint, 'Marie');
    await result.catch(() => {});
    return { result, requests, methods: requests.map(({ method }) => method).join(' ') };
}

test('a sealed host hands over its keys after commitment, signatures and words', async () => {
    const host = await FakeHost.make(), keys = encodeKeys(host.run, entries);
    wordList.splice(0, wordList.length, ...numbers);
    const { result, methods } = await knockAt(host, { decide: async () => ({ token: 't', keys: await host.wrap(keys) }) });
    const { token, seal: { wrapKey, messages, ...seal }, keys: wrap } = await result;
    assert.deepEqual([token, methods, wrap], ['t', 'POST PUT GET', undefined]);
    assert.deepEqual(seal, { isSealed: true, run: encodeBase64URL(host.run), keys: encodeBase64URL(keys) });
    assert.deepEqual(parseKeys(decodeBase64URL(seal.keys)), { run: host.run, keys: entries });
    assert.equal(decodeBase64URL(wrapKey).length, 16);
    assert.deepEqual([messages.toHost, messages.toViewer].map(key => decodeBase64URL(key).length), [16, 16]);
    assert.equal(new Set([wrapKey, messages.toHost, messages.toViewer]).size, 3);
    assert.equal(root.dataset.words, host.words(numbers));
});

test('a host that is not sealed gives no keys', async () => {
    const host = await FakeHost.make(false);
    delete globalThis.RTCRtpScriptTransform;
    const { messages, ...seal } = (await (await knockAt(host)).result).seal;
    assert.deepEqual(seal, { isSealed: false });
    assert.equal(decodeBase64URL(messages.toHost).length, 16);
});

test('nobody but the link\'s host is told the key, and nothing is signed for others', async () => {
    const host = await FakeHost.make(), other = await FakeHost.make();
    const altered = changes => challenge => ({ ...challenge, seal: { ...challenge.seal, ...changes } });
    const changes = [
        altered({ certificate: encodeBase64URL(other.certificate) }), altered({ key: encodeBase64URL(other.key) }),
        altered({ run: encodeBase64URL(range(0, 16)) }), altered({ sealed: false }), altered({ sealed: 1 }), altered({ signature: '' }),
        altered({ signature: encodeBase64URL(range(0, 64)) }), altered({ key: 'AQ' }), altered({ certificate: undefined }),
        challenge => ({ ...challenge, seal: null }), challenge => ({ ...challenge, seal: {} }),
        challenge => ({ ...challenge, nonce: encodeBase64URL(range(65, 81)) }),
        // Signed by the right host for another knock.
        async () => host.challenge({ commitment: encodeBase64URL(range(0, 32)), fingerprint: encodeBase64URL(viewerFingerprint) }),
        async challenge => {
            const { commitment } = host;
            const made = await host.challenge({ commitment: encodeBase64URL(commitment), fingerprint: encodeBase64URL(range(1, 33)) });
            return { ...challenge, seal: made.seal };
        },
    ];
    for (const change of changes) {
        const { result, methods } = await knockAt(host, { change });
        await assert.rejects(result, { state: 'error', message: 'This is not the host that the link names.' });
        assert.equal(methods, 'POST DELETE', String(change));
    }
    const { result } = await knockAt(other, { link: host.link });
    await assert.rejects(result, { message: 'This is not the host that the link names.' });
});

test('a challenge without the host\'s part is answered with version 1', async () => {
    const host = await FakeHost.make();
    host.accepts = async ({ signature, seal }) => signature.length === 86 && seal === undefined;
    const { result } = await knockAt(host, { change: ({ nonce }) => ({ nonce }), decide: () => ({ token: 't', keys: 'AAAA' }) });
    const { seal, token } = await result;
    assert.deepEqual([seal, token], [null, 't']);
});

test('keys that the host did not seal for this knock are no keys', async () => {
    const host = await FakeHost.make(), keys = encodeKeys(host.run, entries);
    const flipped = async () => {
        const wrap = decodeBase64URL(await host.wrap(keys));
        wrap[20] ^= 1;
        return encodeBase64URL(wrap);
    };
    for (const wrap of [
        () => undefined, () => '', () => 'AAAA', flipped, () => host.wrap(keys, range(1, 17)), () => host.wrap(encodeKeys(range(0, 16), entries)),
        () => host.wrap(encodeNewEpoch(host.run, 9, range(0, 32))), async () => (await host.wrap(keys)).repeat(40),
        () => host.wrap(keys.slice(0, -1)), () => host.wrap(range(0, 10)), () => host.wrap(new Uint8Array()),
    ]) {
        const { result } = await knockAt(host, { decide: async () => ({ token: 't', keys: await wrap() }) });
        await assert.rejects(result, { state: 'error', message: /no keys/ }, String(wrap));
    }
});

test('a browser that cannot open sealed frames asks nobody', async () => {
    for (const missing of ['RTCRtpScriptTransform', 'Worker']) {
        globalThis.RTCRtpScriptTransform = globalThis.Worker = class {};
        delete globalThis[missing];
        const { result, methods } = await knockAt(await FakeHost.make());
        await assert.rejects(result, { state: 'error', message: 'This browser cannot open encrypted video.', hint: /newer browser, .*share join/, button: '' });
        assert.equal(methods, 'POST DELETE');
    }
});

test('each knock has a key and a nonce of its own', async () => {
    const host = await FakeHost.make(false);
    const decisions = [new Response('{"type":"urn:share:not-found"}', { status: 410 }), { token: 't' }];
    const { result, requests } = await knockAt(host, { decide: () => decisions.shift() });
    assert.equal((await result).token, 't');
    const [first, firstAnswer, , second, secondAnswer] = requests.map(({ body }) => body);
    assert.notEqual(first.commitment, second.commitment);
    assert.notEqual(firstAnswer.seal.key, secondAnswer.seal.key);
    assert.notEqual(firstAnswer.seal.nonce, secondAnswer.seal.nonce);
});

test('a host that wants encryption says so to a page that does not', async () => {
    const host = await FakeHost.make();
    host.accepts = async () => true;
    const refusal = () => new Response('{"type":"urn:share:needs-encryption"}', { status: 403 });
    const { result } = await knockAt(host, { decide: refusal });
    await assert.rejects(result, { state: 'refused', message: /encrypts its video/ });
});

const run = range(0, 16), wrapKey = range(32, 48), secret = range(100, 132);

test('what a host hands over has two forms, and nothing else is one', () => {
    const some = encodeKeys(run, entries), epoch = encodeNewEpoch(run, 0x01020304, secret);
    assert.deepEqual(parseKeys(some), { run, keys: entries });
    assert.deepEqual(parseKeys(encodeKeys(run, [])), { run, keys: [] });
    assert.deepEqual(parseNewEpoch(epoch), { run, epoch: 0x01020304, secret });
    assert.equal(epoch.length, 53);
    // Within a larger buffer.
    const inside = new Uint8Array([9, 9, ...some]).subarray(2);
    assert.deepEqual(parseKeys(inside), { run, keys: entries });
    const many = count => encodeKeys(run, Array.from({ length: count }, () => entries[0]));
    assert.equal(parseKeys(many(64)).keys.length, 64);
    const withByte = (bytes, index, value) => {
        const changed = bytes.slice();
        changed[index] = value;
        return changed;
    };
    const former = new Uint8Array([1, ...run, 0, 0, 0, 9, 1, 0, 0, 0, 0, 7, ...range(0, 32)]);
    for (const bytes of [
        new Uint8Array(), former, many(65), many(255), some.slice(0, -1), new Uint8Array([...some, 0]), epoch,
        ...[0, 1, 3, 4, 255].map(form => withByte(some, 0, form)), withByte(some, 17, 2), withByte(some, 17, 4), withByte(some, 17, 255),
        // A track that there is not.
        withByte(some, 22, 7), withByte(some, 22, 255),
    ]) assert.throws(() => parseKeys(bytes), String(bytes));
    for (const bytes of [new Uint8Array(), epoch.slice(0, -1), new Uint8Array([...epoch, 0]), withByte(epoch, 0, 2), some]) {
        assert.throws(() => parseNewEpoch(bytes), String(bytes));
    }
});

test('an event is opened if it is the host\'s, for this viewer and of this run, in both forms', async () => {
    const some = encodeKeys(run, entries), epoch = encodeNewEpoch(run, 9, secret);
    assert.deepEqual(await openEventKeys(wrapWith(wrapKey, some), wrapKey, run), { run, keys: entries });
    assert.deepEqual(await openEventKeys(wrapWith(wrapKey, epoch), wrapKey, run), { run, epoch: 9, secret });
    for (const keys of [some, epoch]) {
        const good = wrapWith(wrapKey, keys), flipped = decodeBase64URL(good);
        flipped[flipped.length - 1] ^= 1;
        for (const wrap of [
            wrapWith(range(33, 49), keys), encodeBase64URL(flipped), good.slice(4), good.repeat(80), wrapWith(wrapKey, keys.slice(0, -1)),
            undefined, null, 7, {}, [], [good], { length: 1 }, '', '!', 'AAAA', 'A'.repeat(5000000),
        ]) assert.equal(await openEventKeys(wrap, wrapKey, run), null);
        assert.equal(await openEventKeys(good, wrapKey, range(1, 17)), null);
        assert.equal(await openEventKeys(good, range(0, 5), run), null);
    }
    // Keys that are kept have the keys of now.
    assert.deepEqual(await openKeys(wrapWith(wrapKey, some), wrapKey, run), some);
    assert.equal(await openKeys(wrapWith(wrapKey, epoch), wrapKey, run), null);
});
