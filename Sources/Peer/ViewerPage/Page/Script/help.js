// The list of all keys and gestures, as the window of `share join` shows it. It is a modal dialog: Escape closes it, and the focus goes
// back to where it was. The style leaves out what this viewer has no right to, and keys or gestures that this device has not.

import { element, root } from './elements.js';

export function isHelpOpen() { return Boolean(element('help').open); }

export function closeHelp() { if (isHelpOpen()) element('help').close(); }

export function toggleHelp() {
    if (isHelpOpen()) return closeHelp();
    if (root.dataset.state === 'playing') element('help').showModal();
}

export function setUpHelp() {
    element('keys').onclick = toggleHelp;
    element('close-help').onclick = closeHelp;
    // A click beside the box is one of the dialog itself.
    element('help').addEventListener('click', event => { if (event.target === element('help')) closeHelp(); });
    // The session may end meanwhile.
    new MutationObserver(() => { if (root.dataset.state !== 'playing') closeHelp(); })
        .observe(root, { attributes: true, attributeFilter: ['data-state'] });
}
