// What the page reads from session descriptions (RFC 8866) and trickle fragments (RFC 8840), and changes in them.

import { equalBytes } from './bytes.js';

// The one SHA-256 fingerprint of a description. Null if there is none, a malformed one, or two that differ. Those of other hashes
// may be present (RFC 8122 section 5).
export function sha256Fingerprint(sdp) {
    let fingerprint = null;
    for (const line of sdp.split(/[\r\n]+/)) {
        if (!/^a=fingerprint:\s*sha-256\s/i.test(line)) continue;
        const match = /^a=fingerprint:sha-256 ((?:[0-9a-f]{2}:){31}[0-9a-f]{2})\s*$/i.exec(line);
        if (!match) return null;
        const bytes = Uint8Array.from(match[1].split(':'), pair => parseInt(pair, 16));
        if (fingerprint && !equalBytes(fingerprint, bytes)) return null;
        fingerprint = bytes;
    }
    return fingerprint;
}

// Removes the fingerprints of other hashes. Neither link nor proof covers them, but the browser might accept them.
export function withSHA256FingerprintsOnly(sdp) {
    return sdp.split(/[\r\n]+/).filter(line => !/^a=fingerprint/i.test(line) || /^a=fingerprint:sha-256 /i.test(line)).join('\r\n');
}

// Without this a browser plays Opus in mono.
export function withStereo(sdp) {
    return sdp.replace(/(a=fmtp:\d+ minptime=10;useinbandfec=1)(?=\r?\n)/g, '$1;stereo=1');
}

// The session's name, at most 64 characters; '' if it has none.
export function sessionName(sdp) {
    const name = ((/^s=(.*)$/m.exec(sdp) || [])[1] || '').trim();
    return name === '-' ? '' : name.slice(0, 64);
}

// The lines of the first ufrag and password.
export function iceCredentials(sdp) {
    return ['ufrag', 'pwd'].map(name => new RegExp(`^a=ice-${name}:.*?(?=\\s*$)`, 'm').exec(sdp)[0]);
}

export function usernameFragment(sdp) { return (/^a=ice-ufrag:(.*?)\s*$/m.exec(sdp) || [])[1]; }

// Address and type of the candidates for UDP.
export function udpCandidates(sdp) {
    const fields = [...(sdp || '').matchAll(/^a=candidate:(.*)$/gm)].map(match => match[1].trim().split(' '));
    return fields.filter(field => field.length > 7 && field[2].toLowerCase() === 'udp')
        .map(field => ({ address: field[4], type: field[7] }));
}

export function isLoopback(address) { return /^127\.|^(0*:)*:?0*1$/.test(address); }

// A candidate of null means the end of candidates.
export function trickleFragment(mid, credentials, candidates) {
    const lines = [...credentials, 'm=video 9 UDP/TLS/RTP/SAVPF 0', `a=mid:${mid}`];
    for (const candidate of candidates) lines.push(candidate === null ? 'a=end-of-candidates' : 'a=' + candidate);
    return lines.join('\r\n') + '\r\n';
}

// The candidates of a fragment, at most 40.
export function fragmentCandidates(fragment) {
    return fragment.split(/\r?\n/).filter(line => line.startsWith('a=candidate:')).slice(0, 40).map(line => line.slice(2));
}

// The former answer with the credentials and candidates of the fragment that answers an ICE restart; '' if it has no credentials.
export function restartedAnswer(sdp, fragment) {
    const lines = fragment.split(/\r?\n/);
    const first = prefix => lines.find(line => line.startsWith(prefix));
    const ufrag = first('a=ice-ufrag:'), password = first('a=ice-pwd:');
    if (!ufrag || !password) return '';
    const isCandidate = line => line.startsWith('a=candidate:') || line === 'a=end-of-candidates';
    const candidates = lines.filter(isCandidate);
    const result = [];
    let isInMedia = false, hasCandidates = false;
    for (const line of sdp.split(/\r?\n/)) {
        if (isCandidate(line)) continue;
        if (line.startsWith('m=')) isInMedia = true;
        if (line.startsWith('a=ice-ufrag:')) {
            result.push(ufrag);
        } else if (line.startsWith('a=ice-pwd:')) {
            result.push(password);
            // All sections share the transport of the first.
            if (isInMedia && !hasCandidates) {
                result.push(...candidates);
                hasCandidates = true;
            }
        } else {
            result.push(line);
        }
    }
    return result.join('\r\n');
}
