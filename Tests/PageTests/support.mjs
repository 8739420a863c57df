// What the tests of the page share.

import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { webcrypto } from 'node:crypto';

// Node 18 has it behind an option.
if (!globalThis.crypto) globalThis.crypto = webcrypto;

const folder = new URL('../../Sources/Peer/ViewerPage/', import.meta.url);

export function readSource(path) { return readFileSync(new URL(path, folder), 'utf8'); }
export function moduleNames() { return readdirSync(fileURLToPath(new URL('Page/Script/', folder))).filter(name => name.endsWith('.js')); }

export function range(from, to) { return Uint8Array.from({ length: to - from }, (_, index) => from + index); }
export function hexadecimal(bytes) { return Buffer.from(bytes).toString('hex'); }
export function colons(bytes) { return hexadecimal(bytes).toUpperCase().match(/../g).join(':'); }

export const link = { id: '0123456789ABC', secret: range(0, 16), hostFingerprint: range(32, 64) };
export const viewerFingerprint = range(0, 32);
