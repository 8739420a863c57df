extension ViewerPage {
    /// More methods of `Visit`: noticing that the network is gone, and coming back without another knock.
    static let outageScript = ##"""
            // The host sends a report each second at least: 3 s without any byte are an outage, 30 s the end.
            async watch() {
                const counts = new Map();
                let last = performance.now(), silence = 0;
                while (!this.isOver) {
                    await sleep(250);
                    if (this.isOver) return;
                    let isHeard = false;
                    try {
                        for (const entry of (await this.pc.getStats()).values()) {
                            const count = entry.type === 'candidate-pair' ? entry.bytesReceived
                                : entry.type === 'inbound-rtp' ? entry.packetsReceived : undefined;
                            if (!(count > (counts.get(entry.id) || 0))) continue;
                            counts.set(entry.id, count);
                            isHeard = true;
                        }
                    } catch {}
                    const now = performance.now();
                    // A page that slept has not listened.
                    silence = isHeard ? 0 : silence + Math.min(now - last, 1500);
                    last = now;
                    if (isHeard) this.heardAt = now;
                    if (isHeard || !counts.size) {
                        if (this.isInterrupted) this.resumed();
                        continue;
                    }
                    if (silence >= 30000) return this.hostIsGone('Nothing has come from the host for 30 s: it or the network between has gone.');
                    if (silence < (this.isRefused() ? 2000 : 3000)) continue;
                    notice(`Connection lost, trying again ... ${Math.floor(silence / 1000)} s`);
                    if (this.isInterrupted) continue;
                    this.isInterrupted = true;
                    root.dataset.outage = '';
                    this.recover();
                }
            }

            // Its connection was closed when its media ended, which an outage does not do, and it refuses others.
            isRefused() {
                return navigator.onLine === this.wasOnline && this.refusals >= 3 && this.brokenAt !== null
                    && Math.abs(this.brokenAt - this.heardAt) < 1500;
            }

            // And this machine has as many addresses as it had.
            async isHostGone() {
                if (!this.isRefused()) return false;
                const look = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
                let hosts = 0;
                look.onicecandidate = event => { if (isHostCandidate(event)) hosts++; };
                try {
                    for (const kind of ['video', 'audio', 'audio']) look.addTransceiver(kind, { direction: 'recvonly' });
                    await look.setLocalDescription(await look.createOffer());
                    for (let i = 0; i < 20 && hosts < this.usualHosts; i++) await sleep(50);
                } catch {}
                look.close();
                return this.isInterrupted && this.isRefused() && hosts >= this.usualHosts;
            }

            resumed() {
                this.isInterrupted = false;
                delete root.dataset.outage;
                notice('');
                // The stream of events may be dead without knowing it.
                if (this.stream) this.stream.abort();
            }

            async recover() {
                if (this.isRecovering) return;
                this.isRecovering = true;
                while (this.isInterrupted && !this.isOver) {
                    const isAsked = await this.restart();
                    const until = performance.now() + (isAsked ? 4000 : 500);
                    while (this.isInterrupted && !this.isOver && performance.now() < until) await sleep(100);
                }
                this.isRecovering = false;
            }

            // An ICE restart (RFC 9725, section 4.4): on whatever network there is now, with the same keys. Firefox plays no
            // picture after an offer that was rolled back: none is made before the host answers at all, and one that the
            // host has not answered stays until the next takes its place.
            async restart() {
                const abort = new AbortController();
                const deadline = setTimeout(() => abort.abort(), 3000);
                let isAnswered = false;
                try {
                    await fetch(this.resource, { method: 'OPTIONS', cache: 'no-store', signal: abort.signal });
                    // The old way may be back meanwhile.
                    if (this.isInterrupted && !this.isOver) isAnswered = await this.offerAgain(abort.signal);
                } catch { if (await this.isHostGone()) this.hostIsGone('The host has gone: nothing answers there any more.'); }
                clearTimeout(deadline);
                return isAnswered;
            }

            async offerAgain(signal) {
                const pc = this.pc;
                let isAnswered = false;
                this.isRestarting = true;
                this.candidates = [];
                this.hosts = 0;
                try {
                    await this.setOffer(pc, await pc.createOffer({ iceRestart: true }));
                    // Chromium's gathering is still "complete" at first: the candidates themselves are waited for.
                    for (let i = 0; i < 6 && !this.candidates.includes(null); i++) await sleep(50);
                    const headers = { 'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': '*', ...this.bearer };
                    const body = this.fragment(this.candidates.splice(0, 40));
                    const answer = await fetch(this.resource, { method: 'PATCH', headers, body, cache: 'no-store', signal });
                    if (answer.status === 404 || answer.status === 410 || answer.status === 401) {
                        this.hostIsGone('The host has stopped sharing.');
                    } else if (answer.status === 200) {
                        const etag = answer.headers.get('ETag'), fragment = await answer.text();
                        await pc.setRemoteDescription({ type: 'answer', sdp: this.remote = restarted(this.remote, fragment) });
                        this.etag = etag;
                        isAnswered = true;
                    }
                } finally {
                    this.isRestarting = false;
                    if (isAnswered) this.trickle(); else this.candidates = [];
                }
                return isAnswered;
            }
        """##

    /// What the methods need.
    static let outageHelpers = ##"""
        const isHostCandidate = event => / typ host/.test(event.candidate && event.candidate.candidate);

        // The answer of before with the credentials and candidates of a fragment.
        function restarted(sdp, fragment) {
            const lines = fragment.split(/\r?\n/);
            const first = prefix => lines.find(line => line.startsWith(prefix));
            const ufrag = first('a=ice-ufrag:'), password = first('a=ice-pwd:');
            if (!ufrag || !password) throw new Error('no credentials');
            const candidates = lines.filter(line => line.startsWith('a=candidate:') || line === 'a=end-of-candidates');
            const result = [];
            let hasCandidates = false;
            for (const line of sdp.split(/\r?\n/)) {
                if (line.startsWith('a=candidate:') || line === 'a=end-of-candidates') continue;
                if (line.startsWith('a=ice-ufrag:')) {
                    result.push(ufrag);
                } else if (line.startsWith('a=ice-pwd:')) {
                    result.push(password);
                    // Of the first section, whose transport all share.
                    if (!hasCandidates && result.some(line => line.startsWith('m='))) { result.push(...candidates); hasCandidates = true; }
                } else { result.push(line); }
            }
            return result.join('\r\n');
        }
        """##
}
