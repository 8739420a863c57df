// What this viewer says to the host: over the WebSocket while it is open, otherwise by a request.

import { MessageSocket } from './message-socket.js';
import { parseProblem } from './problem.js';
import { asSentence } from './session-end.js';
import { problemOf } from './signaling-client.js';

// The same sentence is shown once in so many milliseconds.
const repeatTime = 5000;
// So long a viewer waits for the socket before it is told.
const patience = 5000;

export class ViewerMessages {
    // `tell` shows a sentence.
    constructor(tell) {
        this.tell = tell;
        // Of the session; a getter, as a session goes to other servers.
        this.client = null;
        // Called when the socket is open, and when it is not any more.
        this.onSocketChange = () => {};
        // Called when the host did not take something that went over the socket.
        this.onRefusal = () => {};
        this.socket = new MessageSocket(() => this.client().openMessageSocket(), {
            onAnswer: text => this.refused(text), onChange: () => this.onSocketChange(),
        });
        this.lastSentence = '';
        this.toldAt = 0;
        this.waiting = null;
    }

    // `client` returns the session's SignalingClient of now.
    open(client) { this.client = client; }

    // For a viewer that wants to do something now.
    openSocket() {
        this.socket.open();
        clearTimeout(this.waiting);
        this.waiting = setTimeout(() => {
            if (this.socket.isWanted && !this.socket.isOpen) this.tell('The host does not get what you do here. It is tried again and again.');
        }, patience);
    }

    close() {
        clearTimeout(this.waiting);
        this.socket.close();
        this.client = null;
    }

    // Over the socket alone: false if it is not open.
    send(messages, isDroppable = false) { return this.socket.send(messages, isDroppable); }

    // False if it was not taken, and the reason is shown. Over the socket nothing says that it was: see `onRefusal`.
    async post(message) {
        if (!this.client) return false;
        return this.send([message]) || this.request(message);
    }

    // The same by a request, whose answer says whether it was taken.
    async request(message) {
        if (!this.client) return false;
        try {
            const answer = await this.client().say([message]);
            if (answer.status === 204) return true;
            this.tell(asSentence((await problemOf(answer)).reason, 'The host takes no messages.'));
        } catch { this.tell('The host did not get that. Try again.'); }
        return false;
    }

    refused(text) {
        this.onRefusal();
        const sentence = asSentence(parseProblem(text).reason.slice(0, 300), 'The host did not take that.'), now = performance.now();
        if (sentence === this.lastSentence && now - this.toldAt < repeatTime) return;
        [this.lastSentence, this.toldAt] = [sentence, now];
        this.tell(sentence);
    }
}
