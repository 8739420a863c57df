import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concatenate, decodeBase64URL, encodeBase64URL, equalBytes, utf8 } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { range } from './support.mjs';

test('base64url has no padding and no + or /', () => {
    for (const [bytes, code] of [[[], ''], [[0xFB, 0xFF], '-_8'], [[1], 'AQ'], [[1, 2], 'AQI'], [[1, 2, 3], 'AQID']]) {
        assert.equal(encodeBase64URL(Uint8Array.from(bytes)), code);
        assert.deepEqual([...decodeBase64URL(code)], bytes);
    }
    const all = range(0, 256);
    assert.deepEqual(decodeBase64URL(encodeBase64URL(all)), all);
});

test('bytes that differ anywhere, or in length, are not equal', () => {
    const bytes = range(0, 32);
    assert.ok(equalBytes(bytes, range(0, 32)));
    assert.ok(!equalBytes(bytes, range(0, 31)));
    assert.ok(!equalBytes(range(0, 31), bytes));
    for (let i = 0; i < bytes.length; i++) {
        const other = bytes.slice();
        other[i] ^= 1;
        assert.ok(!equalBytes(bytes, other));
    }
});

test('parts are concatenated in order', () => {
    assert.deepEqual([...concatenate(utf8('ä'), new Uint8Array(), Uint8Array.of(7))], [0xC3, 0xA4, 7]);
});
