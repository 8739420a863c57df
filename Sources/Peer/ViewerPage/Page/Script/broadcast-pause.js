// What the viewer reads while no picture moves: the host has paused the broadcast, or does not reach the relay, or sends audio alone.

import { root } from './elements.js';
import { show, showNotice } from './view.js';

const pauseSentence = 'The host has paused the broadcast.';
const inactiveSentence = 'The relay gets nothing from the host. The picture goes on when the host is back.';
const audioAloneSentence = 'This broadcast has audio alone.';

// As the last events say. Before the first frame the sentence is the state, later a notice over the last frame.
export function showPause(isPaused, isInactive = false) {
    if (isPaused) root.dataset.paused = ''; else delete root.dataset.paused;
    if (isInactive) root.dataset.inactive = ''; else delete root.dataset.inactive;
    const sentence = isInactive ? inactiveSentence : isPaused ? pauseSentence : '';
    if (root.dataset.state === 'playing') showNotice(sentence || ('audioAlone' in root.dataset ? audioAloneSentence : ''));
    else if (root.dataset.state === 'connecting') show('connecting', sentence || 'Connecting ...');
}
