import assert from 'node:assert/strict';
import { test } from 'node:test';
import { element } from './fake-page.mjs';
import { encodeBase64URL } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { openRedirectPlace, openRelayPlace, pageBase, waitForProgramEnd } from '../../Sources/Peer/ViewerPage/Page/Script/local-page.js';
import { SignalingClient } from '../../Sources/Peer/ViewerPage/Page/Script/signaling-client.js';
import { link, range, viewerFingerprint } from './support.mjs';

// Runs `body` on a page of the program, whose answers are these, in turn. What was requested.
async function withProgram(answers, body) {
    const requests = [], { fetch, addEventListener } = globalThis;
    element('stage').dataset.base = '/secret';
    globalThis.addEventListener = () => {};
    globalThis.fetch = async (path, { method = 'GET', body: text } = {}) => {
        requests.push([method, path, text && JSON.parse(text)]);
        const answer = answers.shift();
        if (answer instanceof Error) throw answer;
        return answer;
    };
    try { await body(); } finally {
        delete element('stage').dataset.base;
        Object.assign(globalThis, { fetch, addEventListener });
    }
    return requests;
}

test('the page of a host has no base', () => assert.equal(pageBase(), ''));

test('the program is told of an order with what it is signed for', async () => {
    const order = { type: 'reconnect', link: 'https://relay.example/x#y', age: 5, certificate: 'c', signature: 's', keys: 'k', only: true };
    const requests = await withProgram([new Response('{"base":"/secret/1"}')], async () => {
        assert.equal(await openRedirectPlace(order, viewerFingerprint, 'nonce'), '/secret/1');
    });
    assert.deepEqual(requests, [['POST', '/secret/_/places', {
        redirect: { link: order.link, age: 5, certificate: 'c', signature: 's' }, viewer: encodeBase64URL(viewerFingerprint), nonce: 'nonce',
    }]]);
});

test('another relay is named as its signed list does', async () => {
    const event = { links: ['https://a.example:443/x#y', 'https://b.example/x#y'], certificate: 'c', signature: 's', mark: 'm' };
    const [[, , sent]] = await withProgram([new Response('{"base":"/secret/1"}')], () => openRelayPlace(event, new URL(event.links[0])));
    assert.equal(sent.link, event.links[0]);
});

test('a program that refuses, or does not answer, is no place', async () => {
    for (const answer of [new Response('', { status: 403 }), new Response('nonsense'), new Error('refused')]) {
        await withProgram([answer], async () => assert.equal(await openRedirectPlace({}, range(0, 32), ''), null));
    }
});

test('the end of the stream is the end of the program', async () => {
    for (const answer of [new Response(':\n\n'), new Error('refused')]) {
        assert.equal((await withProgram([answer], waitForProgramEnd)).length, 1);
    }
});

test('requests of the page have its base before their paths', async () => {
    const requests = await withProgram([new Response('')], () =>
        new SignalingClient({ ...link, base: '/secret/1' }, 'visit', new AbortController().signal).knock({}));
    assert.equal(requests[0][1], '/secret/1/0123456789ABC/knock');
});
