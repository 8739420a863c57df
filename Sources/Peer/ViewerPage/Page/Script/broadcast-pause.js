// What the viewer reads while no picture moves: the host has paused the broadcast, or does not reach the relay, or sends audio alone.

import { root } from './elements.js';
import { show, showNotice } from './view.js';

const holdSentences = {
    pause: 'The host has paused the broadcast.',
    freeze: 'The host has frozen the picture.',
    blank: 'The host has hidden the picture.',
};
const inactiveSentence = 'The relay gets nothing from the host. The picture goes on when the host is back.';
const audioAloneSentence = 'This broadcast has audio alone.';

// What an event says of the host, which holds the broadcast back. A hold of a later version is a pause.
export function holdOf(event) {
    return Object.hasOwn(holdSentences, event.hold) ? event.hold : 'pause';
}

// As the last events say. Before the first frame the sentence is the state, later a notice over the last frame.
// `hold` is '' while the host holds nothing back.
export function showPause(hold, isInactive = false) {
    if (hold) root.dataset.paused = ''; else delete root.dataset.paused;
    if (isInactive) root.dataset.inactive = ''; else delete root.dataset.inactive;
    const sentence = isInactive ? inactiveSentence : hold ? holdSentences[hold] : '';
    if (root.dataset.state === 'playing') showNotice(sentence || ('audioAlone' in root.dataset ? audioAloneSentence : ''));
    else if (root.dataset.state === 'connecting') show('connecting', sentence || 'Connecting ...');
}
