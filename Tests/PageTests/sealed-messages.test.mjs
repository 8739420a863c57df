// What a viewer says and is told over a relay.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import './fake-page.mjs';
import { link, range } from './support.mjs';
import { decodeBase64URL, encodeBase64URL } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { MessageWindow, SealedMessages, openBox, sealMessage } from '../../Sources/Peer/ViewerPage/Page/Script/sealed-messages.js';

const toHost = encodeBase64URL(range(0, 16)), toViewer = encodeBase64URL(range(16, 32)), instance = range(1, 5);
const comment = text => `event: comment\ndata: ${JSON.stringify({ type: 'comment', text })}\n\n`;
const rights = right => `event: rights\ndata: ${JSON.stringify({ type: 'rights', comment: right })}\n\n`;

// A session that its host serves over a relay.
function overRelay(isOverRelay = true) {
    const said = [], saved = [], taken = [];
    const current = { token: 't', seal: { isSealed: false, messages: { toHost, toViewer } } };
    const session = {
        link: { ...link, isOverRelay }, handover: { home: null }, isOver: false, identity: { isStored: true },
        admissions: { current, save() { saved.push(this.current.seal.said); } },
        client: { saySealed: async sealed => { said.push(sealed); return { status: 204 }; } },
    };
    const messages = new SealedMessages(session);
    const handle = event => messages.handle(event, one => taken.push(one));
    const box = async (text, counter, key = toViewer) => encodeBase64URL(await sealMessage(text, key, counter, instance));
    return { session, messages, said, saved, taken, handle, box };
}

test('a box has the form of the program', async () => {
    const sealed = await sealMessage('Hello', toHost, 258, instance);
    assert.deepEqual([...sealed.slice(0, 12)], [0, 0, 0, 0, 0, 0, 1, 2, 1, 2, 3, 4]);
    assert.equal(sealed.length, 12 + 5 + 16);
    assert.deepEqual(await openBox(sealed, toHost), { counter: 258n, text: 'Hello' });
    for (let i = 0; i < sealed.length; i++) {
        const changed = sealed.slice();
        changed[i] ^= 1;
        await assert.rejects(openBox(changed, toHost), `byte ${i}`);
    }
    await assert.rejects(openBox(sealed, toViewer));
});

test('a counter is taken once', () => {
    const counters = new MessageWindow();
    const taken = [3n, 1n, 3n, 1n, 2n, 2000n, 4n, 1999n].map(counter => counters.takes(counter));
    assert.deepEqual(taken, [true, true, false, false, true, true, false, true]);
    assert.ok(counters.seen.size < 1025);
});

test('what is said is sealed for the host, one after the other, with rising counters also after a reload', async () => {
    const { session, messages, said, saved } = overRelay();
    await Promise.all([messages.speaker.say([{ type: 'ask', right: 'comment' }]), messages.speaker.say([{ type: 'comment', text: 'Hi' }])]);
    const opened = await Promise.all(said.map(text => openBox(decodeBase64URL(text), toHost)));
    assert.deepEqual(opened.map(({ text }) => JSON.parse(text).messages[0].type), ['ask', 'comment']);
    assert.ok(opened[1].counter > opened[0].counter);
    assert.deepEqual(saved.map(BigInt), opened.map(({ counter }) => counter));
    // The clock of the machine was set back.
    session.admissions.current.seal.said = 2 ** 52;
    const again = new SealedMessages(session);
    await again.speaker.say([]);
    assert.equal((await openBox(decodeBase64URL(said[2]), toHost)).counter, BigInt(2 ** 52 + 1));
});

test('what a relay could have made up is left out', async () => {
    const { messages, taken, handle, box } = overRelay();
    assert.equal(handle({ type: 'comment', text: 'I am the host' }), true);
    assert.equal(handle({ type: 'rights', comment: 'yes' }), true);
    assert.equal(handle({ type: 'viewercount', viewercount: 2 }), false);
    for (const made of ['', 'AAAA', '?', await box(comment('reflected'), 1, toHost), 7, null]) handle({ type: 'sealed', box: made });
    handle({ type: 'sealed', box: await box('event: removed\ndata: {"type":"removed","reason":"x"}\n\n', 1) });
    handle({ type: 'sealed' });
    handle({ type: 'sealed', frame: 'AAAA' });
    const first = await box(comment('one'), 2);
    handle({ type: 'sealed', box: first });
    handle({ type: 'sealed', box: first });
    handle({ type: 'sealed', box: await box(comment('two'), 3) });
    await messages.opening;
    assert.deepEqual(taken.map(({ text }) => text), ['one', 'two']);
});

test('older rights do not come back', async () => {
    const { messages, taken, handle, box } = overRelay();
    handle({ type: 'sealedrights', box: await box(rights('no'), 9) });
    handle({ type: 'sealed', box: await box(rights('yes') + comment('late'), 8) });
    await messages.opening;
    assert.deepEqual(taken.map(event => event.comment || event.text), ['no', 'late']);
});

test('without a relay nothing changes', () => {
    const { session, messages, handle } = overRelay(false);
    assert.equal(handle({ type: 'comment', text: 'Hi' }), false);
    assert.equal(handle({ type: 'sealed', box: 'AAAA' }), true);
    assert.equal(messages.speaker, session.client);
});

// A WebSocket of the browser, as far as it is used.
function browserSocket() {
    const sent = [], codes = [];
    return { readyState: 0, bufferedAmount: 7, sent, codes, send: text => sent.push(text), close: code => codes.push(code) };
}

test('what goes over the socket is sealed for it, in the order of the calls', async () => {
    const { session, messages, said } = overRelay(), browser = browserSocket();
    session.client.openMessageSocket = () => browser;
    const socket = messages.speaker.openMessageSocket(), told = [];
    socket.onopen = () => told.push('open');
    socket.onmessage = ({ data }) => told.push(data);
    browser.readyState = 1;
    browser.onopen();
    browser.onmessage({ data: 'refusal' });
    assert.deepEqual(told, ['open', 'refusal']);
    for (const text of ['one', 'two']) socket.send(text);
    assert.equal(socket.bufferedAmount, 7 + 6);
    await Promise.all([messages.speaker.say([]), socket.sending]);
    assert.equal(socket.bufferedAmount, 7);
    const boxes = browser.sent.map(text => decodeBase64URL(JSON.parse(text).sealed));
    // As a request they are none.
    for (const box of boxes) await assert.rejects(openBox(box, toHost));
    const counters = boxes.map(box => new DataView(box.buffer, box.byteOffset).getBigUint64(0));
    counters.push((await openBox(decodeBase64URL(said[0]), toHost)).counter);
    assert.ok(counters[1] > counters[0]);
    assert.equal(new Set(counters).size, 3);
    socket.close(1000);
    assert.deepEqual(browser.codes, [1000]);
});

test('a socket whose token has ended has the viewer admitted again, and may be opened once more', async () => {
    for (const closing of [{ hasOpened: false, code: 1006 }, { hasOpened: true, code: 4401 }, { hasOpened: true, code: 1001 }]) {
        const { session, messages, said } = overRelay(), browser = browserSocket(), codes = [];
        session.client.openMessageSocket = () => browser;
        const socket = messages.speaker.openMessageSocket();
        if (closing.hasOpened) browser.onopen();
        await new Promise(done => {
            socket.onclose = ({ code }) => done(codes.push(code));
            browser.onclose({ code: closing.code });
        });
        assert.deepEqual([codes, said.length], closing.code === 1001 ? [[1001], 0] : [[1006], 1], JSON.stringify(closing));
    }
    const { session, messages } = overRelay();
    session.admissions.current.seal = null;
    assert.throws(() => messages.speaker.openMessageSocket());
});
