extension ViewerPage {
    /// The panel of statistics: S, or its button.
    static let statisticsScript = ##"""
        // --- statistics

        let statisticsTimer = 0, lastStatistics = null;

        function rate(bits) { return bits >= 1e6 ? (bits / 1e6).toFixed(1) + ' Mbit/s' : Math.round(bits / 1e3) + ' kbit/s'; }
        function milliseconds(seconds) { return seconds === undefined ? '-' : (seconds * 1000).toFixed(1) + ' ms'; }

        // What RTCPeerConnection.getStats tells, as lines of name and value; rates since the last call.
        async function statistics(pc) {
            const all = [...(await pc.getStats()).values()];
            const of = type => all.filter(entry => entry.type === type);
            const inbound = of('inbound-rtp').find(entry => entry.kind === 'video') || {};
            const transport = of('transport')[0] || {};
            const pair = of('candidate-pair').find(entry => entry.id === transport.selectedCandidatePairId)
                || of('candidate-pair').find(entry => entry.selected || entry.nominated && entry.state === 'succeeded') || {};
            const local = all.find(entry => entry.id === pair.localCandidateId) || {};
            const remote = all.find(entry => entry.id === pair.remoteCandidateId) || {};
            const now = {
                pc, time: inbound.timestamp || 0, bytes: of('inbound-rtp').reduce((sum, entry) => sum + (entry.bytesReceived || 0), 0),
                waited: inbound.jitterBufferDelay || 0, emitted: inbound.jitterBufferEmittedCount || 0,
                packets: inbound.packetsReceived || 0, lost: inbound.packetsLost || 0, frames: inbound.framesDecoded || 0,
            };
            const last = lastStatistics && lastStatistics.pc === pc && lastStatistics.time < now.time ? lastStatistics : null;
            lastStatistics = now;
            const seconds = last ? (now.time - last.time) / 1000 : 0;
            const lost = last ? Math.max(now.lost - last.lost, 0) : 0, got = last ? now.packets - last.packets : 0;
            const isRelayed = local.candidateType === 'relay' || remote.candidateType === 'relay';
            const place = end => `${end.address || end.ip || '?'}:${end.port || '?'} (${end.candidateType || '?'})`;
            return [
                ['picture', `${inbound.frameWidth || 0} x ${inbound.frameHeight || 0}`],
                ['frames', last ? `${Math.round((now.frames - last.frames) / seconds)} a second` : '-'],
                ['received', last ? rate((now.bytes - last.bytes) * 8 / seconds) : '-'],
                ['estimate', pair.availableIncomingBitrate === undefined ? '-' : rate(pair.availableIncomingBitrate)],
                ['queue', last && now.emitted > last.emitted
                    ? milliseconds((now.waited - last.waited) / (now.emitted - last.emitted)) : '-'],
                ['round trip', milliseconds(pair.currentRoundTripTime)],
                ['loss', last ? (lost + got > 0 ? 100 * lost / (lost + got) : 0).toFixed(1) + ' %' : '-'],
                ['freezes', inbound.freezeCount === undefined ? '-' : `${inbound.freezeCount} (${milliseconds(inbound.totalFreezesDuration)})`],
                ['repeats asked', `${inbound.nackCount || 0}`],
                ['key frames asked', `${inbound.pliCount || 0}`],
                ['jitter', milliseconds(inbound.jitter)],
                ['route', pair.id ? `${isRelayed ? 'relayed' : 'direct'}, ${place(local)} - ${place(remote)}` : 'none'],
            ];
        }

        async function showStatistics() {
            if (!visit || !visit.pc || visit.isOver || root.dataset.state !== 'playing') return hideStatistics();
            try {
                const lines = await statistics(visit.pc);
                $('statistics').replaceChildren(...lines.map(([name, value]) => {
                    const row = document.createElement('div');
                    for (const [kind, words] of [['dt', name], ['dd', value]]) row.appendChild(document.createElement(kind)).textContent = words;
                    return row;
                }));
                $('statistics').hidden = statisticsTimer === 0;
            } catch {}
        }
        function hideStatistics() {
            clearInterval(statisticsTimer);
            statisticsTimer = 0;
            lastStatistics = null;
            $('statistics').hidden = true;
        }
        function toggleStatistics() {
            if (statisticsTimer) return hideStatistics();
            statisticsTimer = setInterval(showStatistics, 1000);
            showStatistics();
        }
        $('stats').onclick = toggleStatistics;
        """##
}
