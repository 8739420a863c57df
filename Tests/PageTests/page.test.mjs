// Page, style and script agree with each other, and the style is valid.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { moduleNames, readSource } from './support.mjs';

// Debian's: found through NODE_PATH (Scripts/page), which `import` ignores.
const csstree = createRequire(import.meta.url)('css-tree');

const html = readSource('Page/viewer.html'), css = readSource('Page/page.css');
const script = moduleNames().map(name => readSource('Page/Script/' + name)).join('\n');
const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(match => match[1]));
const tree = csstree.parse(css, { positions: true, onParseError(error) { throw error; } });

test('the script uses elements that the page has', () => {
    const calls = [...script.matchAll(/\belement\((?:[^'\n]*\? )?'([\w-]+)'(?: : '([\w-]+)')?\)/g)];
    const used = calls.flatMap(match => match.slice(1).filter(Boolean));
    assert.ok(used.length > 40);
    for (const id of used) assert.ok(ids.has(id), id);
});

test('the style is for elements that the page has', () => {
    const unknown = [];
    csstree.walk(tree, node => { if (node.type === 'IdSelector' && !ids.has(node.name)) unknown.push(node.name); });
    assert.deepEqual(unknown, []);
});

test('properties and values of the style are known', () => {
    const faults = [];
    csstree.walk(tree, {
        visit: 'Declaration',
        enter(node) {
            const value = csstree.generate(node.value);
            // What this css-tree is too old for.
            if (node.property.startsWith('--') || node.property === 'text-wrap' || /\b(var|min|max|env)\(/.test(value)) return;
            const { error } = csstree.lexer.matchProperty(node.property, node.value);
            if (error) faults.push(`line ${node.loc.start.line}: ${node.property}: ${value}: ${error.message}`);
        },
    });
    assert.deepEqual(faults, []);
});

test('nothing comes from elsewhere, and nothing is inline, as the policy forbids it', () => {
    for (const document of [html, readSource('Page/message.html')]) {
        assert.doesNotMatch(document, /https?:|\sstyle=|\son\w+=|<style|<script(?![^>]* src=)/);
    }
    assert.doesNotMatch(css, /url\(|@import/);
});
