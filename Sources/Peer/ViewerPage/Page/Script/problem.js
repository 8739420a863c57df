// Answers that refuse something: what they say, and how the session ends then.

import { SessionEnd, asSentence, askForNewLink, tryLater, wrongHost } from './session-end.js';

// A body of RFC 9457, or {reason}. Both fields are '' if it is neither.
export function parseProblem(body) {
    try {
        const problem = JSON.parse(body);
        const reason = problem.reason || problem.detail || problem.title;
        return { reason: typeof reason === 'string' ? reason : '', type: String(problem.type || '').split(':').pop() };
    } catch { return { reason: '', type: '' }; }
}

// The answer that ends a knock, or the wait for the host's decision. `retryAfter` is in seconds.
export function knockRefusal(status, { reason, type }, retryAfter) {
    // The signature covers the link's host, so another host finds it wrong.
    if (type === 'wrong-signature') return wrongHost();
    if (type === 'wrong-proof') {
        return new SessionEnd('refused', 'The link is not right.', 'A character after the # is wrong: copy the whole link again.', '');
    }
    // From a page of a former version, or one whose knock was changed on its way.
    if (type === 'needs-encryption') {
        return new SessionEnd('refused', 'The host encrypts its video, and this page did not ask for the keys.',
            'Load the page again, use a newer browser, or watch with share join.', '');
    }
    if (type === 'ended') return new SessionEnd('ended', asSentence(reason, 'The host has stopped sharing.'), askForNewLink, '');
    if (type === 'unanswered') {
        return new SessionEnd('ended', asSentence(reason, 'The host did not answer.'), 'Tell the host that you are waiting, and ask again.', 'Ask again');
    }
    if (status === 429 || status === 503) {
        return new SessionEnd('error', asSentence(reason, 'The host has too many visitors now.'), tryLater, 'Try again', retryAfter);
    }
    if (status === 403) return new SessionEnd('refused', asSentence(reason, 'The host has refused.'), '', 'Ask again', retryAfter);
    if (status === 404 || status === 410) {
        return new SessionEnd('ended', asSentence(reason, 'The host did not answer.'), tryLater, 'Ask again');
    }
    return new SessionEnd('error', `The host answered with an unknown status (${status}).`, asSentence(reason, tryLater));
}

// A broadcast that this browser cannot open: its video is encrypted on the way through relays.
export function encryptionRefusal() {
    return new SessionEnd('error', 'This browser cannot open encrypted video.', 'Use a newer browser, or watch with share join.', '');
}

// A broadcast that this browser cannot decode. `codec` is '' where it is not known.
export function codecRefusal(codec) {
    return new SessionEnd('error', `This browser cannot show this broadcast${codec ? `: its video is ${codec}` : ''}.`,
        'Use another browser, or watch with share join.', '');
}

// The answer to an offer that opens no session.
export function offerRefusal(status, { reason, type }) {
    if (type === 'codec') return codecRefusal((/video is (\w{1,16}),/.exec(reason) || [])[1] || '');
    if (status === 404 || status === 410) {
        return new SessionEnd('ended', asSentence(reason, 'The host has stopped sharing.'), askForNewLink, '');
    }
    if (status === 401 || status === 403) {
        return new SessionEnd('refused', 'The host no longer accepts you without asking.', 'You can ask again.', 'Ask again');
    }
    if (status === 409 || status === 429 || status === 503) {
        return new SessionEnd('error', asSentence(reason, 'The host cannot take another viewer now.'), tryLater);
    }
    return new SessionEnd('error', `The host could not start the session (${status}).`, asSentence(reason, tryLater));
}
