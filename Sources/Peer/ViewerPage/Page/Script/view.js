// What the page shows beside the video: the state with its sentence, the form, the notice of an outage.

import { element, root } from './elements.js';
import { updateUnmuteButton } from './player.js';

export function show(state, sentence, hint) {
    root.dataset.state = state;
    element('status').textContent = sentence;
    element('hint').textContent = hint || '';
    element('form').hidden = true;
    element('spinner').hidden = state !== 'connecting' && state !== 'waiting';
    element('words').hidden = element('cancel').hidden = state !== 'waiting';
    element('bar').hidden = state !== 'playing';
    element('open-in-share').hidden = !element('open-in-share').href || state !== 'asking' && state !== 'error';
    if (state !== 'playing') element('notice').hidden = true;
    updateUnmuteButton();
}

export function showWords(words) {
    root.dataset.words = words;
    element('four').textContent = words;
}

let formTimer = 0;

// The form with this button; '' hides it. The button counts down `seconds` until it can be pressed.
export function offerForm(button, seconds, asksName) {
    clearInterval(formTimer);
    element('form').hidden = !button;
    element('naming').hidden = !asksName;
    const enabledAt = performance.now() + 1000 * seconds;
    const update = () => {
        const left = Math.ceil((enabledAt - performance.now()) / 1000);
        element('watch').disabled = left > 0;
        element('watch').textContent = left > 0 ? `${button} in ${left} s` : button;
        if (left > 0) return;
        clearInterval(formTimer);
        if (seconds > 0) endWait();
    };
    formTimer = setInterval(update, 250);
    update();
}

// The sentences that named a time, "try again in 60 s", when it is over.
function endWait() {
    for (const id of ['status', 'hint']) element(id).textContent = element(id).textContent.replace(/ in \d+ s\b/, ' now');
}

export function stopFormTimer() { clearInterval(formTimer); }

// Over the video. `detail` is not read aloud, as it changes each second.
export function showNotice(sentence, detail) {
    element('notice').hidden = !sentence;
    if (element('said').textContent !== sentence) element('said').textContent = sentence;
    element('since').textContent = detail || '';
}

// Whether what is shown was encrypted by the host for this viewer, so that the relay that sends it cannot watch.
export function showEncryption(isEncrypted) { element('live').textContent = isEncrypted ? 'Live, encrypted' : 'Live'; }

// Null where nothing is known.
export function showViewerCount(count) {
    if (count === null) {
        delete root.dataset.viewers;
    } else {
        root.dataset.viewers = count;
        element('count').textContent = count > 1 ? `${count} watching` : '';
    }
}

// Who watches, if the host lets viewers know. Names are no markup.
export function showViewerNames(names, count) {
    const shown = (Array.isArray(names) ? names : []).filter(name => typeof name === 'string').slice(0, 50).map(name => name.slice(0, 64));
    const lines = count > shown.length ? [...shown, `${count - shown.length} more`] : shown;
    element('watchers').hidden = !shown.length;
    element('names').replaceChildren(...lines.map(line => {
        const item = document.createElement('li');
        item.textContent = line;
        return item;
    }));
}

export function showRecorderCount(count) {
    if (count > 0) root.dataset.recorders = count; else delete root.dataset.recorders;
    element('recorded').textContent = count > 0 ? 'A viewer records' : '';
}

export function markAudioAlone(isAlone) {
    if (isAlone) root.dataset.audioAlone = ''; else delete root.dataset.audioAlone;
}

export function markOutage(isOutage) {
    if (isOutage) root.dataset.outage = ''; else delete root.dataset.outage;
}
