import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AdmissionStore, expiresSoon } from '../../Sources/Peer/ViewerPage/Page/Script/admission.js';

class Storage {
    constructor() { this.items = new Map(); }
    getItem(key) { return this.items.get(key) ?? null; }
    setItem(key, value) { this.items.set(key, value); }
    removeItem(key) { this.items.delete(key); }
}
const admission = { token: 't', iceServers: [], fingerprint: 'f' };

test('an admission is there after a reload, for its broadcast alone', () => {
    const storage = new Storage(), store = new AdmissionStore('A', storage);
    assert.equal(store.current, null);
    store.current = admission;
    store.save();
    assert.deepEqual(new AdmissionStore('A', storage).current, admission);
    assert.equal(new AdmissionStore('B', storage).current, null);
});

test('who leaves keeps the admission until a reload', () => {
    const storage = new Storage(), store = new AdmissionStore('A', storage);
    store.current = admission;
    store.save();
    store.forgetStored();
    assert.deepEqual(store.current, admission);
    assert.equal(new AdmissionStore('A', storage).current, null);
    store.forget();
    assert.equal(store.current, null);
});

test('what is no admission is ignored, and so is a browser that stores nothing', () => {
    const storage = new Storage();
    for (const item of ['', 'null', '{}', '{"token":1,"fingerprint":"f"}', '{"token":"t"}', '[']) {
        storage.setItem('admission A', item);
        assert.equal(new AdmissionStore('A', storage).current, null, item);
    }
    const forbidden = () => { throw new Error('forbidden'); };
    const store = new AdmissionStore('A', { getItem: forbidden, setItem: forbidden, removeItem: forbidden });
    store.current = admission;
    store.save();
    store.forget();
    assert.equal(store.current, null);
});

test('credentials for a viewer without media expire soon', () => {
    const turn = username => [{ urls: ['turn:a.example'], username, credential: 'c' }];
    assert.equal(expiresSoon(turn('1060:abc'), 1000), true);
    assert.equal(expiresSoon([{ urls: ['stun:a.example'] }, ...turn('1060:abc')], 1000), true);
    assert.equal(expiresSoon(turn('44200:abc'), 1000), false);
    for (const none of [turn('user'), turn('user:1'), turn(undefined), [null], [], undefined]) assert.equal(expiresSoon(none, 1000), false);
});
