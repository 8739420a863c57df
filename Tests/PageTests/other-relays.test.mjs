import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concatenate, encodeBase64URL } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { parseLink } from '../../Sources/Peer/ViewerPage/Page/Script/link.js';
import { addressOfMove, nameAfterMove, otherLinks } from '../../Sources/Peer/ViewerPage/Page/Script/other-relays.js';
import { range } from './support.mjs';

const code = (secret, host) => encodeBase64URL(concatenate(Uint8Array.of(1), secret, host));
const own = code(range(0, 16), range(32, 64));
const other = code(range(0, 16), range(64, 96));
const link = parseLink('/0123456789ABC', '#' + own);

test('only links of the same broadcast are followed', () => {
    const good = 'https://relay.example:8443/0123456789ABC#' + other;
    const found = otherLinks([
        good, 'https://relay.example/0123456789ABD#' + other, 'http://relay.example/0123456789ABC#' + other,
        'https://relay.example/0123456789ABC#' + code(range(1, 17), range(64, 96)), 'javascript:alert(1)', 'https://', '', null, 7, {},
    ], link);
    assert.deepEqual(found.map(String), [good]);
    assert.deepEqual([otherLinks(null, link), otherLinks('x', link), otherLinks({ length: 3 }, link)], [[], [], []]);
    assert.equal(otherLinks(Array(50).fill(good), link).length, 8);
});

test('the page of the other relay gets the name of the viewer, and keeps the link', () => {
    const [url] = otherLinks(['https://relay.example:8443/0123456789ABC#' + other], link);
    const moved = new URL(addressOfMove(url, 'Ann & Bob #1'));
    assert.equal(moved.origin + moved.pathname + moved.hash, 'https://relay.example:8443/0123456789ABC#' + other);
    assert.equal(nameAfterMove(moved.search), 'Ann & Bob #1');
    assert.equal(nameAfterMove(''), null);
    assert.equal(nameAfterMove('?other=1'), null);
});
