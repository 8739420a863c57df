import assert from 'node:assert/strict';
import { test } from 'node:test';
import { element, root } from './fake-page.mjs';
import { link, range, viewerFingerprint } from './support.mjs';
import { decodeBase64URL, encodeBase64URL } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { requestAdmission } from '../../Sources/Peer/ViewerPage/Page/Script/knock.js';

const challenge = () => new Response(JSON.stringify({ nonce: encodeBase64URL(range(64, 80)) }), { status: 202, headers: { Location: '/k' } });
const problem = (status, type) => new Response(JSON.stringify({ type: 'urn:share:' + type }), { status });

// A knock whose requests get these answers in turn, and what was requested.
async function knockWith(answers, { name = 'Marie', isOverRelay = false, base = '' } = {}) {
    const requests = [], answer = (method, path, body) => {
        requests.push({ method, path, body });
        return answers.shift();
    };
    const client = {
        ticket: null, signal: new AbortController().signal,
        knock: async body => answer('POST', '/knock', body),
        sendJSON: async (method, path, body) => answer(method, path, body),
        request: async path => answer('GET', path),
        withdraw() {
            requests.push({ method: 'DELETE', path: this.ticket });
            this.ticket = null;
        },
    };
    const keys = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify']);
    const result = requestAdmission(client, { ...link, isOverRelay, base }, keys, viewerFingerprint, name);
    await result.catch(() => {});
    assert.equal(answers.length, 0, 'every answer was asked for');
    return { result, requests, client };
}

test('an accepted knock yields the token, after signature and words', async () => {
    const { result, requests, client } = await knockWith(
        [challenge(), new Response(null, { status: 204 }), new Response('', { status: 202 }), new Response('{"token":"t"}', { status: 200 })]);
    const { token, knock } = await result;
    assert.equal(token, 't');
    assert.equal(knock.nonce, requests[0].body.nonce);
    assert.equal(decodeBase64URL(knock.nonce).length, 16);
    assert.ok(knock.at <= Date.now() && knock.at > Date.now() - 10000 && knock.followed === -1);
    assert.deepEqual(requests.map(({ method, path }) => `${method} ${path}`), ['POST /knock', 'PUT /k', 'GET /k', 'GET /k']);
    assert.equal(requests[0].body.name, 'Marie');
    assert.equal(requests[1].body.signature.length, 86);
    assert.equal(client.ticket, null);
    assert.equal(root.dataset.state, 'waiting');
    assert.equal(element('four').textContent, root.dataset.words);
});

test('a page that comes from a relay says so', async () => {
    for (const isOverRelay of [true, false]) {
        const answers = [challenge(), new Response(null, { status: 204 }), new Response('{"token":"t"}', { status: 200 })];
        await (await knockWith(answers, { isOverRelay })).result;
        assert.equal(element('hint').textContent.includes('This page is from the relay'), isOverRelay);
    }
});

test('the page of share join --browser does not', async () => {
    const answers = [challenge(), new Response(null, { status: 204 }), new Response('{"token":"t"}', { status: 200 })];
    await (await knockWith(answers, { isOverRelay: true, base: '/secret' })).result;
    assert.doesNotMatch(element('hint').textContent, /relay/);
});

test('a broadcast that the browser cannot show asks nobody', async () => {
    const codecs = [{ mimeType: 'video/VP8' }, { mimeType: 'video/H264' }];
    globalThis.RTCRtpReceiver = { getCapabilities: () => ({ codecs }) };
    const ofVideo = video => new Response(JSON.stringify({ nonce: encodeBase64URL(range(64, 80)), video }), { status: 202, headers: { Location: '/k' } });
    const { result, requests } = await knockWith([ofVideo('H265')]);
    await assert.rejects(result, { state: 'error', message: 'This browser cannot show this broadcast: its video is H265.', button: '' });
    // The challenge takes no place at the host any more.
    assert.deepEqual(requests.map(({ method, path }) => `${method} ${path}`), ['POST /knock', 'DELETE /k']);
    const { result: other } = await knockWith([ofVideo('H264'), new Response(null, { status: 204 }), new Response('{"token":"t"}', { status: 200 })]);
    assert.equal((await other).token, 't');
    // A browser that does not say what it can show is asked with the offer.
    delete globalThis.RTCRtpReceiver;
    const { result: last } = await knockWith([ofVideo('H265'), new Response(null, { status: 204 }), new Response('{"token":"t"}', { status: 200 })]);
    assert.equal((await last).token, 't');
});

test('who gives no name is a guest', async () => {
    const { requests } = await knockWith([problem(403, 'wrong-proof')], { name: '' });
    assert.equal(requests[0].body.name, 'Guest');
});

test('a knock that was withdrawn is repeated', async () => {
    const { result, requests } = await knockWith(
        [challenge(), new Response(null, { status: 204 }), problem(410, 'not-found'), problem(403, 'wrong-proof')]);
    await assert.rejects(result, { state: 'refused', button: '' });
    assert.deepEqual(requests.map(({ method }) => method), ['POST', 'PUT', 'GET', 'POST']);
    assert.notEqual(requests[0].body.nonce, requests[3].body.nonce);
});

test('a refusal ends it, at each step', async () => {
    const none = () => new Response(null, { status: 204 });
    for (const [answers, state] of [
        [[new Response('', { status: 404 })], 'ended'], [[challenge(), problem(403, 'wrong-signature')], 'error'],
        [[challenge(), none(), problem(403, 'refused')], 'refused'], [[challenge(), none(), problem(410, 'unanswered')], 'ended'],
    ]) {
        const { result } = await knockWith(answers);
        await assert.rejects(result, { state });
    }
});

test('an answer without a challenge is an error', async () => {
    const { result } = await knockWith([new Response('{"nonce":"AQ"}', { status: 202, headers: { Location: '/k' } })]);
    await assert.rejects(result, { state: 'error', message: 'The host answered without a challenge.' });
});
