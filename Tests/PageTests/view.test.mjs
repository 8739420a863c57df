import './fake-page.mjs';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { element } from './fake-page.mjs';
import { offerForm, show } from '../../Sources/Peer/ViewerPage/Page/Script/view.js';

test('when the button can be pressed again, no sentence tells to wait', t => {
    let now = 0;
    t.mock.timers.enable({ apis: ['setInterval'] });
    t.mock.method(performance, 'now', () => now);
    show('refused', 'The host said no; you can ask again in 60 s.', 'Too many requests; try again in 60 s.');
    offerForm('Ask again', 60, false);
    assert.equal(element('watch').textContent, 'Ask again in 60 s');
    assert.ok(element('watch').disabled && element('status').textContent.includes('in 60 s'));
    now = 60001;
    t.mock.timers.tick(250);
    assert.equal(element('watch').textContent, 'Ask again');
    assert.ok(!element('watch').disabled);
    assert.equal(element('status').textContent, 'The host said no; you can ask again now.');
    assert.equal(element('hint').textContent, 'Too many requests; try again now.');
});
