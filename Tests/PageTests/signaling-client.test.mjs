import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { SignalingClient } from '../../Sources/Peer/ViewerPage/Page/Script/signaling-client.js';
import { SessionEnd } from '../../Sources/Peer/ViewerPage/Page/Script/session-end.js';
import { link } from './support.mjs';

const original = globalThis.fetch;
afterEach(() => { globalThis.fetch = original; });

// A client whose requests `answer` answers, and the requests.
function clientWith(answer) {
    const requests = [], abort = new AbortController();
    globalThis.fetch = async (path, options) => {
        requests.push({ path, ...options });
        return answer(path, options);
    };
    return { client: new SignalingClient(link, 'instance', abort.signal), requests, abort };
}

test('a request without an answer is told to the viewer, unless the session is over', async () => {
    const { client, abort } = clientWith(() => { throw new TypeError('no network'); });
    await assert.rejects(client.request('/x'), error => error instanceof SessionEnd && error.message === 'The host cannot be reached.');
    abort.abort();
    await assert.rejects(client.request('/x'), TypeError);
});

test('an offer carries the token and the instance, and opens a session', async () => {
    const { client, requests } = clientWith(() => new Response('sdp', { status: 201, headers: { Location: '/r', ETag: '"one"' } }));
    client.token = 'secret';
    client.sessionOpened(await client.sendOffer('offer', false));
    assert.equal(requests[0].path, '/0123456789ABC/whep');
    assert.deepEqual(requests[0].headers, { 'Content-Type': 'application/sdp', 'Share-Visit': 'instance', 'Authorization': 'Bearer secret' });
    await client.sendCandidates('fragment');
    assert.deepEqual([requests[1].path, requests[1].method, requests[1].headers['If-Match']], ['/r', 'PATCH', '"one"']);
});

test('keys are asked for with the token, and without a body', async () => {
    const { client, requests } = clientWith(() => new Response('{"keys":"AAAA"}', { status: 200 }));
    client.token = 'secret';
    assert.equal((await client.askForKeys()).status, 200);
    const [{ path, method, headers, body }] = requests;
    assert.deepEqual([path, method, headers, body], ['/0123456789ABC/keys', 'POST', { Authorization: 'Bearer secret' }, undefined]);
});

test('candidates are repeated for a busy host, not for one that takes none', async () => {
    for (const status of [429, 503]) await assert.rejects(clientWith(() => new Response('', { status })).client.sendCandidates(''));
    for (const status of [204, 405, 412]) await clientWith(() => new Response(null, { status })).client.sendCandidates('');
});

test('a restart is for any state of the session, and a host may take none', async () => {
    const { client, requests } = clientWith(() => new Response('fragment', { status: 200, headers: { ETag: '"two"' } }));
    assert.equal(await client.restartICE('x', null), 'fragment');
    assert.equal(requests[0].headers['If-Match'], '*');
    assert.equal(client.etag, '"two"');
    assert.equal(await clientWith(() => new Response('', { status: 412 })).client.restartICE('x', null), null);
});

test('events are given out until the stream ends', async () => {
    const { client } = clientWith(() => new Response('data: {"type":"a"}\n\ndata: {"type":"b"}\n\ndata: {"ty'));
    const events = [];
    await client.readEvents(await client.openEvents(null), event => events.push(event.type));
    assert.deepEqual(events, ['a', 'b']);
});

test('leaving withdraws the knock and closes the session, once', () => {
    const { client, requests } = clientWith(() => new Response(null, { status: 204 }));
    client.ticket = '/t';
    client.resource = '/r';
    client.token = 'secret';
    client.leave();
    client.leave();
    assert.deepEqual(requests.map(({ path, method, keepalive }) => [path, method, keepalive]), [['/t', 'DELETE', true], ['/r', 'DELETE', true]]);
    assert.equal(requests[0].headers.Authorization, undefined);
    assert.equal(requests[1].headers.Authorization, 'Bearer secret');
});

test('ICE servers are asked for with the token, and an older host does not tell them', async () => {
    const iceServers = [{ urls: ['turn:a.example'], username: '1:a', credential: 'c' }];
    const { client, requests } = clientWith(() => Response.json({ iceServers }));
    client.token = 'secret';
    assert.deepEqual(await client.iceServers(), iceServers);
    assert.equal(requests[0].path, '/0123456789ABC/servers');
    assert.equal(requests[0].headers.Authorization, 'Bearer secret');
    assert.equal(await clientWith(() => new Response('', { status: 404 })).client.iceServers(), null);
});
