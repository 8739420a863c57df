// What is written over the picture and beside it can be read in light and in dark colors. axe-core cannot tell over a video.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSource } from './support.mjs';

const css = readSource('Page/page.css');

// The properties of a rule as [red, green, blue, opacity].
function colorsOf(rule) {
    const colors = new Map();
    for (const [, name, value] of rule.matchAll(/--([\w-]+): (#[0-9a-f]{3,6}|rgba\([^)]+\))/g)) {
        const digits = value.length === 4 ? [...value.slice(1)].map(digit => digit + digit).join('') : value.slice(1);
        colors.set(name, value[0] === '#' ? [...digits.match(/../g).map(pair => parseInt(pair, 16)), 1]
            : value.slice(5, -1).split(',').map(Number));
    }
    return colors;
}

function luminance(color) {
    const [red, green, blue] = color.map(part => (part / 255 <= .03928 ? part / 255 / 12.92 : ((part / 255 + .055) / 1.055) ** 2.4));
    return .2126 * red + .7152 * green + .0722 * blue;
}

// WCAG 2.2, 1.4.3.
function contrast(a, b) {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + .05) / (low + .05);
}

const over = (color, back) => [0, 1, 2].map(part => color[3] * color[part] + (1 - color[3]) * back[part]);
const dark = colorsOf(css.split('}')[0]), light = colorsOf(css.split('@media (prefers-color-scheme: light) {')[1].split('}')[0]);

test('both color schemes have the same names', () => {
    assert.ok(dark.size >= 12);
    assert.deepEqual([...light.keys()].sort(), [...dark.keys()].sort());
    // No other rule has a color of its own, but the picture's background and what darkens the page beside the help.
    assert.deepEqual(css.split('\n').slice(8).join('\n').match(/#[0-9a-f]{3,6}\b(?=[; ])|rgba?\([^)]*\)/g), ['#000', 'rgba(0, 0, 0, .5)']);
});

test('text has a contrast of 4.5, over a black picture and over a white one, too', () => {
    for (const [scheme, colors] of [['dark', dark], ['light', light]]) {
        const of = name => colors.get(name);
        const grounds = { page: of('page'), field: of('field'), black: over(of('over'), [0, 0, 0]), white: over(of('over'), [255, 255, 255]) };
        for (const [name, ground] of Object.entries(grounds)) {
            for (const text of ['ink', 'soft', 'accent', 'host']) {
                assert.ok(contrast(of(text), ground) >= 4.5, `${scheme}: ${text} on ${name}: ${contrast(of(text), ground)}`);
            }
            // The edge of a field and the mark of what is live (WCAG 2.2, 1.4.11).
            for (const mark of ['soft', 'red']) assert.ok(contrast(of(mark), ground) >= 3, `${scheme}: ${mark} on ${name}`);
        }
        for (const [text, ground] of [['accent-ink', 'accent'], ['accent-ink', 'accent-hover'], ['ink', 'button'], ['ink', 'hover']]) {
            assert.ok(contrast(of(text), of(ground)) >= 4.5, `${scheme}: ${text} on ${ground}`);
        }
    }
});
