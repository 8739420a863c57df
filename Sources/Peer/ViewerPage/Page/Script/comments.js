// Comments: what the host and the viewers write, over the lower left of the picture, and the line in which this viewer writes.

import { element, root } from './elements.js';
import { asSentence } from './session-end.js';
import { problemOf } from './signaling-client.js';

const shownComments = 50, commentLimit = 500, visibleMilliseconds = 12000;

export class Comments {
    constructor() {
        // Says something to the host; null while nobody watches.
        this.send = null;
        this.right = 'no';
        // The host is asked, and the line opens when it has said yes.
        this.isAsked = false;
        element('comment').onclick = () => this.begin();
        element('writing').onsubmit = event => {
            event.preventDefault();
            this.write();
        };
        element('line').addEventListener('keydown', event => { if (event.key === 'Escape') this.close(); });
    }

    // `send` posts messages and returns the answer.
    open(send) { this.send = send; }

    // The host says what this viewer may do.
    setRight(right) {
        this.right = ['ask', 'yes'].includes(right) ? right : 'no';
        root.dataset.comment = this.right;
        element('comment').hidden = this.right === 'no';
        if (this.right === 'no') this.close();
        if (!this.isAsked) return;
        this.isAsked = false;
        if (this.right === 'yes') this.begin();
        else this.tell('The host did not allow you to write comments.');
    }

    // The button: opens the line, or asks the host.
    async begin() {
        if (!this.send) return;
        if (this.right === 'yes') {
            element('writing').hidden = false;
            element('line').focus();
        } else if (this.right === 'ask' && !this.isAsked) {
            this.isAsked = true;
            this.tell('The host is asked whether you may write.');
            if (!await this.post({ type: 'ask', right: 'comment' })) this.isAsked = false;
        }
    }

    close() {
        if (element('writing').contains(document.activeElement)) document.activeElement.blur();
        element('writing').hidden = true;
    }

    async write() {
        const text = element('line').value.trim();
        if (!text) return this.close();
        if (await this.post({ type: 'comment', text }) && element('line').value.trim() === text) element('line').value = '';
    }

    // False if the message was not taken; the reason is shown.
    async post(message) {
        const { send } = this;
        if (!send) return false;
        try {
            const answer = await send([message]);
            if (answer.status === 204) return true;
            const { reason } = await problemOf(answer);
            this.tell(asSentence(reason, 'The host takes no messages.'));
        } catch { this.tell('The host did not get that. Try again.'); }
        return false;
    }

    // A comment of a viewer, or of the host without `from`. Nothing of it is markup.
    show({ from, text }) {
        if (typeof text !== 'string' || !text) return;
        const name = typeof from === 'string' ? from.slice(0, 64) : 'Host';
        this.add(name, text.slice(0, commentLimit), typeof from !== 'string');
    }

    // Something that this page says itself.
    tell(sentence) { this.add('', sentence, false); }

    add(name, text, isHost) {
        const list = element('comments'), item = document.createElement('li');
        if (name) {
            const who = document.createElement('b');
            who.textContent = name;
            who.className = isHost ? 'host' : '';
            item.append(who, ' ');
        }
        item.append(text);
        list.append(item);
        while (list.children.length > shownComments) list.firstChild.remove();
        setTimeout(() => item.classList.add('old'), visibleMilliseconds);
        list.scrollTop = list.scrollHeight;
    }

    // The session is over.
    end() {
        this.send = null;
        this.isAsked = false;
        this.setRight('no');
        delete root.dataset.comment;
        element('comments').textContent = '';
    }
}
