// The vectors are those of RFC 9605, appendix C: all headers, and the ciphertexts of the suites with AES-GCM (4 and 5). Numbers are text,
// as JSON has none of 64 bits.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { hexadecimal, range } from './support.mjs';
import { baseKeyOf } from './fake-host.mjs';
import { FrameSealer, header } from './frame-sealer.mjs';
import { concatenate, utf8 } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import {
    FrameOpener, KeyStore, ReplayWindow, clearPrefixLength, deriveKeyAndSalt, firstBaseKey, keyIDOf, nextBaseKey, nonceOf, readHeader,
} from '../../Sources/Peer/ViewerPage/Page/Script/sframe.js';

const vectors = JSON.parse(readFileSync(new URL('sframe-vectors.json', import.meta.url), 'utf8'));
const bytes = text => Uint8Array.from(Buffer.from(text, 'hex'));
const suites = { 4: { id: 4, hash: 'SHA-256', keyLength: 16 }, 5: { id: 5, hash: 'SHA-512', keyLength: 32 } };

test('headers match the vectors', () => {
    assert.equal(vectors.header.length, 289);
    for (const { kid, ctr, encoded } of vectors.header) {
        const code = bytes(encoded);
        assert.deepEqual(readHeader(concatenate(range(0, 3), code), 3), { keyID: BigInt(kid), counter: BigInt(ctr), end: 3 + code.length });
        assert.equal(hexadecimal(header(BigInt(kid), BigInt(ctr))), encoded);
        for (let length = 0; length < code.length; length++) assert.equal(readHeader(code.subarray(0, length), 0), null);
    }
});

test('keys, nonces and ciphertexts match the vectors', async () => {
    assert.deepEqual(vectors.sframe.map(vector => vector.cipher_suite), [4, 5]);
    for (const vector of vectors.sframe) {
        const suite = suites[vector.cipher_suite];
        const { key, salt } = await deriveKeyAndSalt(bytes(vector.base_key), BigInt(vector.kid), suite);
        assert.equal(hexadecimal(key), vector.sframe_key);
        assert.equal(hexadecimal(salt), vector.sframe_salt);
        const nonce = nonceOf(salt, BigInt(vector.ctr)), code = bytes(vector.ct), metadata = bytes(vector.metadata);
        assert.equal(hexadecimal(nonce), vector.nonce);
        const { keyID, counter, end } = readHeader(code, 0);
        assert.deepEqual([keyID, counter], [BigInt(vector.kid), BigInt(vector.ctr)]);
        const aad = concatenate(code.subarray(0, end), metadata);
        assert.equal(hexadecimal(aad), vector.aad);
        const imported = await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['decrypt']);
        const plain = await crypto.subtle.decrypt({ name: 'AES-GCM', iv: nonce, additionalData: aad }, imported, code.subarray(end));
        assert.equal(hexadecimal(new Uint8Array(plain)), vector.pt);
    }
});

test('a key ID has 4 bits of the epoch, the track, and 9 bits of the step', () => {
    assert.equal(keyIDOf(0, 0, 0), 0);
    assert.equal(keyIDOf(15, 5, 511), 0xFBFF);
    assert.equal(keyIDOf(17, 4, 513), 0x1801);
});

test('the clear prefix is that of the codec', () => {
    assert.equal(clearPrefixLength('video', Uint8Array.of(0x10, 1)), 10);
    assert.equal(clearPrefixLength('video', Uint8Array.of(0x11)), 3);
    assert.equal(clearPrefixLength('video', new Uint8Array()), 3);
    assert.equal(clearPrefixLength('audio', Uint8Array.of(0x10)), 1);
});

test('a window knows 1,024 counters', () => {
    const seen = new ReplayWindow();
    assert.ok(!seen.has(0n) && !seen.has(5000n));
    for (const counter of [0n, 2n, 1023n]) seen.add(counter);
    assert.deepEqual([0n, 1n, 2n, 1022n, 1023n, 1024n].map(counter => seen.has(counter)), [true, false, true, false, true, false]);
    seen.add(1024n);
    // 0 has left the window.
    assert.ok(seen.has(0n) && !seen.has(1n) && seen.has(2n));
    seen.add(1n);
    assert.ok(seen.has(1n));
    seen.add(2n ** 64n - 1n);
    assert.ok(seen.has(1025n) && !seen.has(2n ** 64n - 2n) && seen.has(2n ** 64n - 1n));
    assert.equal(seen.bits, 1n);
});

const epoch = 18, baseKey = range(100, 132);
const keyFrame = concatenate(Uint8Array.of(0x10), range(1, 60)), otherFrame = concatenate(Uint8Array.of(0x11), range(1, 60));

async function stage({ kind = 'video', track = 0, step = 7 } = {}) {
    const keyStore = new KeyStore();
    await keyStore.add({ run: range(0, 16), keys: [{ epoch, track, step, baseKey }] });
    return { keyStore, opener: new FrameOpener(kind, keyStore), sealer: new FrameSealer(kind, epoch, track, step, baseKey) };
}
const resultOf = async (opener, frame) => (await opener.open(frame)).result;

test('a sealed frame is opened to what it was', async () => {
    for (const [kind, track, frame] of [
        ['video', 0, keyFrame], ['video', 3, otherFrame], ['audio', 4, otherFrame], ['audio', 5, Uint8Array.of(8)],
        ['video', 1, keyFrame.subarray(0, 10)],
    ]) {
        const { opener, sealer } = await stage({ kind, track });
        for (const isFirst of [true, false]) {
            const { number, ...opened } = await opener.open(await sealer.seal(frame));
            assert.deepEqual(opened, { result: 'opened', bytes: frame, isFirst });
            // Of the track, the key's step and the frame.
            assert.equal(number[0] >> 9 & 7, track);
            assert.equal(number[1], isFirst ? 0 : 1);
        }
    }
});

test('frames of one receiver come out in their order', async () => {
    const { opener, sealer } = await stage(), sealed = [], done = [];
    for (let i = 0; i < 20; i++) {
        if (i % 5 === 0) await sealer.advance();
        sealed.push(await sealer.seal(keyFrame));
    }
    await Promise.all(sealed.map(async (frame, i) => {
        assert.equal(await resultOf(opener, frame), 'opened');
        done.push(i);
    }));
    assert.deepEqual(done, [...sealed.keys()]);
});

test('the ratchet follows for 255 steps, past the 9 bits, and not for 256', async () => {
    for (const [step, ahead, result] of [[7, 1, 'opened'], [7, 255, 'opened'], [400, 255, 'opened'], [1000, 100, 'opened'], [7, 256, 'tooOld']]) {
        const { opener, sealer } = await stage({ step });
        await sealer.advance(ahead);
        assert.equal(await resultOf(opener, await sealer.seal(otherFrame)), result, `${step} + ${ahead}`);
        await sealer.advance();
        assert.equal(await resultOf(opener, await sealer.seal(otherFrame)), result);
    }
});

test('the four newest steps are open, and older ones are too old', async () => {
    const { opener, sealer } = await stage(), frames = [];
    for (let i = 0; i < 5; i++) {
        frames.push(await sealer.seal(keyFrame), await sealer.seal(otherFrame));
        await sealer.advance();
    }
    for (let i = 0; i < 10; i += 2) assert.equal(await resultOf(opener, frames[i]), 'opened');
    const late = [];
    for (let i = 1; i < 10; i += 2) late.push(await resultOf(opener, frames[i]));
    assert.deepEqual(late, ['tooOld', 'opened', 'opened', 'opened', 'opened']);
});

test('frames older than the first key are too old', async () => {
    const { opener } = await stage({ step: 7 });
    const former = new FrameSealer('video', epoch, 0, 6, range(0, 32));
    assert.equal(await resultOf(opener, await former.seal(otherFrame)), 'tooOld');
});

test('a frame is opened once by a receiver, and again by that of another connection', async () => {
    const { keyStore, opener, sealer } = await stage();
    const first = await sealer.seal(keyFrame), second = await sealer.seal(otherFrame);
    const results = [];
    for (const frame of [second, second, first, first]) results.push(await resultOf(opener, frame));
    assert.deepEqual(results, ['opened', 'replayed', 'opened', 'replayed']);
    assert.equal(await resultOf(new FrameOpener('video', keyStore), first), 'opened');
});

test('a forged frame is dropped and changes nothing', async () => {
    const { keyStore, opener, sealer } = await stage();
    await sealer.advance();
    const good = await sealer.seal(keyFrame);
    const headerEnd = readHeader(good, 10).end;
    for (let i = 0; i < good.length; i++) {
        const forged = good.slice();
        forged[i] ^= i === 0 ? 0x10 : 0x80;
        const { result } = await opener.open(forged);
        assert.ok(i >= 10 && i < headerEnd ? result !== 'opened' : result === 'forged', `${i}: ${result}`);
    }
    const far = new FrameSealer('video', epoch, 0, 200, range(0, 32));
    assert.equal(await resultOf(opener, await far.seal(keyFrame)), 'forged');
    assert.equal(keyStore.find(epoch % 16, 0).newest, 7);
    assert.equal(await resultOf(opener, good), 'opened');
    assert.equal(keyStore.find(epoch % 16, 0).newest, 8);
});

test('what is cut off or in clear is no sealed frame', async () => {
    const { opener, sealer } = await stage(), good = await sealer.seal(otherFrame);
    const head = readHeader(good, 3).end;
    for (let length = 0; length < good.length; length++) {
        assert.equal(await resultOf(opener, good.subarray(0, length)), length < head + 16 ? 'malformed' : 'forged', String(length));
    }
    for (const clear of [keyFrame, otherFrame, new Uint8Array(2000), new Uint8Array(2000).fill(255), new Uint8Array(), utf8('clear')]) {
        assert.notEqual(await resultOf(opener, clear), 'opened');
    }
});

test('a receiver opens the tracks of its kind alone, and keys that it has', async () => {
    const keyStore = new KeyStore(), run = range(0, 16);
    await keyStore.add({ run, keys: [0, 4, 6].map(track => ({ epoch, track, step: 1, baseKey })) });
    const sealed = async (kind, track, of = epoch) => new FrameSealer(kind, of, track, 1, baseKey).seal(otherFrame);
    const video = new FrameOpener('video', keyStore), audio = new FrameOpener('audio', keyStore);
    assert.equal(await resultOf(video, await sealed('video', 0)), 'opened');
    for (const track of [4, 5, 6]) assert.equal(await resultOf(video, await sealed('video', track)), 'malformed', String(track));
    assert.equal(await resultOf(video, await sealed('video', 1)), 'unknownKey');
    assert.equal(await resultOf(audio, await sealed('audio', 4)), 'opened');
    for (const track of [0, 6, 7]) assert.equal(await resultOf(audio, await sealed('audio', track)), 'malformed', String(track));
    assert.equal(await resultOf(audio, await sealed('audio', 5)), 'unknownKey');
    assert.equal(await resultOf(video, await sealed('video', 0, epoch + 1)), 'unknownKey');
    // A key ID of more than 16 bits.
    const long = concatenate(otherFrame.subarray(0, 3), header(0x10000n | BigInt(keyIDOf(epoch + 1, 0, 1)), 0n), range(0, 40));
    assert.equal(await resultOf(video, long), 'malformed');
});

test('keys that are handed over again lower no step, and another run begins anew', async () => {
    const { keyStore, opener, sealer } = await stage();
    await sealer.advance(9);
    assert.equal(await resultOf(opener, await sealer.seal(keyFrame)), 'opened');
    const again = (run, of) => keyStore.add({ run, keys: [{ epoch: of, track: 0, step: 7, baseKey }] });
    await again(range(0, 16), epoch);
    assert.equal(keyStore.find(epoch % 16, 0).newest, 16);
    // An epoch with the same bits that is older is ignored.
    await again(range(0, 16), epoch - 16);
    assert.equal(keyStore.find(epoch % 16, 0).epoch, epoch);
    await again(range(1, 17), 0);
    assert.equal(keyStore.find(epoch % 16, 0), null);
    assert.equal(keyStore.find(0, 0).newest, 7);
});

test('a newcomer opens with each of the keys that it got', async () => {
    const keyStore = new KeyStore(), next = await nextBaseKey(baseKey);
    await keyStore.add({ run: range(0, 16), keys: [{ epoch, track: 0, step: 8, baseKey: next }, { epoch, track: 0, step: 7, baseKey }] });
    const opener = new FrameOpener('video', keyStore);
    for (const [step, key] of [[7, baseKey], [8, next]]) {
        assert.equal(await resultOf(opener, await new FrameSealer('video', epoch, 0, step, key).seal(keyFrame)), 'opened');
    }
});

test('the base keys of an epoch come from its secret, the broadcast, the run, the epoch and the track', async () => {
    const secret = { id: '0000000000000', run: new Uint8Array(16).fill(7), epoch: 0, secret: new Uint8Array(32).fill(9) };
    for (const changes of [{}, { epoch: 1 }, { epoch: 0x01020304 }, { id: '0123456789ABC' }, { run: range(0, 16) }, { secret: range(0, 32) }]) {
        const changed = { ...secret, ...changes };
        for (let track = 0; track < 7; track++) {
            assert.equal(hexadecimal(await firstBaseKey(changed, track)), hexadecimal(baseKeyOf(changed, track)));
        }
    }
    assert.equal(hexadecimal(await firstBaseKey(secret, 0)), '23f8fc5898aecd3498c4de23b1d92ab70825f10acbfe6389fe51442a0f092154');
    assert.equal(hexadecimal(await firstBaseKey({ ...secret, epoch: 1 }, 4)), '8e4afb862cf4fe6d1044c4e419e58cb7905a853690196aa63047d52b13b37f6f');
});

// Epochs of one run, whose keys come from secrets, at a receiver with a clock of its own.
async function epochStage() {
    const run = range(0, 16), clock = { now: 5000 }, keyStore = new KeyStore(() => clock.now);
    const secretOf = of => ({ id: '0123456789ABC', run, epoch: of, secret: range(of, of + 32) });
    const sealerOf = (of, track = 0) => new FrameSealer(track < 4 ? 'video' : 'audio', of, track, 0, baseKeyOf(secretOf(of), track));
    const keysOf = (of, track = 0) => ({ run, keys: [{ epoch: of, track, step: 0, baseKey: baseKeyOf(secretOf(of), track) }] });
    const video = new FrameOpener('video', keyStore), audio = new FrameOpener('audio', keyStore);
    const resultFrom = async source => resultOf(source.kind === 'video' ? video : audio, await source.seal(keyFrame));
    await keyStore.add({ run, keys: [0, 4].flatMap(track => keysOf(0, track).keys) });
    return { run, clock, keyStore, secretOf, sealerOf, keysOf, resultFrom };
}

test('the secret of a new epoch opens its frames of all tracks, and no others', async () => {
    const { keyStore, secretOf, sealerOf, resultFrom } = await epochStage();
    assert.equal(await resultFrom(sealerOf(1)), 'unknownKey');
    await keyStore.addEpoch(secretOf(1));
    for (const track of [0, 1, 2, 3, 4, 5]) assert.equal(await resultFrom(sealerOf(1, track)), 'opened', String(track));
    const other = secretOf(2);
    await keyStore.addEpoch({ ...other, id: '0123456789ABD' });
    assert.equal(await resultFrom(sealerOf(2)), 'forged');
    // Of another run, which has not handed over anything yet.
    await keyStore.addEpoch({ ...secretOf(3), run: range(1, 17) });
    assert.equal(await resultFrom(sealerOf(3)), 'unknownKey');
});

test('a newcomer gets keys of several epochs', async () => {
    const { keyStore, keysOf, run, sealerOf, resultFrom } = await epochStage();
    await keyStore.add({ run, keys: [5, 6, 7].flatMap(of => keysOf(of).keys) });
    for (const of of [5, 6, 7]) assert.equal(await resultFrom(sealerOf(of)), 'opened', String(of));
});

test('keys of older epochs are forgotten 2 s after a frame of a newer one was opened, and not taken in again', async () => {
    const { clock, keyStore, secretOf, sealerOf, keysOf, resultFrom } = await epochStage(), [first, second] = [sealerOf(0), sealerOf(1)];
    await keyStore.addEpoch(secretOf(1));
    assert.equal(await resultFrom(first), 'opened');
    clock.now += 1500;
    assert.equal(await resultFrom(first), 'opened');
    assert.equal(await resultFrom(second), 'opened');
    clock.now += 1999;
    assert.equal(await resultFrom(first), 'opened');
    assert.equal(await resultFrom(second), 'opened');
    clock.now += 1;
    assert.equal(await resultFrom(first), 'unknownKey');
    // Also of a track on which nothing comes: whoever was removed could make up frames of it.
    assert.equal(await resultFrom(sealerOf(0, 4)), 'unknownKey');
    await keyStore.add(keysOf(0));
    await keyStore.addEpoch(secretOf(0));
    assert.equal(await resultFrom(first), 'unknownKey');
    assert.equal(await resultFrom(second), 'opened');
});

test('keys of older epochs are forgotten 4 s after a newer one was announced, if its frames are held back', async () => {
    const { clock, keyStore, secretOf, sealerOf, resultFrom } = await epochStage(), [first, second] = [sealerOf(0), sealerOf(1)];
    clock.now += 60000;
    assert.equal(await resultFrom(first), 'opened');
    await keyStore.addEpoch(secretOf(1));
    clock.now += 3999;
    assert.equal(await resultFrom(first), 'opened');
    // Forged frames are no sign that the host sends with its keys.
    assert.equal(await resultFrom(new FrameSealer('video', 1, 0, 0, range(9, 41))), 'forged');
    clock.now += 1;
    assert.equal(await resultFrom(first), 'unknownKey');
    assert.equal(await resultFrom(second), 'opened');
});

test('epochs that follow each other soon do not keep the first one', async () => {
    const { clock, keyStore, secretOf, sealerOf, resultFrom } = await epochStage(), sealers = [0, 1, 2, 3].map(of => sealerOf(of));
    for (const of of [1, 2, 3]) {
        await keyStore.addEpoch(secretOf(of));
        assert.equal(await resultFrom(sealers[of]), 'opened');
        clock.now += 900;
    }
    // 2,700, 1,800 and 900 ms after the frames.
    assert.deepEqual([await resultFrom(sealers[0]), await resultFrom(sealers[1]), await resultFrom(sealers[2])], ['unknownKey', 'opened', 'opened']);
    clock.now += 200;
    assert.deepEqual([await resultFrom(sealers[1]), await resultFrom(sealers[2])], ['unknownKey', 'opened']);
    // All are gone, also of those of which no frame comes any more.
    clock.now += 60000;
    assert.equal(await resultFrom(sealers[3]), 'opened');
    assert.deepEqual([...keyStore.tracks.values()].filter(({ track }) => track === 0).map(keys => keys.epoch), [3]);
});

test('keys of a former run that open a frame late say nothing about the epochs of the next', async () => {
    const { keyStore, secretOf, keysOf, sealerOf } = await epochStage(), former = keyStore.find(0, 0);
    await keyStore.addEpoch(secretOf(9));
    const late = keyStore.find(9, 0), run = range(1, 17);
    await keyStore.add({ ...keysOf(3), run });
    assert.deepEqual([keyStore.noteUse(late), keyStore.noteUse(former)], [false, false]);
    await keyStore.add({ ...keysOf(4), run });
    assert.equal(await resultOf(new FrameOpener('video', keyStore), await sealerOf(4).seal(keyFrame)), 'opened');
});
