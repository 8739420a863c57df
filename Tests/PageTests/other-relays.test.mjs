import assert from 'node:assert/strict';
import { test } from 'node:test';
import './fake-page.mjs';
import { concatenate, encodeBase64URL, utf8 } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { parseLink } from '../../Sources/Peer/ViewerPage/Page/Script/link.js';
import { addressOfMove, isMove, moveOf, otherLinks } from '../../Sources/Peer/ViewerPage/Page/Script/other-relays.js';
import { ViewerSession } from '../../Sources/Peer/ViewerPage/Page/Script/session.js';
import { range } from './support.mjs';

Object.defineProperty(globalThis, 'navigator', { value: { onLine: true }, configurable: true });
const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
const code = (secret, host) => encodeBase64URL(concatenate(Uint8Array.of(1), secret, host));
const own = code(range(0, 16), range(32, 64));
const other = code(range(0, 16), range(64, 96));
const link = parseLink('/0123456789ABC', '#' + own);
const good = 'https://relay.example:8443/0123456789ABC#' + other;

// A server, its fingerprint, and what it signs.
async function makeServer() {
    const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify']);
    const certificate = concatenate(range(0, 90), new Uint8Array(await crypto.subtle.exportKey('spki', publicKey)), range(0, 80));
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', certificate));
    async function alternates(links, id = link.id) {
        const message = concatenate(utf8('share v1 alternates'), utf8(id), digest, utf8(links.join(' ')));
        const signature = new Uint8Array(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, message));
        return { type: 'alternates', links, certificate: encodeBase64URL(certificate), signature: encodeBase64URL(signature), mark: 'M' };
    }
    return { fingerprint: encodeBase64URL(digest), alternates };
}

test('only links of the same broadcast are followed', async () => {
    const { fingerprint, alternates } = await makeServer();
    const found = await otherLinks(await alternates([
        good, 'https://relay.example/0123456789ABD#' + other, 'http://relay.example/0123456789ABC#' + other,
        'https://relay.example/0123456789ABC#' + code(range(1, 17), range(64, 96)), 'javascript:alert(1)', 'https://', '',
    ]), link, fingerprint);
    assert.deepEqual(found.map(String), [good]);
    for (const links of [null, 'x', { length: 3 }, [7], [null], Array(9).fill(good), [good + ' ' + good], ['x'.repeat(600)]]) {
        const event = { ...await alternates([good]), links };
        assert.deepEqual(await otherLinks(event, link, fingerprint), [], JSON.stringify(links));
    }
});

test('only what the page\'s own server has signed is followed', async () => {
    const { fingerprint, alternates } = await makeServer(), host = await makeServer(), event = await alternates([good]);
    assert.equal((await otherLinks(event, link, fingerprint)).length, 1);
    const refused = [
        // A host whose events the server forwards signs with its own key, whatever the link says.
        await host.alternates([good]), { ...event, certificate: (await host.alternates([good])).certificate },
        { ...event, links: [good.replace('relay', 'evil')] }, { ...event, links: [good, good] }, await alternates([good], '0123456789ABD'),
        { ...event, signature: undefined }, { ...event, signature: '' }, { ...event, certificate: '' }, { links: [good] }, {},
    ];
    for (const bad of refused) assert.deepEqual(await otherLinks(bad, link, fingerprint), [], JSON.stringify(bad));
    const evil = { ...link, hostFingerprint: range(1, 33) };
    assert.deepEqual(await otherLinks(await host.alternates([good]), evil, fingerprint), []);
});

test('a host sends the tab of its viewer nowhere', async () => {
    const host = await makeServer();
    const session = new ViewerSession(link, { current: null }, 'Ann', null);
    session.handle({ type: 'alternates', links: [good] });
    session.handle(await host.alternates([good]));
    session.handle({ type: 'reconnect' });
    await session.noting;
    assert.equal(session.moveOn(), false);
    assert.equal(session.isOver, false);
});

test('the page of the other relay gets the name of the viewer and the mark, and keeps the link', async () => {
    const { fingerprint, alternates } = await makeServer();
    const [url] = await otherLinks(await alternates([good]), link, fingerprint);
    const moved = new URL(addressOfMove(url, 'Ann & Bob #1', 'M-_'));
    assert.equal(moved.origin + moved.pathname + moved.hash, good);
    assert.deepEqual(moveOf(moved.search), { name: 'Ann & Bob #1', mark: 'M-_' });
    assert.deepEqual(moveOf(new URL(addressOfMove(url, 'Ann')).search), { name: 'Ann', mark: null });
    assert.equal(moveOf(''), null);
    assert.equal(moveOf('?other=1'), null);
});

test('the page begins without a click only with a mark that its server accepts', async () => {
    const asked = [];
    const answering = status => async (path, options) => {
        asked.push([path, options.method, options.body]);
        return { status };
    };
    assert.equal(await isMove(null, link, answering(204)), false);
    assert.equal(await isMove('', link, answering(204)), false);
    assert.equal(asked.length, 0);
    assert.equal(await isMove('M', link, answering(204)), true);
    assert.deepEqual(asked, [['/0123456789ABC/moved', 'POST', '{"mark":"M"}']]);
    // An older server, one that does not know the mark, and none at all.
    for (const status of [200, 403, 404, 429]) assert.equal(await isMove('M', link, answering(status)), false);
    assert.equal(await isMove('M', link, async () => { throw new TypeError('network'); }), false);
});
