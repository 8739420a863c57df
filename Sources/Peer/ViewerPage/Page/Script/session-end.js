// Why a session ends or does not begin, in the words that the viewer reads.

export const tryLater = 'Keep this page open and try again.';
export const askForNewLink = 'This link is no longer valid. If the host shares again, ask for the new link.';

// `state` is `refused`, `ended` or `error`. `button` is the text of the button below; '' means none, undefined the usual one. The
// button is enabled after `seconds`.
export class SessionEnd extends Error {
    constructor(state, sentence, hint, button, seconds) {
        super(sentence);
        this.state = state;
        this.hint = hint || '';
        this.button = button;
        this.seconds = seconds || 0;
    }
}

// A reason in words as a sentence: with a capital letter and a full stop.
export function asSentence(reason, fallback) {
    const trimmed = (reason || '').trim();
    if (!trimmed) return fallback;
    const capitalized = trimmed[0].toUpperCase() + trimmed.slice(1);
    return /[.!?]$/.test(capitalized) ? capitalized : capitalized + '.';
}

export function wrongHost() {
    return new SessionEnd('error', 'This is not the host that the link names.',
        'Either the link is mistyped, or somebody in between pretends to be the host. Nothing was shown. Ask the host for the link again.', '');
}
