// This browser's identity for the page's origin (the host's address and port): a certificate, and a key that signs knocks, as a
// page cannot sign with a certificate's key. IndexedDB keeps both.

import { delay } from './delay.js';

const day = 86400000;
const certificateLifetime = 365 * day;

function openDatabase() {
    return new Promise((done, fail) => {
        const request = indexedDB.open('share', 1);
        request.onupgradeneeded = () => request.result.createObjectStore('identity');
        request.onsuccess = () => done(request.result);
        request.onerror = request.onblocked = () => fail(request.error);
    });
}

async function makeIdentity() {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
    const [certificate, { privateKey, publicKey }] = await Promise.all([
        RTCPeerConnection.generateCertificate({ ...algorithm, expires: certificateLifetime }),
        crypto.subtle.generateKey(algorithm, false, ['sign']),
    ]);
    return { certificate, keys: { privateKey, publicKey } };
}

function isUsable(identity) {
    return Boolean(identity && identity.certificate instanceof RTCCertificate
        && identity.keys && identity.keys.privateKey instanceof CryptoKey && identity.certificate.expires > Date.now() + day);
}

function readIdentity(database) {
    return new Promise((done, fail) => {
        const request = database.transaction('identity').objectStore('identity').get('own');
        request.onsuccess = () => done(request.result);
        request.onerror = () => fail(request.error);
    });
}

// Stores a new identity, unless another tab was faster: then it is that tab's.
async function storeNewIdentity(database) {
    const made = await makeIdentity();
    return new Promise((done, fail) => {
        const transaction = database.transaction('identity', 'readwrite'), store = transaction.objectStore('identity');
        let identity = made;
        const request = store.get('own');
        request.onsuccess = () => { if (isUsable(request.result)) identity = request.result; else store.put(made, 'own'); };
        transaction.oncomplete = () => done(identity);
        transaction.onerror = transaction.onabort = () => fail(transaction.error);
    });
}

async function storedIdentity() {
    const database = await openDatabase();
    try {
        const stored = await readIdentity(database);
        return { ...(isUsable(stored) ? stored : await storeNewIdentity(database)), isStored: true };
    } finally { database.close(); }
}

let current = null;

// The stored identity. Where the browser stores nothing, as in private windows, it is this page's alone, and so it is without `isStored`.
export async function ownIdentity(isStored) {
    if (isUsable(current)) return current;
    try {
        if (!isStored) throw new Error('nothing is stored');
        const timeout = delay(3000).then(() => { throw new Error('the database does not answer'); });
        current = await Promise.race([timeout, storedIdentity()]);
    } catch { current = { ...await makeIdentity(), isStored: false }; }
    return current;
}
