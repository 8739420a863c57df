extension ViewerPage {
    /// More methods of `Visit`: noticing that the network is gone, and coming back without another knock.
    static let outageScript = ##"""
            // The host sends a report each second at least: 3 s without any byte are an outage, 30 s the end. 1.5 s do if
            // there is another sign of it.
            async watch() {
                for (const kind of ['online', 'offline']) window.addEventListener(kind, () => this.suspect(), { signal: this.abort.signal });
                if (navigator.connection) navigator.connection.addEventListener('change', () => this.suspect(), { signal: this.abort.signal });
                const counts = new Map();
                let known = this.pc, last = performance.now(), silence = 0, hasHeard = false;
                while (!this.isOver) {
                    await sleep(250);
                    if (this.isOver) return;
                    let isHeard = false;
                    const pc = this.pc;
                    try {
                        for (const entry of (await pc.getStats()).values()) {
                            // Of another connection only media says that it works.
                            const count = entry.type === 'inbound-rtp' ? entry.packetsReceived
                                : entry.type === 'candidate-pair' && pc === known ? entry.bytesReceived : undefined;
                            if (!(count > (pc === known && counts.get(entry.id) || 0))) continue;
                            counts.set(entry.id, count);
                            isHeard = true;
                        }
                    } catch {}
                    if (this.isOver) return;
                    if (pc !== this.pc) isHeard = false;
                    if (isHeard) { known = pc; hasHeard = true; }
                    const now = performance.now();
                    // A page that slept has not listened.
                    silence = isHeard ? 0 : silence + Math.min(now - last, 1500);
                    last = now;
                    if (isHeard) this.heardAt = now;
                    if (isHeard || !hasHeard) {
                        if (this.isInterrupted) this.resumed();
                        continue;
                    }
                    if (silence >= 30000) return this.hostIsGone('Nothing has come from the host for 30 s: it or the network between has gone.');
                    if (silence < (this.isRefused() || now - this.suspectedAt < 10000 ? 1500 : 3000)) continue;
                    notice('Connection lost, trying again ...', ` ${Math.floor(silence / 1000)} s`);
                    if (this.isInterrupted) continue;
                    this.isInterrupted = true;
                    root.dataset.outage = '';
                    this.recover();
                }
            }

            // The browser says that the network is another, or that its checks get no answer.
            suspect() { this.suspectedAt = performance.now(); }

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

            // Until the host is heard again: first an ICE restart, and if the host takes none, or it leads nowhere, another session.
            async recover() {
                if (this.isRecovering) return;
                this.isRecovering = true;
                let canRestart = true, attempts = 0;
                while (this.isInterrupted && !this.isOver) {
                    let patience = 300;
                    try {
                        // A connection from before may be dead without knowing it; once asked in vain, it is not used again.
                        const signal = AbortSignal.timeout(Math.min(1000 * ++attempts, 3000));
                        const isRestarted = canRestart && await this.restart(signal);
                        // The old way may be back before the host answers at all.
                        if (!canRestart) await this.ask(this.resource, { headers: this.bearer, signal });
                        canRestart = false;
                        if (!isRestarted && this.isInterrupted && !this.isOver) {
                            await this.rejoin();
                            // What the host finds later comes as events: on a stream that is alive.
                            if (this.isInterrupted && this.stream) this.stream.abort();
                        }
                        patience = isRestarted ? 3000 : 4000;
                    } catch (error) {
                        if (this.isOver) break;
                        if (error instanceof Stop) this.stop(error);
                        else if (await this.isHostGone()) this.hostIsGone('The host has gone: nothing answers there any more.');
                    }
                    const until = performance.now() + patience;
                    while (this.isInterrupted && !this.isOver && performance.now() < until) await sleep(100);
                }
                this.isRecovering = false;
            }

            ask(path, options) { return fetch(path, { cache: 'no-store', redirect: 'error', signal: AbortSignal.timeout(3000), ...options }); }

            // An ICE restart (RFC 9725, section 4.4): on whatever network there is now, with the same keys. The offer is set when
            // the host has answered it: Firefox plays no picture after one that was rolled back, and Chromium would ask the
            // host's former side from its new addresses, and stay with it. False if the host takes no restart.
            async restart(signal) {
                const pc = this.pc, offer = await pc.createOffer({ iceRestart: true });
                const headers = { 'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': '*', ...this.bearer };
                const answer = await this.ask(this.resource, { method: 'PATCH', headers, body: this.fragment([], credentials(offer.sdp)), signal });
                if (answer.status !== 200) return false;
                const remote = restarted(this.remote, await answer.text());
                this.hasAnswer = false;
                this.candidates = [];
                this.hosts = 0;
                try {
                    await Promise.all([this.setOffer(pc, offer), pc.setRemoteDescription({ type: 'answer', sdp: remote })]);
                } catch { return false; }
                this.remote = remote;
                this.etag = answer.headers.get('ETag');
                this.hasAnswer = true;
                this.trickle();
                return true;
            }

            // Another session with the token, so that nobody is asked again, under the last picture of the one before.
            async rejoin() {
                const former = this.resource;
                freeze();
                this.pc.close();
                this.prepare();
                await this.join((path, options) => this.ask(path, options));
                if (!this.isOver) this.ask(former, { method: 'DELETE', headers: this.bearer }).catch(() => {});
            }
        """##

    /// What the methods need.
    static let outageHelpers = ##"""
        // Of ICE, as lines.
        const credentials = sdp => ['ufrag', 'pwd'].map(name => new RegExp(`^a=ice-${name}:.*?(?=\\s*$)`, 'm').exec(sdp)[0]);
        // Of a description's candidates for UDP: address and kind.
        function addresses(sdp) {
            const fields = [...(sdp || '').matchAll(/^a=candidate:(.*)$/gm)].map(match => match[1].trim().split(' '));
            return fields.filter(field => field.length > 7 && field[2].toLowerCase() === 'udp').map(field => [field[4], field[7]]);
        }
        const isLoopback = address => /^127\.|^(0*:)*:?0*1$/.test(address);
        const isHostCandidate = event => / typ host/.test(event.candidate && event.candidate.candidate);

        // The answer of before with the credentials and candidates of a fragment.
        function restarted(sdp, fragment) {
            const lines = fragment.split(/\r?\n/);
            const first = prefix => lines.find(line => line.startsWith(prefix));
            const ufrag = first('a=ice-ufrag:'), password = first('a=ice-pwd:');
            if (!ufrag || !password) return '';
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
