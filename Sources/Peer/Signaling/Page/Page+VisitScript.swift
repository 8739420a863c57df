extension ViewerPage {
    /// One visit, from knock to end.
    static let visitScript =
        [
            visitState, outageHelpers,
            "class Visit {\n" + [knocking, connectionScript, outageScript].joined(separator: "\n\n") + "\n}",
        ].joined(separator: "\n\n")

    /// What the visit holds beside its class, and how a host's reason is read.
    private static let visitState = ##"""
        // --- one visit, from knock to end

        let link = null, visit = null;

        // RFC 9457, or a plain {reason}; empty if the body is neither.
        async function problemOf(answer) {
            try {
                const body = JSON.parse(await answer.text());
                const reason = body.reason || body.detail || body.title;
                return { reason: typeof reason === 'string' ? reason : '', type: String(body.type || '').split(':').pop() };
            } catch { return { reason: '', type: '' }; }
        }
        const anotherHost = () => new Stop('error', 'This is not the host that the link names.', 'Either the link is mistyped, or somebody in between pretends to be the host. Nothing was shown. Ask the host for the link again.', '');
        async function reasonOf(answer) { return (await problemOf(answer)).reason; }

        function sentence(words, fallback) {
            const plain = (words || '').trim();
            if (!plain) return fallback;
            const first = plain[0].toUpperCase() + plain.slice(1);
            return /[.!?]$/.test(first) ? first : first + '.';
        }
        """##

    /// Methods: the visit begins, knocks, and waits for the host's answer.
    private static let knocking = ##"""
            constructor(name, isAsked) {
                this.name = name;
                // False on a reload: then nobody is asked.
                this.isAsked = isAsked;
                this.hasPlayed = false;
                this.abort = new AbortController();
                this.isOver = this.isInterrupted = this.isRecovering = this.isTrickling = false;
                // Of all its connections: the certificate, its fingerprint, and what the host gave for it.
                this.certificates = this.mine = this.keys = this.place = this.bearer = this.iceServers = null;
                // Tells this page from another one with the same certificate.
                this.id = encode(crypto.getRandomValues(new Uint8Array(16)));
                // Of the connection of now (see prepare), its session, and its last offer and answer.
                this.pc = this.resource = this.etag = this.credentials = this.remote = null;
                this.candidates = [];
                this.hosts = 0;
                this.hasAnswer = false;
                this.stream = null;
                // What tells a host that has gone from a network that has: see isHostGone.
                this.usualHosts = this.refusals = 0;
                this.suspectedAt = -Infinity;
                this.heardAt = this.brokenAt = null;
                this.wasOnline = navigator.onLine;
            }

            async fetch(path, options) {
                // The host holds a poll for 20 s.
                const limit = new AbortController(), stop = () => limit.abort(), timer = setTimeout(stop, 30000);
                this.abort.signal.addEventListener('abort', stop);
                try {
                    if (this.isOver) stop();
                    return await fetch(path, { cache: 'no-store', signal: limit.signal, redirect: 'error', ...options });
                } catch (error) {
                    if (this.isOver) throw error;
                    throw new Stop('error', 'The host cannot be reached.', 'It may have stopped sharing, or the network is down. ' + wait);
                } finally {
                    clearTimeout(timer);
                    this.abort.signal.removeEventListener('abort', stop);
                }
            }

            send(method, path, body) {
                return this.fetch(path, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
            }

            async run() {
                try {
                    if (!window.isSecureContext || !window.crypto || !crypto.subtle) throw new Stop('error', 'This page has to be opened over https.', 'Open the link as the host gave it.', '');
                    if (!window.RTCPeerConnection) throw new Stop('error', 'This browser cannot play shared screens: WebRTC is missing or switched off.', 'Switch it on, use another browser, or watch with share join.', '');
                    show('connecting', 'Calling the host ...');
                    // For more than one connection: the token that the host gives is for this certificate alone.
                    const { certificate, keys } = await ownIdentity();
                    this.certificates = [certificate];
                    this.keys = keys;
                    const pc = this.prepare();
                    const first = await pc.createOffer();
                    this.mine = fingerprint(first.sdp);
                    if (!this.mine) throw new Stop('error', 'This browser made no certificate that the host can check.', 'Another browser may do, or share join.');
                    if (await this.isAdmittedAgain() || this.isOver) return;
                    const answer = await this.knock();
                    if (this.isOver) return;
                    remember(answer, this.mine);
                    show('connecting', 'The host has let you in. Connecting ...');
                    await this.connect();
                } catch (error) {
                    if (this.isOver) return;
                    if (error instanceof Stop) this.stop(error);
                    else this.end('error', 'Something went wrong in this page: ' + (error && error.message || error), wait);
                }
            }

            stop(stop) { this.end(stop.state, stop.message, stop.hint, stop.next, stop.seconds); }

            // Without another knock, if the host still knows the token from before.
            async isAdmittedAgain() {
                if (!admission) return false;
                if (admission.mine === encode(this.mine)) {
                    show('connecting', 'Connecting again ...');
                    try {
                        await this.connect();
                        return true;
                    } catch (error) {
                        if (!(error instanceof Stop) || error.state !== 'refused') throw error;
                    }
                }
                forget();
                if (this.isOver) return true;
                if (!this.isAsked) {
                    this.giveUp();
                    ask();
                    return true;
                }
                this.pc.close();
                this.prepare();
                show('connecting', 'Calling the host ...');
                return false;
            }

            // Without a word.
            giveUp() {
                this.isOver = true;
                this.leave();
                this.abort.abort();
                if (this.stream) this.stream.abort();
                if (this.pc) this.pc.close();
            }

            // The visit's connection from now on.
            prepare() {
                const pc = this.pc = new RTCPeerConnection({ bundlePolicy: 'max-bundle', certificates: this.certificates });
                this.candidates = [];
                this.hosts = 0;
                this.hasAnswer = false;
                pc.addTransceiver('video', { direction: 'recvonly' });
                pc.addTransceiver('audio', { direction: 'recvonly' });
                pc.addTransceiver('audio', { direction: 'recvonly' });
                const stream = new MediaStream();
                const kinds = pc.getTransceivers();
                pc.ontrack = event => {
                    try { event.receiver.jitterBufferTarget = 0; } catch {}
                    try { event.receiver.playoutDelayHint = 0; } catch {}
                    // One element plays one audio track for certain; the second has its own.
                    if (event.transceiver === kinds[2] && stream.getAudioTracks().length) {
                        microphone.srcObject = new MediaStream([event.track]);
                    } else {
                        stream.addTrack(event.track);
                    }
                    if (event.track.kind === 'audio') { $('mute').hidden = false; offerSound(); }
                    if (video.srcObject !== stream) video.srcObject = stream;
                    play();
                };
                pc.onicecandidate = event => {
                    if (pc !== this.pc) return;
                    this.candidates.push(event.candidate && event.candidate.candidate ? event.candidate.candidate : null);
                    if (isHostCandidate(event)) this.hosts++;
                    if (!this.isInterrupted) this.usualHosts = Math.max(this.usualHosts, this.hosts);
                    this.trickle();
                };
                pc.oniceconnectionstatechange = () => { if (pc.iceConnectionState === 'disconnected' || pc.iceConnectionState === 'failed') this.suspect(); };
                pc.onconnectionstatechange = () => { if (pc === this.pc) this.connectionChanged(pc); };
                return pc;
            }

            async knock() {
                const body = {
                    name: this.name || 'Guest', fingerprint: encode(this.mine),
                    proof: encode(await proof('share v1 viewer', this.mine)),
                    key: encode(new Uint8Array(await crypto.subtle.exportKey('raw', this.keys.publicKey))),
                };
                let answer, location, four;
                for (let attempt = 0; ; attempt++) {
                    answer = await this.send('POST', `/${link.id}/knock`, body);
                    if (answer.status === 202) {
                        // The host chooses the nonce now, and asks nobody before the signature.
                        location = answer.headers.get('Location');
                        const nonce = decode((await answer.json()).nonce || '');
                        if (!location || nonce.length !== 16) throw new Stop('error', 'The host answered in an unknown way (no challenge).');
                        four = await fourWords(this.mine, nonce);
                        answer = await this.send('PUT', location, { signature: encode(await signature(this.keys, this.mine, nonce)) });
                    }
                    if (answer.status !== 429 && answer.status !== 503 || attempt >= 5) break;
                    show('connecting', 'The host is busy. Trying again in a moment ...');
                    await sleep(1000 * Math.min(Math.max(Number(answer.headers.get('Retry-After')) || 2, 1), 30));
                }
                if (answer.status === 404) throw new Stop('ended', ...oldLink, '');
                if (answer.status !== 204) throw await this.refusal(answer);
                this.place = location;
                root.dataset.words = four;
                show('waiting', 'Waiting for the host to let you in ...', 'The host sees your name, and the same four words.');
                $('four').textContent = four;
                let failures = 0;
                for (;;) {
                    let look;
                    try {
                        look = await this.fetch(location);
                        failures = 0;
                    } catch (error) {
                        if (this.isOver || ++failures > 4) throw error;
                        await sleep(500 * failures);
                        continue;
                    }
                    if (look.status === 202) { await sleep(50); continue; }
                    if (look.status === 429 || look.status === 503) { await sleep(2000); continue; }
                    this.place = null;
                    if (look.status === 200) return await look.json();
                    // Phones stop pages that are not seen, as while their owner tells the words, and a knock that nobody polls is
                    // withdrawn. A poll within a minute brings it back with the same words; later it is another knock.
                    if (look.status === 410 && (await problemOf(look.clone())).type === 'not-found') {
                        if (document.hidden) await new Promise(done => document.addEventListener('visibilitychange', done, { once: true }));
                        return this.knock();
                    }
                    throw await this.refusal(look);
                }
            }

            // Why a knock, or the wait for its answer, has come to its end.
            async refusal(answer) {
                const { reason, type } = await problemOf(answer), seconds = Number(answer.headers.get('Retry-After')) || 0;
                // What was signed names the link's host, so another one finds it wrong.
                if (type === 'wrong-signature') return anotherHost();
                if (type === 'wrong-proof') return new Stop('refused', 'This link is not right.', 'A character after the # is wrong: copy the whole link once more.', '');
                if (type === 'ended') return new Stop('ended', sentence(reason, 'The host has stopped sharing.'), newLink, '');
                if (type === 'unanswered') return new Stop('ended', sentence(reason, 'Nobody has answered.'), 'Tell them in another way that you are here, and ask again.', 'Ask again');
                if (answer.status === 429 || answer.status === 503) return new Stop('error', sentence(reason, 'The host has too many visitors at the moment.'), wait, 'Try again', seconds);
                if (answer.status === 403) {
                    return new Stop('refused', sentence(reason, 'The host has refused.'), '', 'Ask again', seconds);
                }
                if (answer.status === 404 || answer.status === 410) return new Stop('ended', sentence(reason, 'Nobody has answered.'), wait, 'Ask again');
                return new Stop('error', `The host answered in an unknown way (${answer.status}).`, sentence(reason, wait));
            }
        """##
}
