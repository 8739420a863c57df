import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLink } from '../../Sources/Peer/ViewerPage/Page/Script/link.js';
import { concatenate, encodeBase64URL } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { range } from './support.mjs';

// The link of LinkTests.swift.
const code = 'AQABAgMEBQYHCAkKCwwNDg8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0-Pw';

test('a link has an ID, a secret and the fingerprint of the host', () => {
    const link = parseLink('/0123456789ABC', '#' + code);
    assert.deepEqual(link, { id: '0123456789ABC', secret: range(0, 16), hostFingerprint: range(32, 64), isOverRelay: false });
    assert.equal(parseLink('/0123456789ABC/', '#' + code).id, '0123456789ABC');
});

test('a link of version 2 has flags, which the page need not follow', () => {
    for (const flags of [0, 1]) {
        const flagged = encodeBase64URL(concatenate(Uint8Array.of(2, flags), range(0, 16), range(32, 64)));
        const link = parseLink('/0123456789ABC', '#' + flagged);
        assert.deepEqual(link, { id: '0123456789ABC', secret: range(0, 16), hostFingerprint: range(32, 64), isOverRelay: false });
    }
});

test('a link to a host behind a relay has the host\'s fingerprint before that of the relay', () => {
    const relayed = encodeBase64URL(concatenate(Uint8Array.of(2, 2), range(0, 16), range(32, 96)));
    const link = parseLink('/0123456789ABC', '#' + relayed);
    assert.deepEqual(link, { id: '0123456789ABC', secret: range(0, 16), hostFingerprint: range(32, 64), isOverRelay: true });
    assert.throws(() => parseLink('/0123456789ABC', '#' + relayed.slice(0, 66)), { message: /44 characters are missing/ });
});

test('letters of the ID that look like digits are digits', () => {
    assert.equal(parseLink('/oO1iIlL789abc', '#' + code).id, '0011111789ABC');
});

test('what is wrong with a link is told', () => {
    const version3 = encodeBase64URL(concatenate(Uint8Array.of(3), range(0, 48)));
    const unknownFlag = encodeBase64URL(concatenate(Uint8Array.of(2, 0x81), range(0, 48)));
    const flagged = encodeBase64URL(concatenate(Uint8Array.of(2, 1), range(0, 48)));
    for (const [fragment, sentence] of [
        ['', 'The link is incomplete: the part after # is missing.'], ['#', 'The link is incomplete: the part after # is missing.'],
        ['#' + code.slice(0, 65), 'The link is incomplete: 1 character is missing at its end.'],
        ['#' + code.slice(0, 60), 'The link is incomplete: 6 characters are missing at its end.'],
        ['#' + code + 'A', 'The link is mistyped: it is too long.'],
        ['#' + code.slice(1) + '!', 'The link is mistyped: it has a character that no link has.'],
        // Bits that no byte has.
        ['#' + code.slice(0, 65) + 'x', 'The link is mistyped near its end.'],
        ['#' + version3, 'The link is mistyped, or made by a newer version of share.'],
        ['#' + unknownFlag, 'The link is made by a newer version of share.'],
        ['#' + flagged.slice(0, 60), 'The link is incomplete: 7 characters are missing at its end.'],
        ['#' + flagged + 'A', 'The link is mistyped: it is too long.'],
    ]) {
        assert.throws(() => parseLink('/0123456789ABC', fragment), { message: sentence, state: 'error' });
    }
});
