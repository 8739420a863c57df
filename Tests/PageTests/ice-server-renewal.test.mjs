import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ICEServerRenewal, validServers } from '../../Sources/Peer/ViewerPage/Page/Script/ice-server-renewal.js';

const hour = 3600000, begin = 1700000000000;
const servers = (expiry, name = 'a') => [{ urls: ['stun:a.example'] }, { urls: ['turn:a.example'], username: `${Math.floor(expiry / 1000)}:${name}`, credential: 'c' }];

// A session whose host answers with credentials that are valid for `lifetime` milliseconds, and a clock for it.
function connected(t, lifetime, { fails = () => false, isStored = true } = {}) {
    let now = begin;
    const asked = [], used = [];
    t.mock.timers.enable({ apis: ['setTimeout'] });
    t.mock.method(Date, 'now', () => now);
    const session = {
        isOver: false, identity: { isStored }, peer: { useICEServers: list => used.push(list) },
        admissions: { current: { token: 't', iceServers: servers(begin + lifetime) }, saved: 0, save() { this.saved++; } },
        client: {
            async iceServers() {
                asked.push(now - begin);
                if (fails()) throw new Error('no network');
                return servers(now + lifetime);
            },
        },
    };
    const settle = async () => { for (let i = 0; i < 10; i++) await Promise.resolve(); };
    const advance = async (milliseconds, step = 1000) => {
        await settle();
        for (const end = now + milliseconds; now < end;) {
            now += step;
            t.mock.timers.tick(step);
            await settle();
        }
    };
    return { session, asked, used, advance, sleep: milliseconds => { now += milliseconds; }, renewal: new ICEServerRenewal(session) };
}

test('a tab that stays connected has valid credentials for its next ICE restart', async t => {
    const { session, asked, used, advance, renewal } = connected(t, 12 * hour);
    renewal.connected();
    await advance(13 * hour, 10000);
    assert.deepEqual(asked, [6 * hour, 12 * hour]);
    assert.deepEqual(used, [servers(begin + 18 * hour), servers(begin + 24 * hour)]);
    assert.deepEqual([session.admissions.current.iceServers, session.admissions.saved], [used[1], 2]);
});

test('credentials for a viewer without media are replaced when the connection is there', async t => {
    const { asked, advance, renewal } = connected(t, 60000);
    renewal.connected();
    await advance(70000);
    assert.deepEqual(asked, [0, 30000, 60000]);
});

test('a host whose credentials have always expired is not asked all the time', async t => {
    const { asked, advance, renewal } = connected(t, -hour);
    renewal.connected();
    await advance(60000);
    assert.deepEqual(asked, [0, 2000, 4000, 6000, 8000, 10000, 12000, 14000, 44000]);
});

test('a host that does not answer is asked again after a minute, and a machine that has slept asks soon', async t => {
    let fails = true;
    const { asked, advance, sleep, renewal } = connected(t, 12 * hour, { fails: () => fails });
    renewal.connected();
    sleep(7 * hour);
    await advance(40000);
    assert.deepEqual(asked, [7 * hour + 30000]);
    fails = false;
    await advance(60000);
    assert.equal(asked.length, 2);
    assert.equal(asked[1] - asked[0], 60000);
});

test('nothing is asked after the end, or where nothing expires', async t => {
    const { session, asked, advance, renewal } = connected(t, 2 * hour);
    renewal.connected();
    session.isOver = true;
    renewal.stop();
    await advance(3 * hour, 10000);
    assert.deepEqual(asked, []);
    session.isOver = false;
    session.admissions.current.iceServers = [{ urls: ['turn:a.example'], username: 'own', credential: 'c' }];
    renewal.connected();
    session.admissions.current = null;
    renewal.connected();
    await advance(3 * hour, 10000);
    assert.deepEqual(asked, []);
    // An end while the answer is under way.
    session.admissions.current = { token: 't', iceServers: servers(begin + 6.5 * hour) };
    renewal.connected();
    session.isOver = true;
    renewal.stop();
    await advance(3 * hour, 10000);
    assert.equal(asked.length, 1);
});

test('an answer of the former place does not become the next place\'s', async t => {
    const { session, used, advance, renewal } = connected(t, 60000), former = session.admissions;
    const next = { current: { token: 'u', iceServers: servers(begin + 12 * hour, 'next') }, save() {} };
    renewal.connected();
    session.admissions = next;
    await advance(1000);
    assert.deepEqual(used, []);
    assert.deepEqual(former.current.iceServers, servers(begin + 60000));
    assert.deepEqual(next.current.iceServers, servers(begin + 12 * hour, 'next'));
});

test('a session begins with credentials that are valid', async t => {
    const { session, asked } = connected(t, -1000), { client, admissions } = session;
    const kept = admissions.current.iceServers;
    client.iceServers = async () => servers(begin + hour);
    assert.deepEqual(await validServers(client, admissions, true), servers(begin + hour));
    assert.equal(admissions.saved, 1);
    client.iceServers = async () => { asked.push('again'); return null; };
    assert.deepEqual(await validServers(client, admissions, true), servers(begin + hour));
    assert.deepEqual(asked, []);
    // An older host does not tell them.
    admissions.current.iceServers = kept;
    assert.equal(await validServers(client, admissions, true), kept);
});
