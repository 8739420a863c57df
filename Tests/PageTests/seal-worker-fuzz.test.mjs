// The worker under frames, keys and events that a relay has made up from those of a host. `SHARE_FUZZ_FRAMES` is how many (8000 if it is
// not set), `SHARE_FUZZ_SEED` begins elsewhere.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { posted } from './fake-worker.mjs';
import { range } from './support.mjs';
import { FrameSealer } from './frame-sealer.mjs';
import { concatenate } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { parseKeys, parseNewEpoch } from '../../Sources/Peer/ViewerPage/Page/Script/key-agreement.js';
import '../../Sources/Peer/ViewerPage/Page/Script/seal-worker.js';

const count = Number(process.env.SHARE_FUZZ_FRAMES || 8000), seed = Number(process.env.SHARE_FUZZ_SEED || 1);
const baseKey = range(0, 32), run = range(0, 16);
const tracks = { video: 0, audio: 4 };

// Numbers below `limit`, the same ones for a seed (xorshift32).
function makeRandom(start) {
    let state = start >>> 0 || 1;
    return limit => {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        return (state >>> 0) % limit;
    };
}

const bytesOf = (random, length) => Uint8Array.from({ length }, () => random(256));

// What a relay may make of a frame.
function mutated(frame, others, random) {
    const copy = frame.slice();
    switch (random(9)) {
    case 0: return copy;
    case 1:
        copy[random(copy.length)] ^= 1 << random(8);
        return copy;
    case 2: return copy.subarray(0, random(copy.length + 1));
    case 3: return concatenate(copy, bytesOf(random, random(40)));
    case 4: return concatenate(copy.subarray(0, random(14)), bytesOf(random, random(60)));
    case 5: return bytesOf(random, random(80));
    case 6: return concatenate(copy.subarray(0, random(copy.length)), others[random(others.length)].subarray(random(20)));
    case 7: {
        const at = random(14);
        return concatenate(copy.subarray(0, at), bytesOf(random, 1 + random(4)), copy.subarray(at + random(5)));
    }
    default:
        for (let i = random(6); i >= 0; i--) copy[random(Math.min(copy.length, 30))] = random(256);
        return copy;
    }
}

// Lets what the worker has begun end.
async function settle(pending) { while (pending()) await new Promise(done => setImmediate(done)); }

test('nothing that a host has not sealed gets through the worker, and nothing twice', async () => {
    const random = makeRandom(seed), failures = [];
    const note = reason => failures.push(reason);
    process.on('unhandledRejection', note);
    globalThis.onmessage({ data: { keys: { run, keys: Object.values(tracks).map(track => ({ epoch: 3, track, step: 0, baseKey })) } } });
    for (const [kind, track] of Object.entries(tracks)) {
        const passed = [], sealer = new FrameSealer(kind, 3, track, 0, baseKey), sealed = [], clear = new Set();
        for (let i = 0; i < 60; i++) {
            if (i % 20 === 19) await sealer.advance(1 + random(3));
            const frame = concatenate(Uint8Array.of(i % 20 === 19 ? 0x10 : 0x11), bytesOf(random, 12 + random(90)));
            clear.add(Buffer.from(frame).toString('hex'));
            sealed.push(await sealer.seal(frame));
        }
        let source, sent = 0;
        const readable = new globalThis.ReadableStream({ start(controller) { source = controller; } });
        const writable = new globalThis.WritableStream({ write(frame) { passed.push(Buffer.from(frame.data).toString('hex')); } });
        const id = `fuzz-${kind}`, counts = () => posted.filter(report => report.id === id && 'opened' in report).at(-1);
        globalThis.onrtctransform({ transformer: { readable, writable, options: { id, kind }, sendKeyFrameRequest: async () => {} } });
        for (let i = 0; i < count / 2; i++) {
            // As they come, more or less: later ones are mixed with those of before.
            const at = Math.min(sealed.length - 1, Math.floor(i * sealed.length * 2 / count) + random(3));
            source.enqueue({ data: mutated(sealed[at], sealed, random).slice().buffer });
            sent++;
        }
        source.close();
        await settle(() => { const told = counts(); return !told || told.opened + told.dropped < sent; });
        assert.equal(new Set(passed).size, passed.length, 'a frame got through twice');
        assert.ok(passed.every(frame => clear.has(frame)), 'a frame that no host has made');
        assert.ok(passed.length > 20, `only ${passed.length} frames got through`);
        assert.equal(counts().opened, passed.length);
    }
    process.off('unhandledRejection', note);
    assert.deepEqual(failures, []);
});

test('keys of any bytes are read or refused, and change nothing if they are none', () => {
    const random = makeRandom(seed + 1);
    const valid = concatenate(Uint8Array.of(2), run, Uint8Array.of(1), Uint8Array.of(0, 0, 0, 3, 0, 0, 0, 0, 0), baseKey);
    const secret = concatenate(Uint8Array.of(3), run, Uint8Array.of(0, 0, 0, 4), baseKey);
    let read = 0;
    for (let i = 0; i < count; i++) {
        const bytes = mutated(random(2) ? valid : secret, [valid, secret], random);
        for (const parse of [parseKeys, parseNewEpoch]) {
            let keys;
            try { keys = parse(bytes); } catch { continue; }
            read++;
            assert.equal(keys.run.length, 16);
            for (const { track, baseKey: key } of keys.keys || []) assert.ok(track <= 6 && key.length === 32);
            if (keys.secret) assert.equal(keys.secret.length, 32);
        }
    }
    assert.ok(read > count / 20);
});
