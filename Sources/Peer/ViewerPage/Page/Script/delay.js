// A promise that is fulfilled after a time.
export function delay(milliseconds) { return new Promise(done => setTimeout(done, milliseconds)); }
