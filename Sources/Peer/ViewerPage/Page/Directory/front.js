// The front page, where an installed page starts: a link is pasted and opened.

// The address of the page that a pasted text leads to; null if it is no link. The page itself says what is wrong with its code.
export function addressOfLink(text) {
    try {
        const url = new URL(text.trim().replace(/^share:/i, 'https:'));
        return url.protocol === 'https:' && /^\/[0-9A-Za-z]{13}\/?$/.test(url.pathname) && url.hash.length > 1 ? url.href : null;
    } catch { return null; }
}

export function setUpFrontPage(elements, open) {
    elements.form.hidden = false;
    elements.form.onsubmit = event => {
        event.preventDefault();
        const address = addressOfLink(elements.link.value);
        if (address) open(address);
        else elements.hint.textContent = 'This is no link of share. Copy the whole link: it begins with https:// and has a # in it.';
    };
}

if (typeof document !== 'undefined') {
    const element = id => document.getElementById(id);
    setUpFrontPage({ form: element('form'), link: element('link'), hint: element('hint') }, address => location.assign(address));
}
