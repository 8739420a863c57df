import './fake-page.mjs';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { element } from './fake-page.mjs';
import { canRunShare, shareSchemeLink } from '../../Sources/Peer/ViewerPage/Page/Script/share-scheme.js';
import { show } from '../../Sources/Peer/ViewerPage/Page/Script/view.js';

test('the link for share is as the program writes links', () => {
    // OpenedLinkTests reads these.
    for (const [address, expected] of [
        ['https://192.0.2.20:27427/9X2M4QF1K7D3A#AQ', 'share://192.0.2.20:27427/9X2M4QF1K7D3A#AQ'],
        ['https://[2001:db8::1]:8443/9x2m4qf1k7d3a/?moved=y#AQ', 'share://[2001:db8::1]:8443/9X2M4QF1K7D3A#AQ'],
        ['https://relay.example/9X2M4QF1K7D3A#AQ', 'share://relay.example:443/9X2M4QF1K7D3A#AQ'],
    ]) {
        assert.equal(shareSchemeLink(new URL(address), '9X2M4QF1K7D3A'), expected);
    }
    for (const address of ['http://192.0.2.20/9X2M4QF1K7D3A#AUrk0', 'file:///page.html']) {
        assert.equal(shareSchemeLink(new URL(address), '9X2M4QF1K7D3A'), null);
    }
});

test('it is offered on a Linux desktop alone', () => {
    const firefox = { platform: 'Linux x86_64', userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0' };
    const chromium = { platform: 'Linux x86_64', userAgent: 'Mozilla/5.0 (X11; Linux x86_64)', userAgentData: { platform: 'Linux' } };
    assert.ok(canRunShare(firefox, false) && canRunShare(chromium, false));
    assert.ok(!canRunShare(firefox, true) && !canRunShare(chromium, true));
    for (const other of [
        { platform: 'Linux armv81', userAgent: 'Mozilla/5.0 (Linux; Android 14; Pixel 8)' },
        { platform: 'Linux armv81', userAgent: 'Mozilla/5.0 (Linux; Android 10; K)', userAgentData: { platform: 'Android' } },
        { platform: 'iPhone', userAgent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X)' },
        { platform: 'MacIntel', userAgent: 'Mozilla/5.0 (Macintosh)' }, { platform: 'Win32', userAgentData: { platform: 'Windows' } }, {},
    ]) {
        assert.ok(!canRunShare(other, false), JSON.stringify(other));
    }
});

test('it is there before the question is asked and after a failure, and never beside the video', () => {
    const link = element('open-in-share');
    show('asking', '');
    assert.ok(link.hidden);
    link.href = 'share://192.0.2.20/9X2M4QF1K7D3A#AUrk0';
    for (const [state, isHidden] of [['asking', false], ['connecting', true], ['waiting', true], ['playing', true], ['error', false], ['ended', true]]) {
        show(state, '');
        assert.equal(link.hidden, isHidden, state);
    }
});
