// The vectors are those of ProofTests.swift.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fourWords, makeProof, signKnock } from '../../Sources/Peer/ViewerPage/Page/Script/authentication.js';
import { concatenate, utf8 } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { hexadecimal, link, range, viewerFingerprint } from './support.mjs';

test('proofs match the vectors', async () => {
    assert.equal(
        hexadecimal(await makeProof(link, 'share v1 viewer', viewerFingerprint)),
        '8ba1c519df464871dc44e6b82b01cad0d4278932da7efcebae0147bf394b8377');
    assert.equal(
        hexadecimal(await makeProof(link, 'share v1 host', viewerFingerprint, link.hostFingerprint)),
        '7409533fdb6c11d00074ce08532147f2d4c153801474549bc9d1c858a6dd1674');
});

test('the four words match the vector', async () => {
    const numbers = Array.from({ length: 256 }, (_, index) => String(index));
    assert.equal(await fourWords(numbers, link, viewerFingerprint, range(64, 80)), '166 180 100 114');
});

test('a knock is signed with all that it is for', async () => {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }, nonce = range(64, 80);
    const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify']);
    const signature = await signKnock(link, privateKey, viewerFingerprint, nonce);
    const message = concatenate(utf8('share v1 knock'), utf8(link.id), link.hostFingerprint, viewerFingerprint, nonce);
    assert.equal(signature.length, 64);
    assert.ok(await crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, publicKey, signature, message));
});
