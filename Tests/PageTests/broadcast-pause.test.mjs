import assert from 'node:assert/strict';
import { test } from 'node:test';
import { element, root } from './fake-page.mjs';
import { showPause } from '../../Sources/Peer/ViewerPage/Page/Script/broadcast-pause.js';
import { Reconnection } from '../../Sources/Peer/ViewerPage/Page/Script/reconnection.js';
import { ViewerSession } from '../../Sources/Peer/ViewerPage/Page/Script/session.js';

Object.defineProperty(globalThis, 'navigator', { value: { onLine: true }, configurable: true });
const words = 'The host has paused the broadcast.';

// What `handle` needs of a session.
function listening(state) {
    root.dataset.state = state;
    element('said').textContent = element('status').textContent = '';
    const session = Object.create(ViewerSession.prototype);
    Object.assign(session, { isOver: false, hold: '', isInactive: false, endings: [] });
    session.end = ending => session.endings.push(ending);
    session.reconnection = new Reconnection(session);
    session.reopenEvents = () => {};
    session.sealedMessages = { handle: () => false };
    return session;
}

test('a pause is a notice over the last frame until it ends', () => {
    const session = listening('playing');
    session.handle({ type: 'paused' });
    assert.equal(element('said').textContent, words);
    assert.ok(!element('notice').hidden && 'paused' in root.dataset);
    // The host repeats its state on each stream.
    session.handle({ type: 'paused' });
    session.handle({ type: 'resumed' });
    assert.ok(element('notice').hidden && !('paused' in root.dataset));
    assert.deepEqual(session.endings, []);
});

test('a blanked and a frozen picture say so, and the newest word counts', () => {
    const session = listening('playing');
    session.handle({ type: 'paused', hold: 'blank' });
    assert.equal(element('said').textContent, 'The host has hidden the picture.');
    session.handle({ type: 'paused', hold: 'freeze' });
    assert.equal(element('said').textContent, 'The host has frozen the picture.');
    assert.ok(session.isStill && 'paused' in root.dataset);
    for (const hold of ['toString', 7, null, undefined, 'later']) {
        session.handle({ type: 'paused', hold });
        assert.equal(element('said').textContent, words);
    }
    session.handle({ type: 'resumed' });
    assert.ok(element('notice').hidden && !session.isStill);
});

test('before the first frame a pause is what the viewer waits for', () => {
    const session = listening('connecting');
    session.handle({ type: 'paused' });
    assert.equal(element('status').textContent, words);
    session.handle({ type: 'resumed' });
    assert.equal(element('status').textContent, 'Connecting ...');
});

test('an outage hides the notice of a pause, which is back after it', () => {
    const session = listening('playing');
    session.handle({ type: 'paused' });
    session.reconnection.isInterrupted = true;
    element('said').textContent = 'Connection lost, trying again ...';
    session.handle({ type: 'resumed' });
    assert.equal(element('said').textContent, 'Connection lost, trying again ...');
    session.handle({ type: 'paused' });
    session.reconnection.resumed();
    assert.equal(element('said').textContent, words);
});

test('a pause that ended during an outage is over after it', () => {
    const session = listening('playing');
    session.handle({ type: 'paused' });
    session.reconnection.isInterrupted = true;
    session.handle({ type: 'resumed' });
    session.reconnection.resumed();
    assert.ok(element('notice').hidden);
    assert.ok(!('paused' in root.dataset));
});

test('a publisher that the relay does not hear is a notice over the last frame, and nothing is live', () => {
    const session = listening('playing');
    session.handle({ type: 'inactive' });
    assert.match(element('said').textContent, /^The relay gets nothing from the host\./);
    assert.ok(!element('notice').hidden && 'inactive' in root.dataset);
    // A pause that is known before or meanwhile is what the viewer reads when the publisher is heard again.
    session.handle({ type: 'paused' });
    assert.match(element('said').textContent, /^The relay gets nothing/);
    session.handle({ type: 'active' });
    assert.equal(element('said').textContent, words);
    assert.ok(!('inactive' in root.dataset));
    session.handle({ type: 'resumed' });
    assert.ok(element('notice').hidden);
});

test('an outage of this viewer hides the one of the publisher, which is back after it', () => {
    const session = listening('playing');
    session.reconnection.isInterrupted = true;
    element('said').textContent = 'Connection lost, trying again ...';
    session.handle({ type: 'inactive' });
    assert.equal(element('said').textContent, 'Connection lost, trying again ...');
    session.reconnection.resumed();
    assert.match(element('said').textContent, /^The relay gets nothing/);
    session.handle({ type: 'active' });
    assert.ok(element('notice').hidden);
});

test('before the first frame an unheard publisher is what the viewer waits for', () => {
    const session = listening('connecting');
    session.handle({ type: 'inactive' });
    assert.match(element('status').textContent, /^The relay gets nothing/);
    session.handle({ type: 'active' });
    assert.equal(element('status').textContent, 'Connecting ...');
});

test('a broadcast of audio alone says so, under pauses and outages', () => {
    const session = listening('connecting');
    session.playing(false);
    const sentence = 'This broadcast has audio alone.';
    assert.equal(root.dataset.state, 'playing');
    assert.equal(element('said').textContent, sentence);
    session.handle({ type: 'paused' });
    assert.equal(element('said').textContent, words);
    session.handle({ type: 'resumed' });
    assert.equal(element('said').textContent, sentence);
    session.reconnection.isInterrupted = true;
    session.reconnection.resumed();
    assert.ok(!element('notice').hidden && element('said').textContent === sentence);
    session.playing(true);
    assert.ok(!('audioAlone' in root.dataset));
    showPause('');
    assert.ok(element('notice').hidden);
});

test('a removed viewer reads so, and may ask again', () => {
    const session = listening('playing');
    session.handle({ type: 'removed', reason: 'the host removed you' });
    const [ending] = session.endings;
    assert.equal(ending.message, 'The host removed you.');
    assert.deepEqual([ending.state, ending.button], ['refused', 'Ask again']);
    session.handle({ type: 'removed' });
    assert.equal(session.endings[1].message, 'The host removed you.');
    showPause('');
});
