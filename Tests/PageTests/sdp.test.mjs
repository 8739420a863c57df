import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
    fragmentCandidates, iceCredentials, isLoopback, restartedAnswer, sessionName, sha256Fingerprint, trickleFragment, udpCandidates,
    usernameFragment, withSHA256FingerprintsOnly, withStereo,
} from '../../Sources/Peer/ViewerPage/Page/Script/sdp.js';
import { colons, range } from './support.mjs';

const fingerprint = range(0, 32);
const line = 'a=fingerprint:sha-256 ' + colons(fingerprint);
const otherLine = 'a=fingerprint:sha-256 ' + colons(range(32, 64));

test('a description names one SHA-256 fingerprint', () => {
    for (const sdp of [`v=0\r\n${line}\r\nm=video\r\n${line}\r\n`, `v=0\n${line.toLowerCase()}\n`, `a=fingerprint:sha-512 AB\r\n${line} \r\n`]) {
        assert.deepEqual(sha256Fingerprint(sdp), fingerprint, sdp);
    }
});

test('none, two that differ, or a malformed one is no fingerprint', () => {
    for (const sdp of ['', 'v=0', `${line}\r\n${otherLine}`, line.slice(0, -1), line + ':00', `${line}\r\na=fingerprint: sha-256 AB`]) {
        assert.equal(sha256Fingerprint(sdp), null, sdp);
    }
});

test('fingerprints of other hashes are removed', () => {
    assert.equal(
        withSHA256FingerprintsOnly(`v=0\r\na=fingerprint:sha-384 AB\r\n${line}\r\nA=FINGERPRINT:SHA-512 AB\r\ns=-\r\n`),
        `v=0\r\n${line}\r\ns=-\r\n`);
});

test('stereo is asked for once, for Opus', () => {
    const sdp = 'a=fmtp:111 minptime=10;useinbandfec=1\r\na=fmtp:96 x=1\r\n';
    const stereo = 'a=fmtp:111 minptime=10;useinbandfec=1;stereo=1\r\na=fmtp:96 x=1\r\n';
    assert.equal(withStereo(sdp), stereo);
    assert.equal(withStereo(stereo), stereo);
});

test('a session has a name or none', () => {
    for (const [sdp, name] of [['s=-\r\n', ''], ['v=0\r\n', ''], ['v=0\r\ns= My screen \r\n', 'My screen'], ['s=' + 'x'.repeat(99), 'x'.repeat(64)]]) {
        assert.equal(sessionName(sdp), name);
    }
});

test('credentials are whole lines, without the end of line', () => {
    assert.deepEqual(iceCredentials('m=video\r\na=ice-ufrag:ab+/\r\na=ice-pwd:secret\r\n'), ['a=ice-ufrag:ab+/', 'a=ice-pwd:secret']);
    assert.equal(usernameFragment('a=ice-ufrag:ab+/\r\n'), 'ab+/');
    assert.equal(usernameFragment(''), undefined);
});

test('candidates for TCP and malformed ones are not listed', () => {
    const sdp = 'a=candidate:1 1 UDP 1 192.0.2.1 9 typ host\r\na=candidate:2 1 tcp 1 192.0.2.2 9 typ host\r\na=candidate:3 1 udp\r\n'
        + 'a=candidate:4 1 udp 1 ::1 9 typ relay raddr ::1 rport 9\r\n';
    assert.deepEqual(udpCandidates(sdp), [{ address: '192.0.2.1', type: 'host' }, { address: '::1', type: 'relay' }]);
    assert.deepEqual(udpCandidates(undefined), []);
});

test('loopback addresses', () => {
    for (const address of ['127.0.0.1', '127.9.9.9', '::1', '0:0:0:0:0:0:0:1']) assert.ok(isLoopback(address), address);
    for (const address of ['128.0.0.1', '10.127.0.1', '::', '::2', 'fe80::1', '::11']) assert.ok(!isLoopback(address), address);
});

test('a trickle fragment has credentials, one section and candidates', () => {
    assert.equal(
        trickleFragment('0', ['a=ice-ufrag:u', 'a=ice-pwd:p'], ['candidate:1', null]),
        'a=ice-ufrag:u\r\na=ice-pwd:p\r\nm=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=candidate:1\r\na=end-of-candidates\r\n');
});

test('of a fragment at most 40 candidates are read', () => {
    assert.deepEqual(fragmentCandidates('a=mid:0\r\na=candidate:1 x\r\na=end-of-candidates\r\n'), ['candidate:1 x']);
    assert.equal(fragmentCandidates('a=candidate:1\n'.repeat(50)).length, 40);
});

test('a restarted answer has the new credentials everywhere, and the new candidates in the first section', () => {
    const section = 'a=ice-ufrag:old\r\na=ice-pwd:old\r\na=candidate:1\r\na=end-of-candidates\r\n';
    const restarted = restartedAnswer(
        `v=0\r\nm=video\r\n${section}m=audio\r\n${section}`,
        'a=ice-ufrag:new\r\na=ice-pwd:word\r\nm=video\r\na=candidate:2\r\na=end-of-candidates\r\n');
    assert.equal(
        restarted,
        'v=0\r\nm=video\r\na=ice-ufrag:new\r\na=ice-pwd:word\r\na=candidate:2\r\na=end-of-candidates\r\n'
        + 'm=audio\r\na=ice-ufrag:new\r\na=ice-pwd:word\r\n');
});

test('candidates do not go before the first section', () => {
    assert.equal(
        restartedAnswer('a=ice-ufrag:o\r\na=ice-pwd:o\r\nm=video\r\na=ice-pwd:o', 'a=ice-ufrag:n\r\na=ice-pwd:n\r\na=candidate:2'),
        'a=ice-ufrag:n\r\na=ice-pwd:n\r\nm=video\r\na=ice-pwd:n\r\na=candidate:2');
});

test('a fragment without credentials restarts nothing', () => {
    assert.equal(restartedAnswer('m=video\r\n', 'a=ice-ufrag:new\r\n'), '');
});
