import assert from 'node:assert/strict';
import test from 'node:test';
import { age, facts, initial, matches, safeLink } from '../../Sources/Peer/ViewerPage/Page/Directory/directory.js';

const broadcast = {
  id: '0123456789ABC', title: 'The keynote', application: { id: 'com.example.slides', name: 'Slides' }, region: 'eu-west',
  viewers: 12, since: 1000, link: 'https://relay.example:443/0123456789ABC#AQ',
};

test('the age is rounded down', () => {
  assert.deepEqual([-5, 59, 60, 3599, 3600, 172799, 172800].map(age),
    ['just now', 'just now', '1 min', '59 min', '1 h', '47 h', '2 days']);
});

test('the facts leave out what is not known and what the title says', () => {
  assert.equal(facts(broadcast, 1300), '12 viewers · Slides · eu-west · 5 min');
  const plain = { ...broadcast, title: 'Slides', region: null, viewers: null };
  assert.equal(facts(plain, 1000), 'just now');
  assert.equal(facts({ ...plain, viewers: 1 }, 1000), '1 viewer · just now');
});

test('a search has to match with all its words', () => {
  assert.ok(matches(broadcast, ''));
  assert.ok(matches(broadcast, 'KEYNOTE west'));
  assert.ok(matches(broadcast, 'com.example.slides'));
  assert.ok(!matches(broadcast, 'keynote asia'));
});

test('the initial is the first letter', () => {
  assert.equal(initial('"élan"'), 'É');
  assert.equal(initial('...'), '?');
});

test('only links of share are followed', () => {
  assert.equal(safeLink(broadcast.link), broadcast.link);
  for (const text of ['javascript:alert(1)', 'http://relay.example/0123456789ABC#AQ', 'https://relay.example/', '']) {
    assert.equal(safeLink(text), null);
  }
});
