import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageSocket } from '../../Sources/Peer/ViewerPage/Page/Script/message-socket.js';

class FakeSocket {
    constructor() { Object.assign(this, { bufferedAmount: 0, sent: [], closedWith: null }); }
    send(text) { this.sent.push(JSON.parse(text)); }
    close(code) { this.closedWith = code; }
    end(code) { if (this.onclose) this.onclose({ code }); }
}

// A socket, what it has connected, and what it has told. The clock is that of the test.
function opened(t, isRefused = () => false) {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    t.mock.method(Math, 'random', () => 1);
    let now = 0;
    t.mock.method(performance, 'now', () => now);
    const sockets = [], answers = [], changes = [];
    const socket = new MessageSocket(() => {
        if (isRefused()) throw new Error('refused');
        sockets.push(new FakeSocket());
        return sockets[sockets.length - 1];
    }, { onAnswer: text => answers.push(text), onChange: () => changes.push(socket.isOpen) });
    socket.open();
    const wait = milliseconds => { now += milliseconds; t.mock.timers.tick(milliseconds); };
    return { socket, sockets, answers, changes, wait, last: () => sockets[sockets.length - 1] };
}

test('nothing is kept for later while it is not open', t => {
    const { socket, last, changes } = opened(t);
    assert.equal(socket.send([{ type: 'ask' }]), false);
    last().onopen();
    assert.deepEqual(changes, [true]);
    assert.deepEqual(last().sent, []);
    assert.equal(socket.send([{ type: 'comment', text: 'x' }]), true);
    assert.deepEqual(last().sent, [{ messages: [{ type: 'comment', text: 'x' }] }]);
});

test('after an outage it is opened again, later and later, and at once after it had worked', t => {
    const { sockets, last, wait, socket, changes } = opened(t);
    last().end(1006);
    wait(299);
    assert.equal(sockets.length, 1);
    wait(1);
    assert.equal(sockets.length, 2);
    last().end(1006);
    wait(300);
    assert.equal(sockets.length, 2);
    wait(300);
    assert.equal(sockets.length, 3);
    last().onopen();
    wait(5000);
    last().end(1006);
    assert.ok(!socket.isOpen && !socket.send([{}]));
    assert.deepEqual(changes, [true, false]);
    wait(300);
    assert.equal(sockets.length, 4);
});

test('a socket that never opens is tried each 15 s', t => {
    let isRefused = false;
    const { sockets, last, wait } = opened(t, () => isRefused);
    for (let i = 0; i < 10; i++) {
        last().end(1006);
        wait(15000);
        assert.equal(sockets.length, i + 2);
    }
    isRefused = true;
    last().end(1006);
    wait(60000);
    isRefused = false;
    wait(15000);
    assert.equal(sockets.length, 12);
});

test('it stays closed when the broadcast, the token or its place has ended, until it is wanted anew', t => {
    for (const code of [1000, 4401, 4409]) {
        const { socket, sockets, last, wait } = opened(t);
        last().onopen();
        last().end(code);
        wait(100000);
        assert.equal(sockets.length, 1, String(code));
        socket.open();
        assert.equal(sockets.length, 2);
        t.mock.restoreAll();
        t.mock.timers.reset();
    }
});

test('positions are left out when the network does not take them, and a stuck socket is replaced', t => {
    const { socket, sockets, last } = opened(t);
    last().onopen();
    last().bufferedAmount = 5000;
    assert.equal(socket.send([{ type: 'pointer' }], true), false);
    assert.equal(socket.send([{ type: 'comment' }]), true);
    last().bufferedAmount = 70000;
    assert.equal(socket.send([{ type: 'comment' }]), false);
    assert.equal(sockets.length, 2);
    assert.equal(sockets[0].closedWith, 1000);
    assert.ok(!socket.isOpen);
});

test('closed, it tells nothing more and is not opened again', t => {
    const { socket, sockets, answers, last, wait } = opened(t);
    last().onopen();
    last().onmessage({ data: '{"detail":"no"}' });
    last().onmessage({ data: new ArrayBuffer(2) });
    assert.deepEqual(answers, ['{"detail":"no"}']);
    const [former] = sockets;
    socket.close();
    assert.equal(former.closedWith, 1000);
    assert.equal(former.onmessage, null);
    wait(100000);
    assert.equal(sockets.length, 1);
    socket.reopen();
    assert.equal(sockets.length, 1);
});
