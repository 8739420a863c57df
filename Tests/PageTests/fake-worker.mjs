// A dedicated worker's scope without a browser: import it before the module that runs in it.

// What the worker has posted.
export const posted = [];
globalThis.self = globalThis;
globalThis.postMessage = message => posted.push(message);
