extension ViewerPage {
    /// More methods of `Visit`: connecting, what the host says meanwhile, and the end.
    static let connectionScript = ##"""
            // With the admission that there is.
            async connect() {
                if (typeof admission.token !== 'string') throw new Stop('error', 'The host answered in an unknown way (no token).', wait);
                this.bearer = { Authorization: 'Bearer ' + admission.token };
                this.iceServers = admission.iceServers;
                await this.join((path, options) => this.fetch(path, options));
                if (this.isOver) return;
                if (own.isKept) keepOverReload();
                this.listen();
                this.watch();
                const isConnecting = () => !this.isOver && this.pc.connectionState !== 'connected' && root.dataset.state !== 'playing';
                setTimeout(() => {
                    if (isConnecting()) show('connecting', 'Still connecting ...', 'The two networks do not let each other through easily.');
                }, 6000);
                // A browser that has nothing to try never says that it failed; the host gives up after 20 s.
                setTimeout(() => { if (isConnecting()) this.endWithoutWay(); }, 25000);
            }

            // Opens a session for the visit's connection, with the token.
            async join(ask) {
                const pc = this.pc;
                if (Array.isArray(this.iceServers) && this.iceServers.length) {
                    try { pc.setConfiguration({ bundlePolicy: 'max-bundle', certificates: this.certificates, iceServers: this.iceServers }); } catch {}
                }
                await this.setOffer(pc, await pc.createOffer());
                const sdp = pc.localDescription.sdp;
                const now = fingerprint(sdp);
                if (!now || !equal(now, this.mine)) throw new Stop('error', 'This browser has changed its certificate meanwhile.', wait);

                const answer = await ask(`/${link.id}/whep`, {
                    method: 'POST', headers: { 'Content-Type': 'application/sdp', 'Share-Visit': this.id, ...this.bearer }, body: sdp,
                });
                if (answer.status === 404 || answer.status === 410) throw new Stop('ended', sentence(await reasonOf(answer), 'The host has stopped sharing.'), newLink, '');
                if (answer.status === 401 || answer.status === 403) throw new Stop('refused', 'The host does not let you in with what it gave you before.', 'You can ask again.', 'Ask again');
                if (this.isInterrupted && answer.status >= 429) throw new Error('busy');
                if (answer.status === 409 || answer.status === 429 || answer.status === 503) throw new Stop('error', sentence(await reasonOf(answer), 'The host cannot take another viewer now.'), wait);
                if (answer.status !== 201) throw new Stop('error', `The host could not start the broadcast (${answer.status}).`, sentence(await reasonOf(answer), wait));
                this.resource = answer.headers.get('Location');
                this.etag = answer.headers.get('ETag');
                const remote = onlySHA256(await answer.text());

                // Before any media key exists: the certificate is the link's, and whoever answered knows the link's secret.
                const host = fingerprint(remote);
                const claimed = answer.headers.get('Share-Proof') || '';
                const expected = encode(await proof('share v1 host', this.mine, link.host));
                if (!host || !equal(host, link.host) || !equal(text.encode(claimed), text.encode(expected))) {
                    throw anotherHost();
                }
                if (this.isOver) return this.leave();
                const name = (/^s=(.*)$/m.exec(remote) || [])[1];
                if (name && name.trim() !== '-') document.title = name.trim().slice(0, 64);
                await pc.setRemoteDescription({ type: 'answer', sdp: remote });
                this.remote = remote;
                this.hasAnswer = true;
                this.trickle();
            }

            // Sets an offer and notes its ICE credentials. Without `stereo` a browser plays Opus in mono.
            async setOffer(pc, offer) {
                const stereo = offer.sdp.replace(/(a=fmtp:\d+ minptime=10;useinbandfec=1)(?=\r?\n)/g, '$1;stereo=1');
                try { await pc.setLocalDescription({ type: 'offer', sdp: stereo }); } catch { await pc.setLocalDescription(offer); }
                this.credentials = credentials(pc.localDescription.sdp);
            }

            fragment(candidates, credentials) {
                const lines = [...credentials, 'm=video 9 UDP/TLS/RTP/SAVPF 0', `a=mid:${this.pc.getTransceivers()[0].mid}`];
                for (const candidate of candidates) lines.push(candidate === null ? 'a=end-of-candidates' : 'a=' + candidate);
                return lines.join('\r\n') + '\r\n';
            }

            async trickle() {
                if (!this.hasAnswer || !this.resource || this.isTrickling) return;
                this.isTrickling = true;
                let failures = 0;
                while (this.candidates.length && this.hasAnswer && !this.isOver) {
                    const found = this.candidates, some = found.slice(0, 40);
                    const body = this.fragment(some, this.credentials);
                    const headers = { 'Content-Type': 'application/trickle-ice-sdpfrag', ...this.bearer };
                    if (this.etag) headers['If-Match'] = this.etag;
                    try {
                        const answer = await this.ask(this.resource, { method: 'PATCH', headers, body });
                        if (answer.status === 429 || answer.status === 503) throw new Error('busy');
                        // A server that takes no candidates, or these no more (412), finds ours by their checks.
                        found.splice(0, some.length);
                        failures = 0;
                    } catch { await sleep(Math.min(300 * ++failures, 1000)); }
                }
                this.isTrickling = false;
            }

            // What the host says meanwhile: server-sent events, by fetch, as EventSource has no headers.
            async listen() {
                let failures = 0;
                while (!this.isOver) {
                    const stream = this.stream = new AbortController(), asked = performance.now();
                    let isOpen = false;
                    const limit = setTimeout(() => stream.abort(), 5000);
                    try {
                        const answer = await this.ask(`/${link.id}/events`, { headers: { Accept: 'text/event-stream', ...this.bearer }, signal: stream.signal });
                        clearTimeout(limit);
                        if (answer.status === 404 || answer.status === 410) return this.end('ended', 'The host has stopped sharing.', newLink, '');
                        if (answer.status === 401) return this.hostIsGone('The host has ended your admission.');
                        if (answer.ok && answer.body) {
                            failures = this.refusals = 0;
                            isOpen = true;
                            await this.read(answer.body.getReader());
                        } else { failures++; }
                    } catch { if (!isOpen) failures++; }
                    clearTimeout(limit);
                    if (this.isOver) return;
                    const now = performance.now();
                    if (isOpen && !stream.signal.aborted) this.brokenAt = now;
                    if (!isOpen) this.refusals = now - asked < 800 ? this.refusals + 1 : 0;
                    // Whether the host has gone shows in the media; it is `watch` that ends the visit.
                    await sleep(Math.min(300 * (failures + 1), 2000));
                }
            }

            hostIsGone(words) { if (!this.isOver) this.end('ended', words, wait); }

            async read(reader) {
                const decoder = new TextDecoder();
                let rest = '';
                for (;;) {
                    const { value, done } = await reader.read();
                    if (done || this.isOver) return;
                    rest += decoder.decode(value, { stream: true });
                    if (rest.length > 65536) throw new Error('too long');
                    const blocks = rest.split(/\r?\n\r?\n/);
                    rest = blocks.pop();
                    for (const block of blocks) {
                        const data = block.split(/\r?\n/).filter(line => line.startsWith('data:')).map(line => line.slice(5).trim()).join('\n');
                        if (data) { try { this.event(JSON.parse(data)); } catch {} }
                    }
                }
            }

            event(message) {
                if (message.type === 'ended') {
                    this.end('ended', sentence(message.reason, 'The host has stopped sharing.'), newLink, '');
                } else if (message.type === 'viewercount') {
                    const count = Number(message.count ?? message.viewercount ?? message.viewerCount) || 0;
                    root.dataset.viewers = count;
                    $('count').textContent = count > 1 ? `${count} watching` : '';
                } else if (message.type === 'candidates' && typeof message.fragment === 'string') {
                    this.addLate(message.fragment);
                }
            }

            // What the host found after its answer: all of it so far, so most may be known.
            async addLate(fragment) {
                const ufrag = sdp => (/^a=ice-ufrag:(.*?)\s*$/m.exec(sdp) || [])[1];
                const remote = this.pc.remoteDescription;
                if (this.isOver || !remote || ufrag(fragment) !== ufrag(remote.sdp)) return;
                const lines = fragment.split(/\r?\n/).filter(line => line.startsWith('a=candidate:')).slice(0, 40);
                for (const line of lines) {
                    try {
                        await this.pc.addIceCandidate({ candidate: line.slice(2), sdpMLineIndex: 0, usernameFragment: ufrag(fragment) });
                    } catch {}
                }
            }

            // Which addresses there were, for somebody who has to find out why nothing goes through.
            tried() {
                const list = sdp => {
                    const kinds = { srflx: ' (seen by others)', relay: ' (TURN)' };
                    const found = new Set(addresses(sdp).map(([address, kind]) => (address.endsWith('.local') ? 'a hidden address' : address) + (kinds[kind] || '')));
                    return found.size ? [...found].slice(0, 4).join(', ') : 'none';
                };
                const own = list((this.pc.localDescription || {}).sdp), other = list((this.pc.remoteDescription || {}).sdp);
                return `Addresses tried here: ${own}; at the host: ${other}.`;
            }

            endWithoutWay() {
                const own = addresses((this.pc.localDescription || {}).sdp), other = addresses((this.pc.remoteDescription || {}).sdp);
                const hasTURN = (this.pc.getConfiguration().iceServers || []).some(server => String(server.urls).includes('turn'));
                const tried = this.tried();
                let why = hasTURN
                    ? `A firewall or the router of one side blocks it. ${tried} The host named a TURN server, which did not help: a firewall may block UDP.`
                    : `A firewall or the router of one side blocks it. ${tried} No TURN server is configured: the host can name one with --turn.`;
                if (!own.length) {
                    why = `This browser has no address that it lets pages use: it has no network, or a setting or an extension forbids it. ${tried}`;
                } else if (!other.length) {
                    why = `The host found no address of its own that this browser could try. ${tried}`;
                } else if (other.every(([address]) => isLoopback(address))) {
                    why = 'The host has no address but loopback, and this browser does not connect to such an address. '
                        + `Watch with share join on that machine, or connect it to a network. ${tried}`;
                }
                this.end('error', 'No way to the host was found.', why);
            }

            connectionChanged(pc) {
                const state = pc.connectionState;
                if (this.isOver) return;
                if (state === 'connected') {
                    for (const receiver of pc.getReceivers()) {
                        if (!receiver.transport) continue;
                        receiver.transport.onstatechange = () => {
                            if (receiver.transport.state === 'closed') this.connectionEnded(pc);
                        };
                    }
                } else if (state === 'failed') {
                    if (root.dataset.state !== 'playing') this.endWithoutWay();
                } else if (state === 'closed') {
                    this.connectionEnded(pc);
                }
            }

            // The host says why in its events, which Firefox may read after the end of DTLS. In an outage the host may have
            // given up this session alone: then there will be another.
            async connectionEnded(pc) {
                const isOurs = () => pc === this.pc && !this.isInterrupted;
                if (!isOurs()) return;
                await sleep(1000);
                if (isOurs()) this.hostIsGone('The host has ended the connection.');
            }

            leave() {
                if (this.place) {
                    fetch(this.place, { method: 'DELETE', redirect: 'error', keepalive: true }).catch(() => {});
                    this.place = null;
                }
                if (this.resource) {
                    fetch(this.resource, { method: 'DELETE', headers: this.bearer, redirect: 'error', keepalive: true }).catch(() => {});
                    this.resource = null;
                }
            }

            // `next` is the button's: without it, to try again; an empty one is no button.
            end(state, words, hint, next, seconds) {
                if (this.isOver) return;
                this.giveUp();
                // The link is dead, or the token is.
                if (next === '' || next === 'Ask again') forget();
                if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
                video.srcObject = null;
                microphone.srcObject = null;
                delete root.dataset.viewers;
                delete root.dataset.outage;
                still.hidden = true;
                show(state, words, hint);
                offer(next === undefined ? (this.hasPlayed ? 'Watch again' : 'Try again') : next, seconds || 0);
            }
        """##
}
