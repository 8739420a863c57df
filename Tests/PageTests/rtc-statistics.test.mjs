import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatisticsReport } from '../../Sources/Peer/ViewerPage/Page/Script/rtc-statistics.js';

// As Chromium reports; `second` is the time.
const entries = second => [
    {
        type: 'inbound-rtp', id: 'v', kind: 'video', timestamp: 1000 * second, bytesReceived: 250000 * second, frameWidth: 1920, frameHeight: 1080,
        framesDecoded: 30 * second, packetsReceived: 99 * second, packetsLost: second, jitterBufferDelay: 0.6 * second,
        jitterBufferEmittedCount: 30 * second, freezeCount: 2, totalFreezesDuration: 0.5, nackCount: 3, pliCount: 1, jitter: 0.002,
    },
    { type: 'inbound-rtp', id: 'a', kind: 'audio', timestamp: 1000 * second, bytesReceived: 12500 * second },
    { type: 'transport', id: 't', selectedCandidatePairId: 'p' },
    { type: 'candidate-pair', id: 'q', state: 'succeeded', nominated: true, localCandidateId: 'x' },
    { type: 'candidate-pair', id: 'p', localCandidateId: 'l', remoteCandidateId: 'r', availableIncomingBitrate: 5e6, currentRoundTripTime: 0.04 },
    { type: 'local-candidate', id: 'l', address: '192.0.2.1', port: 1, candidateType: 'host' },
    { type: 'remote-candidate', id: 'r', ip: '192.0.2.2', port: 2, candidateType: 'relay' },
];

test('the second report has rates', () => {
    const report = new StatisticsReport();
    assert.equal(Object.fromEntries(report.lines(entries(1), 'a'))['frame rate'], '-');
    assert.deepEqual(Object.fromEntries(report.lines(entries(3), 'a')), {
        'resolution': '1920 x 1080', 'frame rate': '30 fps', 'bitrate': '2.1 Mbit/s', 'bandwidth': '5.0 Mbit/s', 'jitter buffer': '20.0 ms',
        'round trip': '40.0 ms', 'packet loss': '1.0 %', 'freezes': '2 (500.0 ms)', 'NACKs': '3', 'key frame requests': '1', 'jitter': '2.0 ms',
        'candidate pair': 'relayed, 192.0.2.1:1 (host) - 192.0.2.2:2 (relay)',
    });
});

test('rates begin anew with another connection, and after a reset', () => {
    const report = new StatisticsReport(), rate = lines => Object.fromEntries(lines)['frame rate'];
    report.lines(entries(1), 'a');
    assert.equal(rate(report.lines(entries(2), 'b')), '-');
    assert.equal(rate(report.lines(entries(3), 'b')), '30 fps');
    report.reset();
    assert.equal(rate(report.lines(entries(4), 'b')), '-');
});

test('what a browser does not report is a dash', () => {
    const lines = Object.fromEntries(new StatisticsReport().lines([], 'a'));
    assert.equal(lines.resolution, '0 x 0');
    for (const name of ['bitrate', 'bandwidth', 'jitter buffer', 'round trip', 'packet loss', 'freezes', 'jitter']) assert.equal(lines[name], '-', name);
    assert.equal(lines['candidate pair'], 'none');
});

test('without a transport the nominated pair is the selected one', () => {
    const firefox = entries(1).filter(entry => entry.type !== 'transport' && entry.id !== 'p');
    assert.match(Object.fromEntries(new StatisticsReport().lines(firefox, 'a'))['candidate pair'], /^direct/);
});
