extension ViewerPage {
    /// Served under `/_/page.js`; `text/javascript`.
    static let script = "const words = '" + WordList.words.joined(separator: " ") + "'.split(' ');\n" + program

    private static let program = ##"""
        'use strict';
        (() => {
        const $ = id => document.getElementById(id);
        const root = document.documentElement;
        const stage = $('stage'), video = $('video'), microphone = $('microphone');
        const text = new TextEncoder();
        const sleep = milliseconds => new Promise(done => setTimeout(done, milliseconds));
        const wait = 'You can keep this page open and try again.';

        // What a person is told when watching stops or does not start.
        class Stop extends Error {
            constructor(state, sentence, hint) { super(sentence); this.state = state; this.hint = hint || ''; }
        }

        function show(state, sentence, hint) {
            root.dataset.state = state;
            $('status').textContent = sentence;
            $('hint').textContent = hint || '';
            const isOver = state !== 'waiting' && state !== 'connecting' && state !== 'playing';
            $('form').hidden = !isOver || !link;
            $('spinner').hidden = isOver || state === 'playing';
            $('words').hidden = state !== 'waiting';
            $('bar').hidden = state !== 'playing';
            if (state !== 'playing') { $('sound').hidden = true; $('notice').hidden = true; }
        }

        function notice(sentence) { $('notice').textContent = sentence; $('notice').hidden = !sentence; }

        // --- bytes

        function encode(bytes) {
            return btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
        }
        function decode(code) {
            const raw = atob(code.replace(/-/g, '+').replace(/_/g, '/'));
            return Uint8Array.from(raw, letter => letter.charCodeAt(0));
        }
        function join(...parts) {
            const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
            let at = 0;
            for (const part of parts) { all.set(part, at); at += part.length; }
            return all;
        }
        function equal(a, b) {
            let difference = a.length ^ b.length;
            for (let i = 0; i < a.length && i < b.length; i++) difference |= a[i] ^ b[i];
            return difference === 0;
        }

        // --- the link: base64url of 0x01 | secret (16 bytes) | SHA-256 of the host's certificate (32 bytes)

        function readLink() {
            const id = location.pathname.slice(1).toUpperCase().replace(/O/g, '0').replace(/[IL]/g, '1');
            const fragment = location.hash.slice(1);
            const again = 'Ask the host for the link, or copy it once more.';
            if (!fragment) throw new Stop('error', 'This link lacks its last part, the one after #.', again);
            if (/[^A-Za-z0-9_-]/.test(fragment)) throw new Stop('error', 'This link is mistyped: it has a character that no link has.', again);
            if (fragment.length < 66) {
                const missing = 66 - fragment.length;
                throw new Stop('error', `This link is cut off: ${missing} character${missing === 1 ? '' : 's'} missing at its end.`, again);
            }
            if (fragment.length > 66) throw new Stop('error', 'This link is mistyped: it is too long.', again);
            const bytes = decode(fragment + '==');
            if (bytes.length !== 49 || encode(bytes) !== fragment) throw new Stop('error', 'This link is mistyped near its end.', again);
            if (bytes[0] !== 1) throw new Stop('error', 'This link is mistyped, or made by a newer version of share.', again);
            return { id, secret: bytes.slice(1, 17), host: bytes.slice(17) };
        }

        async function proof(info, ...message) {
            const material = await crypto.subtle.importKey('raw', link.secret, 'HKDF', false, ['deriveKey']);
            const key = await crypto.subtle.deriveKey(
                { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: text.encode(info) }, material,
                { name: 'HMAC', hash: 'SHA-256', length: 256 }, false, ['sign']);
            return new Uint8Array(await crypto.subtle.sign('HMAC', key, join(text.encode(link.id), ...message)));
        }

        // The one SHA-256 fingerprint that a description names; null if there is none, another kind, or two that differ.
        function fingerprint(sdp) {
            let found = null;
            for (const line of sdp.split(/[\r\n]+/)) {
                if (!/^a=fingerprint/i.test(line)) continue;
                const match = /^a=fingerprint:sha-256 ((?:[0-9a-f]{2}:){31}[0-9a-f]{2})\s*$/i.exec(line);
                if (!match) return null;
                const bytes = Uint8Array.from(match[1].split(':'), pair => parseInt(pair, 16));
                if (found && !equal(found, bytes)) return null;
                found = bytes;
            }
            return found;
        }

        async function fourWords(mine) {
            const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', mine));
            return [0, 1, 2, 3].map(i => words[(digest[2 * i] << 8 | digest[2 * i + 1]) % 256]).join(' ');
        }

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
        async function reasonOf(answer) { return (await problemOf(answer)).reason; }

        function sentence(words, fallback) {
            const plain = (words || '').trim();
            if (!plain) return fallback;
            const first = plain[0].toUpperCase() + plain.slice(1);
            return /[.!?]$/.test(first) ? first : first + '.';
        }

        class Visit {
            constructor(name) {
                this.name = name;
                this.abort = new AbortController();
                this.candidates = [];
                this.resource = null;
                this.etag = null;
                this.isOver = false;
            }

            async fetch(path, options) {
                try {
                    return await fetch(path, { cache: 'no-store', signal: this.abort.signal, redirect: 'error', ...options });
                } catch (error) {
                    if (this.isOver) throw error;
                    throw new Stop('error', 'The host cannot be reached.', 'It may have stopped sharing, or the network is down. ' + wait);
                }
            }

            async run() {
                try {
                    if (!window.isSecureContext || !window.crypto || !crypto.subtle) throw new Stop('error', 'This page has to be opened over https.');
                    if (!window.RTCPeerConnection) throw new Stop('error', 'This browser cannot play shared screens: WebRTC is missing or switched off.');
                    show('connecting', 'Calling the host ...');
                    const pc = this.pc = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
                    this.prepare(pc);
                    const first = await pc.createOffer();
                    this.mine = fingerprint(first.sdp);
                    if (!this.mine) throw new Stop('error', 'This browser made no certificate that the host can check.');
                    const admission = await this.knock();
                    if (this.isOver) return;
                    show('connecting', 'The host has let you in. Connecting ...');
                    await this.connect(pc, admission);
                } catch (error) {
                    if (this.isOver) return;
                    if (error instanceof Stop) this.end(error.state, error.message, error.hint);
                    else this.end('error', 'Something went wrong in this page: ' + (error && error.message || error), wait);
                }
            }

            prepare(pc) {
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
                    if (event.track.kind === 'audio') $('mute').hidden = false;
                    if (video.srcObject !== stream) video.srcObject = stream;
                    play();
                };
                pc.onicecandidate = event => {
                    this.candidates.push(event.candidate && event.candidate.candidate ? event.candidate.candidate : null);
                    this.trickle();
                };
                pc.onconnectionstatechange = () => this.connectionChanged();
            }

            async knock() {
                const body = {
                    name: this.name || 'Guest', fingerprint: encode(this.mine),
                    proof: encode(await proof('share v1 viewer', this.mine)), kind: 'browser',
                };
                const four = await fourWords(this.mine);
                let answer;
                for (let attempt = 0; ; attempt++) {
                    answer = await this.fetch(`/${link.id}/knock`, {
                        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
                    });
                    if (answer.status !== 429 && answer.status !== 503 || attempt >= 5) break;
                    show('connecting', 'The host is busy. Trying again in a moment ...');
                    await sleep(1000 * Math.min(Math.max(Number(answer.headers.get('Retry-After')) || 2, 1), 30));
                }
                if (answer.status === 404) throw new Stop('ended', 'Nobody shares a screen under this link any more.', 'Ask the host for a new link.');
                if (answer.status === 401) throw new Stop('refused', 'This link is not right.', 'A character may be wrong: copy it once more.');
                if (answer.status === 410) throw new Stop('ended', sentence(await reasonOf(answer), 'The host has stopped sharing.'));
                if (answer.status === 429 || answer.status === 503) throw new Stop('error', 'The host has too many visitors at the moment.', wait);
                if (answer.status === 403) {
                    const problem = await problemOf(answer);
                    if (problem.type === 'wrong-proof') throw new Stop('refused', 'This link is not right.', 'A character of it is wrong, or it is an old one: copy it once more.');
                    throw new Stop('refused', sentence(problem.reason, 'The host has refused.'));
                }
                if (answer.status !== 202 && answer.status !== 200) throw new Stop('error', `The host answered in an unknown way (${answer.status}).`, sentence(await reasonOf(answer), ''));
                const location = answer.headers.get('Location');
                if (!location) throw new Stop('error', 'The host answered in an unknown way (no place to wait).');
                this.place = location;
                $('four').textContent = four;
                root.dataset.words = four;
                show('waiting', 'Waiting for the host to let you in ...', 'The host sees your name, and the same four words.');
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
                    if (look.status !== 202) this.place = null;
                    if (look.status === 200) return await look.json();
                    if (look.status === 403) throw new Stop('refused', sentence(await reasonOf(look), 'The host has refused.'));
                    const reason = await reasonOf(look);
                    if (look.status === 410) throw new Stop('ended', sentence(reason, 'Nobody has answered.'), wait);
                    if (look.status === 404) throw new Stop('ended', 'Nobody has answered.', wait);
                    throw new Stop('error', `The host answered in an unknown way (${look.status}).`, sentence(reason, ''));
                }
            }

            async connect(pc, admission) {
                if (typeof admission.token !== 'string') throw new Stop('error', 'The host answered in an unknown way (no token).');
                this.bearer = { Authorization: 'Bearer ' + admission.token };
                if (Array.isArray(admission.iceServers) && admission.iceServers.length) {
                    try { pc.setConfiguration({ bundlePolicy: 'max-bundle', iceServers: admission.iceServers }); } catch {}
                }
                const offer = await pc.createOffer();
                // Without this a browser plays Opus in mono.
                const stereo = offer.sdp.replace(/(a=fmtp:\d+ minptime=10;useinbandfec=1)(?=\r?\n)/g, '$1;stereo=1');
                try { await pc.setLocalDescription({ type: 'offer', sdp: stereo }); } catch { await pc.setLocalDescription(offer); }
                const sdp = pc.localDescription.sdp;
                const now = fingerprint(sdp);
                if (!now || !equal(now, this.mine)) throw new Stop('error', 'This browser has changed its certificate meanwhile.', wait);
                this.ufrag = /^a=ice-ufrag:(.*?)\s*$/m.exec(sdp)[1];
                this.password = /^a=ice-pwd:(.*?)\s*$/m.exec(sdp)[1];

                const answer = await this.fetch(`/${link.id}/whep`, {
                    method: 'POST', headers: { 'Content-Type': 'application/sdp', ...this.bearer }, body: sdp,
                });
                if (answer.status === 409 || answer.status === 404 || answer.status === 410) throw new Stop('ended', sentence(await reasonOf(answer), 'The host has stopped sharing.'));
                if (answer.status === 401 || answer.status === 403) throw new Stop('refused', sentence(await reasonOf(answer), 'The host has refused this connection.'));
                if (answer.status !== 201) throw new Stop('error', `The host could not start the broadcast (${answer.status}).`, sentence(await reasonOf(answer), ''));
                this.resource = answer.headers.get('Location');
                this.etag = answer.headers.get('ETag');
                const remote = await answer.text();

                // Before any media key exists: the certificate is the link's, and whoever answered knows the link's secret.
                const host = fingerprint(remote);
                const claimed = answer.headers.get('Share-Proof') || '';
                const expected = encode(await proof('share v1 host', this.mine, link.host));
                if (!host || !equal(host, link.host) || !equal(text.encode(claimed), text.encode(expected))) {
                    throw new Stop('error', 'This is not the host that the link names.', 'Either the link is mistyped, or somebody in between pretends to be the host. Nothing was shown. Ask the host for the link again.');
                }
                if (this.isOver) return this.leave();
                const name = (/^s=(.*)$/m.exec(remote) || [])[1];
                if (name && name.trim() !== '-') document.title = name.trim().slice(0, 64);
                await pc.setRemoteDescription({ type: 'answer', sdp: remote });
                this.hasAnswer = true;
                this.trickle();
                this.listen();
                setTimeout(() => {
                    if (this.isOver || pc.connectionState === 'connected') return;
                    show('connecting', 'Still connecting ...', 'The two networks do not let each other through easily.');
                }, 6000);
            }

            async trickle() {
                if (!this.hasAnswer || !this.resource || this.isTrickling) return;
                this.isTrickling = true;
                while (this.candidates.length && !this.isOver) {
                    const found = this.candidates.splice(0, 40);
                    const lines = [`a=ice-ufrag:${this.ufrag}`, `a=ice-pwd:${this.password}`, 'm=video 9 UDP/TLS/RTP/SAVPF 0', `a=mid:${this.pc.getTransceivers()[0].mid}`];
                    for (const candidate of found) lines.push(candidate === null ? 'a=end-of-candidates' : 'a=' + candidate);
                    const headers = { 'Content-Type': 'application/trickle-ice-sdpfrag', ...this.bearer };
                    if (this.etag) headers['If-Match'] = this.etag;
                    try {
                        const answer = await fetch(this.resource, { method: 'PATCH', headers, body: lines.join('\r\n') + '\r\n', signal: this.abort.signal });
                        // A server that takes no candidates finds ours by their checks.
                        if (answer.status === 405 || answer.status === 501) this.candidates = [];
                    } catch { await sleep(300); }
                }
                this.isTrickling = false;
            }

            // What the host says meanwhile: server-sent events, by fetch, as EventSource has no headers.
            async listen() {
                let failures = 0;
                while (!this.isOver) {
                    try {
                        const answer = await fetch(`/${link.id}/events`, { headers: { Accept: 'text/event-stream', ...this.bearer }, cache: 'no-store', signal: this.abort.signal });
                        if (answer.status === 404 || answer.status === 410 || answer.status === 401) return this.hostIsGone('The host has stopped sharing.');
                        if (answer.ok && answer.body) {
                            failures = 0;
                            await this.read(answer.body.getReader());
                        } else { failures++; }
                    } catch { failures++; }
                    if (this.isOver) return;
                    if (failures && !await this.isReceiving()) return this.hostIsGone('The connection to the host is lost.');
                    await sleep(Math.min(300 * (failures + 1), 5000));
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
                    this.end('ended', sentence(message.reason, 'The host has stopped sharing.'));
                } else if (message.type === 'viewercount') {
                    const count = Number(message.count ?? message.viewercount ?? message.viewerCount) || 0;
                    root.dataset.viewers = count;
                    $('count').textContent = count > 1 ? `${count} watching` : '';
                }
            }

            // Whether anything comes from the host, within three seconds: a still screen sends its reports at least.
            async isReceiving() {
                const bytes = async () => {
                    let sum = 0;
                    for (const entry of (await this.pc.getStats()).values()) {
                        if (entry.type === 'candidate-pair') sum += (entry.bytesReceived || 0) + (entry.responsesReceived || 0);
                    }
                    return sum;
                };
                try {
                    const before = await bytes();
                    for (let second = 0; second < 3 && !this.isOver; second++) {
                        await sleep(1000);
                        if (await bytes() !== before) return true;
                    }
                } catch {}
                return false;
            }

            connectionChanged() {
                const state = this.pc.connectionState;
                if (this.isOver) return;
                if (state === 'connected') {
                    notice('');
                    for (const receiver of this.pc.getReceivers()) {
                        if (!receiver.transport) continue;
                        receiver.transport.onstatechange = () => {
                            if (receiver.transport.state === 'closed') this.hostIsGone('The host has ended the connection.');
                        };
                    }
                } else if (state === 'disconnected') {
                    notice('The network stutters: this is the last picture that arrived.');
                } else if (state === 'failed') {
                    if (root.dataset.state === 'playing') this.end('ended', 'The connection to the host is lost.', wait);
                    else this.end('error', 'No way to the host was found.', 'A firewall or the router of one side blocks it. Try from the same network, or ask the host about a relay.');
                } else if (state === 'closed') {
                    this.hostIsGone('The host has ended the connection.');
                }
            }

            leave() {
                if (this.place) {
                    fetch(this.place, { method: 'DELETE', keepalive: true }).catch(() => {});
                    this.place = null;
                }
                if (this.resource) {
                    fetch(this.resource, { method: 'DELETE', headers: this.bearer, keepalive: true }).catch(() => {});
                    this.resource = null;
                }
            }

            end(state, words, hint) {
                if (this.isOver) return;
                this.isOver = true;
                this.leave();
                this.abort.abort();
                if (this.pc) this.pc.close();
                if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
                video.srcObject = null;
                microphone.srcObject = null;
                delete root.dataset.viewers;
                $('watch').textContent = 'Watch again';
                show(state, words, hint);
            }
        }

        // --- playing

        function mute(isMuted) {
            video.muted = microphone.muted = isMuted;
            $('mute').textContent = isMuted ? 'Unmute' : 'Mute';
            if (!isMuted) $('sound').hidden = true;
        }

        async function play() {
            try {
                await video.play();
                if (microphone.srcObject) await microphone.play();
            } catch (error) {
                if (error.name !== 'NotAllowedError' || video.muted) return;
                // The browser wants a click before it makes a sound: picture first.
                mute(true);
                $('sound').hidden = false;
                video.play().catch(() => {});
            }
        }

        function playing() {
            if (!visit || visit.isOver || !video.videoWidth || root.dataset.state === 'playing') return;
            show('playing', 'Playing');
            wake();
        }
        video.addEventListener('playing', playing);
        video.addEventListener('loadeddata', playing);
        video.addEventListener('resize', playing);

        let sleepTimer = 0;
        function wake() {
            stage.classList.remove('idle');
            clearTimeout(sleepTimer);
            sleepTimer = setTimeout(() => stage.classList.toggle('idle', root.dataset.state === 'playing'), 3000);
        }
        for (const kind of ['pointermove', 'pointerdown', 'keydown', 'focusin']) window.addEventListener(kind, wake);

        function fullscreen() {
            if (document.fullscreenElement) document.exitFullscreen();
            else if (stage.requestFullscreen) stage.requestFullscreen().catch(() => {});
            else if (video.webkitEnterFullscreen) video.webkitEnterFullscreen();
        }
        document.addEventListener('fullscreenchange', () => {
            $('full').textContent = document.fullscreenElement ? 'Leave full screen' : 'Full screen';
        });
        function sound(isMuted) {
            mute(isMuted);
            video.play().catch(() => {});
            if (microphone.srcObject) microphone.play().catch(() => {});
        }
        $('mute').onclick = () => sound(!video.muted);
        $('sound').onclick = () => sound(false);
        $('full').onclick = fullscreen;
        $('leave').onclick = () => visit.end('ended', 'You have left.');
        video.ondblclick = fullscreen;
        window.addEventListener('keydown', event => {
            if (event.target.tagName === 'INPUT' || event.ctrlKey || event.metaKey || event.altKey) return;
            if (root.dataset.state !== 'playing') return;
            if (event.key === 'f') fullscreen();
            if (event.key === 'm' && !$('mute').hidden) sound(!video.muted);
        });

        // --- start

        function remembered() { try { return localStorage.getItem('name') || ''; } catch { return ''; } }

        function start() {
            $('mute').hidden = true;
            visit = new Visit($('name').value.trim());
            visit.run();
        }
        $('form').onsubmit = event => {
            event.preventDefault();
            try { localStorage.setItem('name', $('name').value.trim()); } catch {}
            start();
        };
        window.addEventListener('pagehide', () => { if (visit) visit.leave(); });
        window.addEventListener('pageshow', event => { if (event.persisted) location.reload(); });
        window.addEventListener('hashchange', () => location.reload());

        $('name').value = remembered();
        try {
            link = readLink();
            start();
        } catch (stop) { show(stop.state || 'error', stop.message, stop.hint); }
        })();
        """##
}
