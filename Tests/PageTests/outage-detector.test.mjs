import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OutageDetector } from '../../Sources/Peer/ViewerPage/Page/Script/outage-detector.js';

// A detector that has heard the connection 'a' at 0, sampled each 250 ms.
function heard() {
    const detector = new OutageDetector(true);
    detector.begin('a', 0);
    assert.equal(detector.update(true, 'a', 0, true), 'reachable');
    return detector;
}
// The time of the first sample with this state.
function silentUntil(detector, state, from = 0) {
    for (let now = from + 250; now < from + 60000; now += 250) if (detector.update(false, 'a', now, true) === state) return now;
    return null;
}

test('before anything was heard there is no outage', () => {
    const detector = new OutageDetector(true);
    detector.begin('a', 0);
    assert.equal(silentUntil(detector, 'outage'), null);
});

test('3 s of silence are an outage, 30 s the end', () => {
    const detector = heard();
    assert.equal(detector.update(false, 'a', 250, true), 'silent');
    assert.equal(silentUntil(detector, 'outage', 250), 3000);
    assert.equal(silentUntil(detector, 'ended', 3000), 30000);
});

test('any byte ends the silence', () => {
    const detector = heard();
    silentUntil(detector, 'outage');
    assert.equal(detector.update(true, 'a', 3250, true), 'reachable');
    assert.equal(detector.update(false, 'a', 3500, true), 'silent');
});

test('another sign of an outage halves the limit, for 10 s', () => {
    const detector = heard();
    detector.suspect(0);
    assert.equal(silentUntil(detector, 'outage'), 1500);
    const later = heard();
    later.suspect(-10000);
    assert.equal(silentUntil(later, 'outage'), 3000);
});

test('a page that was suspended has not listened', () => {
    const detector = heard();
    assert.equal(detector.update(false, 'a', 60000, true), 'silent');
    assert.equal(detector.silence, 1500);
});

test('a host that closed its events with its media and refuses is suspected, on the same network', () => {
    const detector = heard();
    detector.eventStreamBroke(1000);
    for (let i = 0; i < 2; i++) detector.eventStreamFailed(true);
    assert.ok(!detector.isHostRefusing(true));
    detector.eventStreamFailed(true);
    assert.ok(detector.isHostRefusing(true));
    assert.ok(!detector.isHostRefusing(false), 'the network is another');
    assert.equal(silentUntil(detector, 'outage'), 1500);
    detector.eventStreamFailed(false);
    assert.ok(!detector.isHostRefusing(true), 'a request without an answer is no refusal');
});

test('events that broke long after the last byte are no sign, nor after they were opened again', () => {
    const detector = heard();
    detector.eventStreamBroke(2000);
    for (let i = 0; i < 3; i++) detector.eventStreamFailed(true);
    assert.ok(!detector.isHostRefusing(true));
    detector.eventStreamBroke(100);
    assert.ok(detector.isHostRefusing(true));
    detector.eventStreamOpened();
    assert.ok(!detector.isHostRefusing(true));
});

test('bytes count only when there are more of them', () => {
    const detector = new OutageDetector(true);
    detector.begin('a', 0);
    const pair = bytesReceived => [{ type: 'candidate-pair', id: 'p', bytesReceived }];
    assert.ok(!detector.hasReceived(pair(0), 'a'));
    assert.ok(!detector.hasReceived([{ type: 'transport', id: 't', bytesReceived: 5 }, { type: 'candidate-pair', id: 'q' }], 'a'));
    assert.ok(detector.hasReceived(pair(10), 'a'));
    assert.ok(!detector.hasReceived(pair(10), 'a'));
    assert.ok(detector.hasReceived(pair(11), 'a'));
});

test('on a new connection only media counts, until it was heard', () => {
    const detector = heard();
    const pair = [{ type: 'candidate-pair', id: 'p', bytesReceived: 99 }], media = [{ type: 'inbound-rtp', id: 'v', packetsReceived: 1 }];
    assert.ok(!detector.hasReceived(pair, 'b'));
    assert.ok(detector.hasReceived(media, 'b'));
    detector.update(true, 'b', 250, true);
    assert.ok(detector.hasReceived(pair, 'b'));
});
