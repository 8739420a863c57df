import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeFailure } from '../../Sources/Peer/ViewerPage/Page/Script/connection-failure.js';

const candidates = (...list) => list.map(([address, type]) => `a=candidate:1 1 udp 1 ${address} 9 typ ${type}\r\n`).join('');
const viewer = candidates(['192.0.2.1', 'host']), host = candidates(['192.0.2.7', 'host']);

test('the cause is named', () => {
    for (const [local, remote, hasTURN, beginning] of [
        [viewer, host, false, 'A firewall or the router of one side blocks it.'], [viewer, host, true, 'A firewall or the router of one side blocks it.'],
        ['', host, false, 'This browser has no usable address'], [undefined, undefined, false, 'This browser has no usable address'],
        [viewer, undefined, false, 'The host found no address'],
        [viewer, candidates(['127.0.0.1', 'host'], ['::1', 'host']), false, 'The host has only a loopback address'],
        [viewer, candidates(['127.0.0.1', 'host'], ['192.0.2.7', 'host']), false, 'A firewall'],
    ]) {
        assert.ok(describeFailure(local, remote, hasTURN).startsWith(beginning), beginning);
    }
    assert.match(describeFailure(viewer, host, true), /The host named a TURN server/);
    assert.match(describeFailure(viewer, host, false), /the host can name one with --turn/);
});

test('addresses that were tried are named once, at most four, and hidden ones not', () => {
    const many = candidates(...[1, 2, 3, 4, 5, 1].map(i => ['198.51.100.' + i, 'host']));
    const words = describeFailure(candidates(['x-y.local', 'host'], ['z.local', 'host'], ['203.0.113.1', 'srflx'], ['203.0.113.2', 'relay']), many);
    assert.match(words, /tried here: a hidden address, 203\.0\.113\.1 \(public\), 203\.0\.113\.2 \(TURN\);/);
    assert.match(words, /at the host: 198\.51\.100\.1, 198\.51\.100\.2, 198\.51\.100\.3, 198\.51\.100\.4\./);
});
