// The page as an installed application, and on telephones.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { addressOfLink, setUpFrontPage } from '../../Sources/Peer/ViewerPage/Page/Directory/front.js';
import { readSource } from './support.mjs';

const manifest = JSON.parse(readSource('Page/manifest.webmanifest'));
const pages = ['viewer.html', 'Directory/front.html', 'Directory/directory.html'].map(name => readSource('Page/' + name));
const css = readSource('Page/page.css');
const png = readFileSync(new URL('../../Sources/Peer/ViewerPage/Page/touch-icon.png', import.meta.url));

test('the manifest has what browsers want for an installation, and no link', () => {
    assert.equal(manifest.name, 'share');
    assert.equal(manifest.display, 'standalone');
    // Without a start URL it would be the page's own address, and the secret would go where installations are synchronized.
    assert.equal(manifest.start_url, '/');
    assert.equal(manifest.scope, '/');
    assert.deepEqual(manifest.icons.map(({ purpose, type }) => `${purpose} ${type}`),
        ['any image/svg+xml', 'maskable image/svg+xml', 'any image/png']);
});

test('the icon of iOS is a PNG of the named size without transparency', () => {
    assert.equal(png.toString('latin1', 1, 4), 'PNG');
    assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20), png[25]], [180, 180, 2]);
    assert.ok(manifest.icons.some(icon => icon.sizes === '180x180' && icon.src === '/_/touch-icon.png'));
});

test('each page that can be installed names manifest and icon', () => {
    for (const page of pages) {
        for (const part of [
            '<link rel="manifest" href="/_/manifest.webmanifest">', '<link rel="apple-touch-icon" href="/_/touch-icon.png">',
            '<meta name="apple-mobile-web-app-capable" content="yes">', '<meta name="theme-color" content="#101214">',
        ]) {
            assert.ok(page.includes(part), part);
        }
        assert.doesNotMatch(page, /user-scalable|maximum-scale/);
    }
});

test('the server serves each file that pages and manifest name, and its policy admits the manifest', () => {
    const routes = readFileSync(new URL('../../Sources/Peer/Signaling/Server/SignalingServerState+Pages.swift', import.meta.url), 'utf8');
    const named = [...pages.join('').matchAll(/(?:href|src)="\/_\/([^"]+)"/g), ...JSON.stringify(manifest).matchAll(/"\/_\/([^"]+)"/g)];
    assert.ok(named.length > 8);
    for (const [, name] of named) assert.ok(routes.includes(`case "${name}"`), name);
    const files = readFileSync(new URL('../../Sources/Peer/Signaling/Page/PageFiles.swift', import.meta.url), 'utf8');
    assert.match(files, /manifest-src 'self'/);
});

test('fingers have 44 pixels, the page is not scaled by them, and nothing lies under a notch', () => {
    assert.match(css, /@media \(pointer: coarse\) \{\s+button, input \{ min-height: 44px; \}\s+button \{ min-width: 44px; \}/);
    assert.match(css, /html, body \{[^}]*touch-action: manipulation/);
    assert.match(css, /\[data-state="playing"\] #stage \{[^}]*touch-action: none/);
    for (const side of ['top', 'bottom', 'left', 'right']) assert.ok(css.includes(`env(safe-area-inset-${side})`), side);
    // iOS scales a page whose input has smaller text.
    assert.match(css, /body \{ font: 17px/);
    assert.match(css, /input \{[^}]*font: inherit/);
});

test('the front page opens a pasted link', () => {
    const link = 'https://192.0.2.20:27427/9X2M4QF1K7D3A#AUrk0';
    assert.equal(addressOfLink(` ${link}\n`), link);
    assert.equal(addressOfLink('share' + link.slice(5)), link);
    for (const text of ['', 'hello', 'https://192.0.2.20/', 'https://192.0.2.20/9X2M4QF1K7D3A', 'http' + link.slice(5),
        'javascript:alert(1)#9X2M4QF1K7D3A', 'https://192.0.2.20/_/page.js#AUrk0']) {
        assert.equal(addressOfLink(text), null, text);
    }
    const elements = { form: { hidden: true }, link: { value: 'hello' }, hint: { textContent: '' } }, opened = [];
    setUpFrontPage(elements, address => opened.push(address));
    assert.equal(elements.form.hidden, false);
    const submit = () => elements.form.onsubmit({ preventDefault() {} });
    submit();
    assert.match(elements.hint.textContent, /no link of share/);
    elements.link.value = link;
    submit();
    assert.deepEqual(opened, [link]);
});
