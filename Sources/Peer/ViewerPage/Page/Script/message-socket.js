// The WebSocket of messages to the host (Docs/internals/protocol.md). It is opened again after an outage, and keeps nothing for later.

const firstDelay = 300, longestDelay = 15000;
// A socket that was open for so long has worked: the next delay is the first one again.
const stableTime = 5000;
// Bytes that the browser has not written yet. Beyond the first limit positions are left out; at the second one the socket is given up.
const droppableLimit = 4096, bufferLimit = 65536;
// The broadcast is over; the token is not valid; newer sockets of the token have its place.
const finalCodes = [1000, 4401, 4409];

export class MessageSocket {
    // `connect` makes a WebSocket. `onAnswer` gets what the host says of a message that it did not take. `onChange`: see `isOpen`.
    constructor(connect, { onAnswer, onChange }) {
        Object.assign(this, { connect, onAnswer, onChange });
        this.isWanted = false;
        this.socket = this.timer = null;
        this.failures = 0;
        this.openedAt = null;
    }

    get isOpen() { return this.openedAt !== null; }

    open() {
        this.isWanted = true;
        if (!this.socket && this.timer === null) this.begin();
    }

    close() {
        this.isWanted = false;
        this.stop();
    }

    // Replaces a socket whose connection may be dead.
    reopen() {
        if (!this.isWanted) return;
        this.stop();
        this.begin();
    }

    // False if it is not open; nothing is kept. `isDroppable`: it may be left out, as something newer follows.
    send(messages, isDroppable = false) {
        if (!this.isOpen) return false;
        const { bufferedAmount } = this.socket;
        if (bufferedAmount > bufferLimit) {
            this.reopen();
            return false;
        }
        if (isDroppable && bufferedAmount > droppableLimit) return false;
        this.socket.send(JSON.stringify({ messages }));
        return true;
    }

    begin() {
        let socket = null;
        try { socket = this.connect(); } catch { return this.beginLater(); }
        this.socket = socket;
        socket.onopen = () => {
            this.openedAt = performance.now();
            this.onChange();
        };
        socket.onmessage = ({ data }) => { if (typeof data === 'string') this.onAnswer(data); };
        socket.onclose = ({ code }) => {
            if (this.isOpen && performance.now() - this.openedAt >= stableTime) this.failures = 0;
            if (finalCodes.includes(code)) this.isWanted = false;
            this.forget();
            if (this.isWanted) this.beginLater();
        };
    }

    // Viewers of a host that was away do not all come back at once.
    beginLater() {
        const longest = Math.min(firstDelay * 2 ** this.failures++, longestDelay);
        this.timer = setTimeout(() => {
            this.timer = null;
            this.begin();
        }, longest * (0.5 + 0.5 * Math.random()));
    }

    stop() {
        clearTimeout(this.timer);
        this.timer = null;
        this.failures = 0;
        const { socket } = this;
        this.forget();
        if (socket) socket.close(1000);
    }

    forget() {
        const wasOpen = this.isOpen;
        if (this.socket) this.socket.onopen = this.socket.onmessage = this.socket.onclose = null;
        this.socket = this.openedAt = null;
        if (wasOpen) this.onChange();
    }
}
