import './fake-page.mjs';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { root } from './fake-page.mjs';
import { RightRequest } from '../../Sources/Peer/ViewerPage/Page/Script/right-request.js';
import { ViewerMessages } from '../../Sources/Peer/ViewerPage/Page/Script/viewer-messages.js';

// Messages to a host that answers requests with these statuses in turn.
function messagesTo(...statuses) {
    const told = [], requests = [];
    const messages = new ViewerMessages(sentence => told.push(sentence));
    messages.open(() => ({
        say: async said => {
            requests.push(said);
            const status = statuses.shift();
            if (!status) throw new Error('no network');
            return new Response(status === 204 ? null : '{"detail":"the host says no"}', { status });
        },
    }));
    return { messages, told, requests };
}

test('a message goes by a request while no socket is open, and the reason of a refusal is shown', async () => {
    const { messages, told, requests } = messagesTo(204, 403);
    assert.equal(await messages.post({ type: 'comment', text: 'a' }), true);
    assert.equal(await messages.post({ type: 'comment', text: 'b' }), false);
    assert.equal(await messages.post({ type: 'comment', text: 'c' }), false);
    assert.deepEqual(told, ['The host says no.', 'The host did not get that. Try again.']);
    assert.equal(requests.length, 3);
    assert.equal(messages.send([{ type: 'pointer' }]), false);
    messages.close();
    assert.equal(await messages.post({ type: 'comment', text: 'd' }), false);
    assert.equal(requests.length, 3);
});

test('over the socket a message needs no request, and the same refusal is shown once', async t => {
    let now = 100000;
    t.mock.method(performance, 'now', () => now);
    const { messages, told, requests } = messagesTo(), sent = [];
    let refusals = 0;
    messages.onRefusal = () => refusals++;
    messages.socket.send = said => sent.push(said) > 0;
    assert.equal(await messages.post({ type: 'comment', text: 'a' }), true);
    assert.deepEqual([sent.length, requests.length], [1, 0]);
    for (let i = 0; i < 3; i++) messages.refused('{"detail":"the host does not allow you to point"}');
    messages.refused('nonsense');
    messages.refused(JSON.stringify({ detail: 'x'.repeat(1000) }));
    assert.deepEqual(told.slice(0, 2), ['The host does not allow you to point.', 'The host did not take that.']);
    assert.equal(told.length, 3);
    assert.ok(told[2].length <= 301);
    assert.equal(refusals, 5);
    now += 6000;
    messages.refused(JSON.stringify({ detail: 'x'.repeat(1000) }));
    assert.equal(told.length, 4);
});

function rightOf(...statuses) {
    const { messages, told, requests } = messagesTo(...statuses);
    let granted = 0;
    const right = new RightRequest('point', { question: 'asked', refusal: 'refused' }, {
        messages, tell: sentence => told.push(sentence), onGranted: () => granted++,
    });
    return { right, told, requests, granted: () => granted };
}

test('a right is asked for once, and what the viewer wanted begins with the yes', async () => {
    const { right, told, requests, granted } = rightOf(204);
    right.set('ask', false);
    assert.equal(root.dataset.point, 'ask');
    await Promise.all([right.ask(), right.ask()]);
    assert.deepEqual(requests, [[{ type: 'ask', right: 'point' }]]);
    // Another right has changed.
    right.set('ask', false);
    right.set('yes', false);
    assert.equal(granted(), 1);
    right.set('yes', true);
    assert.deepEqual([granted(), told], [1, ['asked']]);
});

test('a no is told, and so is a right that is taken away; an unknown value is none', async () => {
    const { right, told, granted } = rightOf(204, 204, 204);
    right.set('ask', false);
    await right.ask();
    right.set('ask', true);
    await right.ask();
    right.set('no', false);
    right.set('ask', false);
    await right.ask();
    right.set('always', false);
    assert.deepEqual(told, ['asked', 'refused', 'asked', 'refused', 'asked', 'refused']);
    assert.deepEqual([granted(), right.value], [0, 'no']);
    right.end();
    assert.equal(root.dataset.point, undefined);
});

test('a question that the host did not take can be asked again', async () => {
    const { right, requests } = rightOf(403, 204);
    right.set('ask', false);
    await right.ask();
    await right.ask();
    assert.equal(requests.length, 2);
});

test('a viewer is told when the socket does not open', t => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { messages, told } = messagesTo();
    messages.socket.connect = () => ({});
    messages.openSocket();
    t.mock.timers.tick(4999);
    assert.equal(told.length, 0);
    t.mock.timers.tick(1);
    assert.equal(told.length, 1);
    messages.openSocket();
    messages.socket.socket.onopen();
    t.mock.timers.tick(5000);
    assert.equal(told.length, 1);
});
