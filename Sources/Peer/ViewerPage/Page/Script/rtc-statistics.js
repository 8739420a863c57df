// Lines of the statistics panel from RTCPeerConnection.getStats (W3C webrtc-stats).

function bitrate(bits) { return bits >= 1e6 ? (bits / 1e6).toFixed(1) + ' Mbit/s' : Math.round(bits / 1e3) + ' kbit/s'; }
function milliseconds(seconds) { return seconds === undefined ? '-' : (seconds * 1000).toFixed(1) + ' ms'; }
function endpoint(candidate) {
    return `${candidate.address || candidate.ip || '?'}:${candidate.port || '?'} (${candidate.candidateType || '?'})`;
}

function selectedPair(entries) {
    const pairs = entries.filter(entry => entry.type === 'candidate-pair');
    const transport = entries.find(entry => entry.type === 'transport') || {};
    return pairs.find(pair => pair.id === transport.selectedCandidatePairId)
        // Firefox has no transport entries.
        || pairs.find(pair => pair.selected || pair.nominated && pair.state === 'succeeded') || {};
}

export class StatisticsReport {
    constructor() { this.last = null; }

    // Names and values. Rates are since the last call with the same connection.
    lines(entries, connection) {
        const inbound = entries.filter(entry => entry.type === 'inbound-rtp');
        const video = inbound.find(entry => entry.kind === 'video') || {};
        const pair = selectedPair(entries);
        const local = entries.find(entry => entry.id === pair.localCandidateId) || {};
        const remote = entries.find(entry => entry.id === pair.remoteCandidateId) || {};
        const now = {
            connection, time: video.timestamp || 0,
            bytes: inbound.reduce((sum, entry) => sum + (entry.bytesReceived || 0), 0),
            bufferDelay: video.jitterBufferDelay || 0, emitted: video.jitterBufferEmittedCount || 0,
            packets: video.packetsReceived || 0, lost: video.packetsLost || 0, frames: video.framesDecoded || 0,
        };
        const last = this.last && this.last.connection === connection && this.last.time < now.time ? this.last : null;
        this.last = now;
        const seconds = last ? (now.time - last.time) / 1000 : 0;
        const lost = last ? Math.max(now.lost - last.lost, 0) : 0, received = last ? now.packets - last.packets : 0;
        const isRelayed = local.candidateType === 'relay' || remote.candidateType === 'relay';
        return [
            ['resolution', `${video.frameWidth || 0} x ${video.frameHeight || 0}`],
            ['frame rate', last ? `${Math.round((now.frames - last.frames) / seconds)} fps` : '-'],
            ['bitrate', last ? bitrate((now.bytes - last.bytes) * 8 / seconds) : '-'],
            ['bandwidth', pair.availableIncomingBitrate === undefined ? '-' : bitrate(pair.availableIncomingBitrate)],
            ['jitter buffer', last && now.emitted > last.emitted
                ? milliseconds((now.bufferDelay - last.bufferDelay) / (now.emitted - last.emitted)) : '-'],
            ['round trip', milliseconds(pair.currentRoundTripTime)],
            ['packet loss', last ? (lost + received > 0 ? 100 * lost / (lost + received) : 0).toFixed(1) + ' %' : '-'],
            ['freezes', video.freezeCount === undefined ? '-' : `${video.freezeCount} (${milliseconds(video.totalFreezesDuration)})`],
            ['NACKs', `${video.nackCount || 0}`],
            ['key frame requests', `${video.pliCount || 0}`],
            ['jitter', milliseconds(video.jitter)],
            ['candidate pair', pair.id ? `${isRelayed ? 'relayed' : 'direct'}, ${endpoint(local)} - ${endpoint(remote)}` : 'none'],
        ];
    }

    reset() { this.last = null; }
}
