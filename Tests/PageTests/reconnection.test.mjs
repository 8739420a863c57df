import assert from 'node:assert/strict';
import { test } from 'node:test';
import './fake-page.mjs';
import { Reconnection } from '../../Sources/Peer/ViewerPage/Page/Script/reconnection.js';

// Virtual time.
let now = 0;
const timers = [], turn = setImmediate;
globalThis.setTimeout = (run, milliseconds = 0) => { timers.push({ at: now + milliseconds, run }); };
performance.now = () => now;
Object.defineProperty(globalThis, 'navigator', { value: { onLine: true }, configurable: true });

async function advance(until) {
    for (;;) {
        for (let i = 0; i < 5; i++) await new Promise(done => turn(done));
        timers.sort((a, b) => a.at - b.at);
        if (!timers.length || timers[0].at > until) break;
        const timer = timers.shift();
        now = timer.at;
        timer.run();
    }
    now = until;
}

// A session without a network until `upAt`. What was requested before is answered `repetition` later, as TCP repeats it.
function sessionWithout({ upAt, restart = () => true }) {
    const requests = [];
    const request = (kind, limit) => new Promise((done, fail) => {
        requests.push({ kind, at: now });
        const answeredAt = now >= upAt ? now + 50 : upAt + 8000, isSoon = answeredAt - now < limit;
        setTimeout(() => isSoon ? done() : fail(new Error('timeout')), isSoon ? answeredAt - now : limit);
    });
    const session = {
        isOver: false, requests, reopenEvents() {},
        client: {
            restartICE: () => request('restart', requests.length ? 3000 : 1000),
            ping: () => request('ping', 3000),
        },
        peer: { restart: async exchange => { await exchange('fragment'); return restart(); } },
        rejoin: () => request('rejoin', 3000),
        endWithoutHost() { session.isOver = true; },
    };
    return session;
}

function recovering(session) {
    const reconnection = new Reconnection(session);
    reconnection.isInterrupted = true;
    return { reconnection, end: reconnection.recover() };
}

test('a restart is asked for soon after the network is back, whatever was asked before', async () => {
    for (let upAt = 20000; upAt < 24000; upAt += 350) {
        now = timers.length = 0;
        const session = sessionWithout({ upAt }), { reconnection, end } = recovering(session);
        await advance(upAt + 1000);
        const restarts = session.requests.filter(({ kind, at }) => kind === 'restart' && at >= upAt);
        assert.equal(restarts.length, 1, `back after ${upAt} ms`);
        // Not more connections at once than a browser opens to one host.
        const open = session.requests.filter(({ at }) => at < upAt && at > upAt - 3000).length;
        assert.ok(open >= 3 && open <= 5, `${open} requests at once`);
        reconnection.resumed();
        await advance(upAt + 2000);
        await end;
    }
});

test('a host that takes no restart is asked for a new session', async () => {
    now = timers.length = 0;
    const session = sessionWithout({ upAt: 0, restart: () => false }), { reconnection, end } = recovering(session);
    await advance(300);
    assert.deepEqual(session.requests.map(({ kind }) => kind), ['restart', 'rejoin']);
    // It led nowhere: another follows, and no restart.
    await advance(6000);
    assert.deepEqual(session.requests.map(({ kind }) => kind), ['restart', 'rejoin', 'ping', 'rejoin']);
    reconnection.resumed();
    await advance(12000);
    await end;
});
