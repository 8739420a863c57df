// Comments: what the host and the viewers write, over the lower left of the picture, and the line in which this viewer writes.

import { element } from './elements.js';
import { RightRequest } from './right-request.js';

const shownComments = 50, commentLimit = 500, visibleMilliseconds = 12000;
// A refusal that comes so soon after a comment is one of it.
const refusalTime = 2000;

export class Comments {
    // `messages`: the session's ViewerMessages.
    constructor(messages) {
        this.messages = messages;
        this.right = new RightRequest('comment', {
            question: 'The host is asked whether you may write.', refusal: 'The host did not allow you to write comments.',
        }, { messages, tell: sentence => this.tell(sentence), onGranted: () => this.begin() });
        // The comment that was sent last, and when.
        this.sent = { text: '', at: -Infinity };
        messages.onRefusal = () => this.restore();
        element('comment').onclick = () => this.begin();
        element('writing').onsubmit = event => {
            event.preventDefault();
            this.write();
        };
        element('line').addEventListener('keydown', event => { if (event.key === 'Escape') this.close(); });
    }

    // What the host says.
    setRight(value, isAnswer) {
        this.right.set(value, isAnswer);
        element('comment').hidden = this.right.value === 'no';
        if (this.right.value === 'no') this.close();
    }

    // The button: opens the line, or asks the host.
    begin() {
        if (this.right.value !== 'yes') return this.right.ask();
        element('writing').hidden = false;
        // Old comments are scrolled by the keyboard, too.
        element('comments').tabIndex = 0;
        element('line').focus();
    }

    close() {
        if (element('writing').contains(document.activeElement)) document.activeElement.blur();
        element('writing').hidden = true;
        element('comments').tabIndex = -1;
    }

    async write() {
        const text = element('line').value.trim();
        if (!text) return this.close();
        this.sent = { text, at: performance.now() };
        if (await this.messages.post({ type: 'comment', text }) && element('line').value.trim() === text) element('line').value = '';
    }

    // The host did not take something: the viewer may send its comment again.
    restore() {
        const { text, at } = this.sent;
        if (performance.now() - at < refusalTime && !element('line').value) element('line').value = text;
        this.sent.at = -Infinity;
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
        this.setRight('no', false);
        this.right.end();
        element('comments').textContent = '';
    }
}
