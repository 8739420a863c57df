import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knockRefusal, offerRefusal, parseProblem } from '../../Sources/Peer/ViewerPage/Page/Script/problem.js';
import { asSentence } from '../../Sources/Peer/ViewerPage/Page/Script/session-end.js';

test('a reason is read from problem documents and plain ones', () => {
    for (const [body, problem] of [
        ['{"type":"urn:share:problem:ended","title":"Gone","detail":"was ended"}', { reason: 'was ended', type: 'ended' }],
        ['{"reason":"not now"}', { reason: 'not now', type: '' }], ['{"title":"Gone"}', { reason: 'Gone', type: '' }],
        ['{"detail":{"x":1}}', { reason: '', type: '' }], ['null', { reason: '', type: '' }], ['<html>', { reason: '', type: '' }], ['', { reason: '', type: '' }],
    ]) {
        assert.deepEqual(parseProblem(body), problem, body);
    }
});

test('an offer without the codec of the broadcast says which it is, and what can show it', () => {
    const end = offerRefusal(406, { type: 'codec', reason: "The broadcast's video is AV1, which the offer does not have." });
    assert.equal(end.message, 'This browser cannot show this broadcast: its video is AV1.');
    assert.deepEqual([end.state, end.hint, end.button], ['error', 'Use another browser, or watch with share join.', '']);
    assert.equal(offerRefusal(406, { type: 'codec', reason: '' }).message, 'This browser cannot show this broadcast.');
});

test('a reason becomes a sentence', () => {
    for (const [reason, sentence] of [[' the host left ', 'The host left.'], ['Why?', 'Why?'], ['', 'Else.'], [undefined, 'Else.'], ['ökologisch', 'Ökologisch.']]) {
        assert.equal(asSentence(reason, 'Else.'), sentence);
    }
});

test('each refusal of a knock has its state and its button', () => {
    for (const [status, type, state, button, seconds] of [
        [403, 'wrong-signature', 'error', '', 0], [403, 'wrong-proof', 'refused', '', 0], [410, 'ended', 'ended', '', 0],
        [410, 'unanswered', 'ended', 'Ask again', 0], [429, 'limited', 'error', 'Try again', 7], [503, '', 'error', 'Try again', 7],
        [403, 'refused', 'refused', 'Ask again', 7], [404, '', 'ended', 'Ask again', 0], [410, '', 'ended', 'Ask again', 0],
        [500, '', 'error', undefined, 0],
    ]) {
        const end = knockRefusal(status, { reason: '', type }, 7);
        assert.deepEqual([end.state, end.button, end.seconds], [state, button, seconds], `${status} ${type}`);
        assert.match(end.message, /^[A-Z].*\.$/);
    }
    assert.equal(knockRefusal(403, { reason: 'not now', type: '' }, 0).message, 'Not now.');
});

test('each refusal of an offer has its state and its button', () => {
    for (const [status, state, button] of [
        [404, 'ended', ''], [410, 'ended', ''], [401, 'refused', 'Ask again'], [403, 'refused', 'Ask again'], [409, 'error', undefined],
        [429, 'error', undefined], [503, 'error', undefined], [500, 'error', undefined],
    ]) {
        const end = offerRefusal(status, { reason: '', type: '' });
        assert.deepEqual([end.state, end.button], [state, button], String(status));
    }
});
