import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventStreamParser } from '../../Sources/Peer/ViewerPage/Page/Script/event-stream.js';

test('events are complete after an empty line, wherever the stream is cut', () => {
    const text = 'event: x\r\ndata: {"type":"viewercount","count":3}\r\n\r\n: comment\n\ndata: {"type":\ndata: "ended"}\n\n';
    for (let cut = 0; cut <= text.length; cut++) {
        const parser = new EventStreamParser();
        assert.deepEqual([...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))], [{ type: 'viewercount', count: 3 }, { type: 'ended' }]);
    }
});

test('what is no JSON is ignored', () => {
    assert.deepEqual(new EventStreamParser().push('data: {\n\ndata: 1\n\n'), [1]);
});

test('an event without an end is refused', () => {
    const parser = new EventStreamParser();
    assert.throws(() => { for (let i = 0; i < 100; i++) parser.push('x'.repeat(1000)); }, /too long/);
});
