// The server joins the modules to one script: without imports and exports, in the order of ViewerPage.c.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import vm from 'node:vm';
import { moduleNames, readSource } from './support.mjs';

// The modules of the script that a function gives, in their order.
function modulesOf(name) {
    const body = readSource('ViewerPage.c').split(`const char *${name}(void) {`)[1].split('\n}\n')[0];
    return [...body.matchAll(/^#embed "Page\/Script\/(.+)" suffix\(,\)$/gm)].map(match => match[1]);
}

const page = modulesOf('viewerPageScript'), worker = modulesOf('viewerPageWorker');
const sources = new Map(moduleNames().map(name => [name, readSource('Page/Script/' + name)]));
const importPattern = /^import \{[^}]*\} from '\.\/(.+)';\n/gm;

test('each module is embedded, and once in a script', () => {
    assert.deepEqual([...new Set([...page, ...worker])].sort(), [...sources.keys()].sort());
    for (const order of [page, worker]) assert.equal(new Set(order).size, order.length);
});

test('a module stands behind those that it imports', () => {
    for (const order of [page, worker]) {
        for (const [index, name] of order.entries()) {
            for (const [, imported] of sources.get(name).matchAll(importPattern)) {
                assert.ok(order.slice(0, index).includes(imported), `${name} imports ${imported}`);
            }
        }
    }
});

test('imports and exports have the forms that the server leaves out', () => {
    for (const [name, source] of sources) {
        const rest = source.replace(importPattern, '').replace(/^export (?=(async )?(function|class|const) )/gm, '');
        assert.doesNotMatch(rest, /^\s*(import|export)\b/m, name);
    }
});

// In a block of strict code a second declaration of a name is an error, of functions too.
test('the joined scripts are valid, and no name is declared by two modules', () => {
    for (const order of [page, worker]) {
        const joined = order.map(name => sources.get(name).replace(importPattern, '').replace(/^export /gm, '')).join('\n');
        new vm.Script(`'use strict';\n{\n${joined}\n}`);
    }
});
