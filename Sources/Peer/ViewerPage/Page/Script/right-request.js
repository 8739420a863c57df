// A right that the host gives to this viewer: `no`, `ask` or `yes`. Where it is `ask`, the host's user is asked when the viewer wants it.

import { root } from './elements.js';

export class RightRequest {
    // `name` is the protocol's. `onGranted`: the host has said yes to this page's question.
    constructor(name, { question, refusal }, { messages, tell, onGranted }) {
        Object.assign(this, { name, question, refusal, messages, tell, onGranted });
        this.value = 'no';
        this.isAsked = false;
    }

    // What the host says. `isAnswer`: one of the questions was answered, and no right has changed.
    set(value, isAnswer) {
        this.value = ['ask', 'yes'].includes(value) ? value : 'no';
        root.dataset[this.name] = this.value;
        if (!this.isAsked || this.value === 'ask' && !isAnswer) return;
        this.isAsked = false;
        if (this.value === 'yes') this.onGranted();
        else this.tell(this.refusal);
    }

    // Asks the host, once at a time.
    async ask() {
        if (this.value !== 'ask' || this.isAsked) return;
        this.isAsked = true;
        this.tell(this.question);
        if (!await this.messages.request({ type: 'ask', right: this.name })) this.isAsked = false;
    }

    // The answer is not waited for any more.
    cancel() { this.isAsked = false; }

    end() {
        this.cancel();
        this.value = 'no';
        delete root.dataset[this.name];
    }
}
