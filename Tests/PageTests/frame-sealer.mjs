// Seals frames as a host does, for the tests.

import { webcrypto as crypto } from 'node:crypto';
import { concatenate } from '../../Sources/Peer/ViewerPage/Page/Script/bytes.js';
import { clearPrefixLength, deriveKeyAndSalt, keyIDOf, nextBaseKey, nonceOf } from '../../Sources/Peer/ViewerPage/Page/Script/sframe.js';

// The bytes of a number, at least one, without leading zeros.
function shortest(value) {
    const digits = value.toString(16);
    return Uint8Array.from(Buffer.from(digits.padStart(digits.length + digits.length % 2, '0'), 'hex'));
}

// An SFrame header (RFC 9605 section 4.3) in its shortest form.
export function header(keyID, counter) {
    const fields = [keyID, counter].map(value => {
        const bytes = shortest(value);
        return value < 8n ? { bits: Number(value), bytes: [] } : { bits: 8 | bytes.length - 1, bytes };
    });
    return concatenate(Uint8Array.of(fields[0].bits << 4 | fields[1].bits), fields[0].bytes, fields[1].bytes);
}

export class FrameSealer {
    constructor(kind, epoch, track, step, baseKey) {
        Object.assign(this, { kind, epoch, track, step, baseKey, counter: 0n });
    }

    async advance(steps = 1) {
        for (let i = 0; i < steps; i++) this.baseKey = await nextBaseKey(this.baseKey);
        this.step += steps;
        this.counter = 0n;
    }

    async seal(frame) {
        const keyID = keyIDOf(this.epoch, this.track, this.step), { key, salt } = await deriveKeyAndSalt(this.baseKey, keyID);
        const prefix = frame.subarray(0, clearPrefixLength(this.kind, frame)), head = header(BigInt(keyID), this.counter);
        const imported = await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt']);
        const options = { name: 'AES-GCM', iv: nonceOf(salt, this.counter), additionalData: concatenate(head, prefix) };
        this.counter++;
        const sealed = new Uint8Array(await crypto.subtle.encrypt(options, imported, frame.subarray(prefix.length)));
        return concatenate(prefix, head, sealed);
    }
}
