import './fake-page.mjs';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { root } from './fake-page.mjs';
import { WakeLock } from '../../Sources/Peer/ViewerPage/Page/Script/wake-lock.js';

// A display with the locks that were given, and who waits for one.
function display() {
    const held = new Set(), waiting = [];
    const wakeLock = {
        request(kind) {
            assert.equal(kind, 'screen');
            return new Promise((resolve, reject) => waiting.push({
                refuse: () => reject(new DOMException('battery', 'NotAllowedError')),
                grant() {
                    const listeners = [];
                    const lock = {
                        addEventListener: (_, listener) => listeners.push(listener),
                        async release() { if (held.delete(lock)) for (const listener of listeners) listener(); },
                    };
                    held.add(lock);
                    resolve(lock);
                },
            }));
        },
    };
    Object.defineProperty(globalThis, 'navigator', { value: { wakeLock }, configurable: true });
    Object.assign(root.dataset, { state: 'playing' });
    delete root.dataset.paused;
    globalThis.document.hidden = false;
    return { held, waiting };
}

// The lock asks, and is given what it asks for.
async function take(lock, waiting) {
    const before = waiting.length, asked = lock.update();
    assert.equal(waiting.length, before + 1);
    waiting[before].grant();
    await asked;
}

test('the display is kept on while a picture plays that may change', async () => {
    const { held, waiting } = display(), lock = new WakeLock();
    const asked = lock.update();
    lock.update();
    assert.equal(waiting.length, 1);
    waiting[0].grant();
    await asked;
    assert.equal(held.size, 1);
    root.dataset.paused = '';
    await lock.update();
    assert.equal(held.size, 0);
    delete root.dataset.paused;
    await take(lock, waiting);
    root.dataset.state = 'ended';
    await lock.update();
    assert.equal(held.size, 0);
});

test('a lock that comes after the end is given back', async () => {
    const { held, waiting } = display(), lock = new WakeLock();
    const asked = lock.update();
    root.dataset.state = 'ended';
    await lock.update();
    waiting[0].grant();
    await asked;
    assert.equal(held.size, 0);
});

test('after the page was hidden the lock is asked for anew', async () => {
    const { held, waiting } = display(), lock = new WakeLock();
    await take(lock, waiting);
    // As a browser does that hides the page.
    globalThis.document.hidden = true;
    for (const given of held) await given.release();
    await lock.update();
    globalThis.document.hidden = false;
    const again = lock.update();
    assert.equal(waiting.length, 2);
    waiting[1].grant();
    await again;
    assert.equal(held.size, 1);
});

test('a refusal, or a browser without such locks, is nothing', async () => {
    const { held, waiting } = display(), lock = new WakeLock();
    const asked = lock.update();
    waiting[0].refuse();
    await asked;
    await take(lock, waiting);
    assert.equal(held.size, 1);
    Object.defineProperty(globalThis, 'navigator', { value: {}, configurable: true });
    await new WakeLock().update();
});
