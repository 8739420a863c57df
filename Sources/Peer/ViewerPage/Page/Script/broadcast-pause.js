// What the viewer reads while the host has paused the broadcast.

import { root } from './elements.js';
import { show, showNotice } from './view.js';

const pauseSentence = 'The host has paused the broadcast.';

// `isPaused`: as the host's last event says. Before the first frame the sentence is the state, later a notice over the last frame.
export function showPause(isPaused) {
    if (isPaused) root.dataset.paused = ''; else delete root.dataset.paused;
    if (root.dataset.state === 'playing') showNotice(isPaused ? pauseSentence : '');
    else if (root.dataset.state === 'connecting') show('connecting', isPaused ? pauseSentence : 'Connecting ...');
}
