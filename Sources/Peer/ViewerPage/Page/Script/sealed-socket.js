// A WebSocket to the host over a relay, which cannot read its texts: as much of a WebSocket as MessageSocket uses.

// The token is not valid any more.
const unauthorized = 4401, abnormal = 1006;

export class SealedSocket {
    // `seal` encrypts a text for the host. `admit` has the host admit this viewer again if its token has ended.
    constructor(socket, seal, admit) {
        Object.assign(this, { socket, seal });
        this.onopen = this.onmessage = this.onclose = null;
        this.sending = Promise.resolve();
        // Characters that are not encrypted yet.
        this.waiting = 0;
        let hasOpened = false;
        socket.onopen = () => {
            hasOpened = true;
            if (this.onopen) this.onopen();
        };
        socket.onmessage = event => { if (this.onmessage) this.onmessage(event); };
        socket.onclose = async ({ code }) => {
            // A browser does not tell why a socket was not opened.
            const isUnauthorized = !hasOpened || code === unauthorized;
            if (isUnauthorized && this.onclose) await admit().catch(() => {});
            if (this.onclose) this.onclose({ code: isUnauthorized ? abnormal : code });
        };
    }

    get bufferedAmount() { return this.socket.bufferedAmount + this.waiting; }

    send(text) {
        this.waiting += text.length;
        this.sending = this.sending.then(async () => {
            const sealed = await this.seal(text);
            if (this.socket.readyState === 1) this.socket.send(JSON.stringify({ sealed }));
        }).catch(() => {}).then(() => { this.waiting -= text.length; });
    }

    close(code) { this.socket.close(code); }
}
