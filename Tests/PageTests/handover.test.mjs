import assert from 'node:assert/strict';
import { test } from 'node:test';
import './fake-page.mjs';
import { concatenate, decodeBase64URL, encodeBase64URL, utf8 } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { redirectedLink } from '../../Sources/Peer/ViewerPage/Page/Script/handover.js';
import { link, range, viewerFingerprint } from './support.mjs';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
const hash = async bytes => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
const target = 'https://relay.example:8443/ABCDEFGH01234#' + encodeBase64URL(concatenate(Uint8Array.of(1), range(80, 96), range(96, 128)));

// A host, its link, and what it signs.
async function makeHost() {
    const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify']);
    const key = new Uint8Array(await crypto.subtle.exportKey('spki', publicKey));
    // Only the key is read from a certificate whose hash is the link's.
    const certificate = concatenate(range(0, 90), key, range(0, 80));
    const known = { ...link, hostFingerprint: await hash(certificate) };
    async function redirect(text, viewer = viewerFingerprint, id = link.id) {
        const message = concatenate(utf8('share v1 redirect'), utf8(id), known.hostFingerprint, viewer, utf8(text));
        const signature = new Uint8Array(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, message));
        return { type: 'reconnect', link: text, certificate: encodeBase64URL(certificate), signature: encodeBase64URL(signature) };
    }
    return { known, redirect };
}

test('a redirect that the host has signed for this viewer is followed', async () => {
    const { known, redirect } = await makeHost();
    const found = await redirectedLink(await redirect(target), known, viewerFingerprint);
    assert.equal(found.id, 'ABCDEFGH01234');
    assert.deepEqual(found.hostFingerprint, range(96, 128));
});

test('nobody but the host sends a viewer elsewhere', async () => {
    const { known, redirect } = await makeHost(), other = await makeHost();
    const good = await redirect(target);
    const refused = [
        await other.redirect(target), { ...good, certificate: (await other.redirect(target)).certificate },
        { ...good, link: target.replace('relay', 'other') }, await redirect(target, range(1, 33)), await redirect(target, viewerFingerprint, '0123456789ABD'),
        { ...good, signature: encodeBase64URL(range(0, 64)) }, { ...good, signature: '' }, { ...good, certificate: '' },
        { ...good, certificate: encodeBase64URL(decodeBase64URL(good.certificate).slice(1)) }, { ...good, link: null }, {}, await redirect('nonsense'),
    ];
    for (const event of refused) assert.equal(await redirectedLink(event, known, viewerFingerprint), null, JSON.stringify(event));
});
