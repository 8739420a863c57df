// What this viewer says and does in the session: comments, its pointer, control of the host's screen, and the rights to all of them.

import { Comments } from './comments.js';
import { Control } from './control.js';
import { Pointer } from './pointer.js';
import { PointersLayer } from './pointers-layer.js';
import { ViewerMessages } from './viewer-messages.js';

export class Interaction {
    constructor() {
        const tell = sentence => this.comments.tell(sentence);
        this.messages = new ViewerMessages(tell);
        this.comments = new Comments(this.messages);
        this.layer = new PointersLayer();
        // The mouse is for one of both.
        this.pointer = new Pointer({
            messages: this.messages, layer: this.layer, tell, onBegin: () => { if (this.control.isActive) this.control.giveBack(); },
        });
        this.control = new Control({ messages: this.messages, tell, onBegin: () => this.pointer.stop() });
        // As the host has told them last.
        this.rights = '';
    }

    // `client` returns the session's SignalingClient of now.
    open(client) { this.messages.open(client); }

    // Whether an event of the host is for this.
    handle(event) {
        if (event.type === 'comment') this.comments.show(event);
        else if (event.type === 'rights') this.setRights(event);
        else if (event.type === 'pointers') this.layer.show(event);
        else if (event.type === 'control') this.control.showController(event);
        else return false;
        return true;
    }

    setRights({ comment, point, control, grant, pointer }) {
        const rights = JSON.stringify([comment, point, control, grant]);
        // Nothing but the answer to a question is told without a change.
        const isAnswer = rights === this.rights;
        this.rights = rights;
        if (point === 'yes' || control === 'yes') this.messages.socket.open();
        this.comments.setRight(comment, isAnswer);
        this.pointer.setRight(point, isAnswer, pointer);
        this.control.setRight(control, isAnswer, grant);
        if (point !== 'yes' && control !== 'yes') this.messages.socket.close();
    }

    // The host's events begin anew. `isAway`: at another server, where nobody has a right.
    reopen(isAway) {
        this.rights = '';
        if (isAway) this.setRights({});
        else this.messages.socket.reopen();
    }

    end() {
        this.rights = '';
        for (const { right } of [this.comments, this.pointer, this.control]) right.cancel();
        this.comments.end();
        this.pointer.end();
        this.control.end();
        this.layer.clear();
        this.messages.close();
    }
}
