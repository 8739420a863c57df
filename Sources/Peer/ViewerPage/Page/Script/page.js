// In place of the words in braces the server puts its own (see PageFiles).
const words = '{{words}}'.split(' ');
const oldLink = ['{{oldLink}}', '{{oldLinkRemedy}}'];

'use strict';
(() => {
const $ = id => document.getElementById(id);
const root = document.documentElement;
const stage = $('stage'), video = $('video'), still = $('still'), microphone = $('microphone');
const text = new TextEncoder();
const sleep = milliseconds => new Promise(done => setTimeout(done, milliseconds));
const wait = 'You can keep this page open and try again.';
const newLink = 'This link leads nowhere any more. If there is more to see, ask the host for a new one.';

// What a person is told when watching stops or does not start, and what they can do then (see `offer`).
class Stop extends Error {
    constructor(state, sentence, hint, next, seconds) {
        super(sentence);
        this.state = state;
        this.hint = hint || '';
        this.next = next === undefined ? 'Try again' : next;
        this.seconds = seconds || 0;
    }
}

function show(state, sentence, hint) {
    root.dataset.state = state;
    $('status').textContent = sentence;
    $('hint').textContent = hint || '';
    $('form').hidden = true;
    $('spinner').hidden = state !== 'connecting' && state !== 'waiting';
    $('words').hidden = $('cancel').hidden = state !== 'waiting';
    $('bar').hidden = state !== 'playing';
    if (state !== 'playing') $('notice').hidden = true;
    offerSound();
}

let offerTimer = 0;

// The button under a sentence; without `next` there is none. It can be pressed in `seconds`, and says so.
function offer(next, seconds) {
    clearInterval(offerTimer);
    $('form').hidden = !next || !link;
    // Who was let in already is not asked for a name again.
    $('naming').hidden = Boolean(admission);
    const from = performance.now() + 1000 * seconds;
    const tick = () => {
        const left = Math.ceil((from - performance.now()) / 1000);
        $('watch').disabled = left > 0;
        $('watch').textContent = left > 0 ? `${next} in ${left} s` : next;
        if (left <= 0) clearInterval(offerTimer);
    };
    offerTimer = setInterval(tick, 250);
    tick();
}

// What is read aloud does not change each second.
function notice(sentence, since) {
    $('notice').hidden = !sentence;
    if ($('said').textContent !== sentence) $('said').textContent = sentence;
    $('since').textContent = since || '';
}

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
    const id = location.pathname.split('/')[1].toUpperCase().replace(/O/g, '0').replace(/[IL]/g, '1');
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

// The one SHA-256 fingerprint that a description names; null if there is none, one that cannot be read, or two that
// differ. Those of other hashes may stand beside it (RFC 8122, section 5).
function fingerprint(sdp) {
    let found = null;
    for (const line of sdp.split(/[\r\n]+/)) {
        if (!/^a=fingerprint:\s*sha-256\s/i.test(line)) continue;
        const match = /^a=fingerprint:sha-256 ((?:[0-9a-f]{2}:){31}[0-9a-f]{2})\s*$/i.exec(line);
        if (!match) return null;
        const bytes = Uint8Array.from(match[1].split(':'), pair => parseInt(pair, 16));
        if (found && !equal(found, bytes)) return null;
        found = bytes;
    }
    return found;
}

// Without the fingerprints that neither link nor proof covers: the browser might hold the host to one of them instead.
function onlySHA256(sdp) {
    return sdp.split(/[\r\n]+/).filter(line => !/^a=fingerprint/i.test(line) || /^a=fingerprint:sha-256 /i.test(line)).join('\r\n');
}

async function fourWords(mine, nonce) {
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', join(text.encode('share v1 words'), mine, link.host, nonce)));
    return [0, 1, 2, 3].map(i => words[(digest[2 * i] << 8 | digest[2 * i + 1]) % 256]).join(' ');
}

// Signs a host's challenge: 64 bytes r | s.
async function signature(keys, mine, nonce) {
    const message = join(text.encode('share v1 knock'), text.encode(link.id), link.host, mine, nonce);
    return new Uint8Array(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, keys.privateKey, message));
}

// --- who this browser is: one certificate for this origin, which is the host's address and port, and a key that signs
// knocks, as a page cannot sign with its certificate's key

const day = 86400000, lifetime = 365 * day;
let own = null;

function openStore() {
    return new Promise((done, fail) => {
        const request = indexedDB.open('share', 1);
        request.onupgradeneeded = () => request.result.createObjectStore('identity');
        request.onsuccess = () => done(request.result);
        request.onerror = request.onblocked = () => fail(request.error);
    });
}

async function makeIdentity() {
    const kind = { name: 'ECDSA', namedCurve: 'P-256' };
    const [certificate, { privateKey, publicKey }] = await Promise.all([
        RTCPeerConnection.generateCertificate({ ...kind, expires: lifetime }),
        crypto.subtle.generateKey(kind, false, ['sign']),
    ]);
    return { certificate, keys: { privateKey, publicKey } };
}
const isUsable = identity => Boolean(identity && identity.certificate instanceof RTCCertificate
    && identity.keys && identity.keys.privateKey instanceof CryptoKey && identity.certificate.expires > Date.now() + day);

// What is kept in `store`, or else a new one, which is then kept there.
async function keptIdentity(store) {
    const look = all => new Promise((done, fail) => {
        const request = all.get('own');
        request.onsuccess = () => done(request.result);
        request.onerror = () => fail(request.error);
    });
    const kept = await look(store.transaction('identity').objectStore('identity'));
    if (isUsable(kept)) return { ...kept, isKept: true };
    const made = await makeIdentity();
    return new Promise((done, fail) => {
        const transaction = store.transaction('identity', 'readwrite'), all = transaction.objectStore('identity');
        let identity = made;
        // Another tab may have been faster.
        const request = all.get('own');
        request.onsuccess = () => { if (isUsable(request.result)) identity = request.result; else all.put(made, 'own'); };
        transaction.oncomplete = () => done({ ...identity, isKept: true });
        transaction.onerror = transaction.onabort = () => fail(transaction.error);
    });
}

// Of this page alone where a browser keeps nothing, as in private windows.
async function ownIdentity() {
    if (isUsable(own)) return own;
    try {
        const limit = sleep(3000).then(() => { throw new Error('slow'); });
        own = await Promise.race([limit, openStore().then(store => keptIdentity(store).finally(() => store.close()))]);
    } catch { own = { ...await makeIdentity(), isKept: false }; }
    return own;
}

// --- the admission: the token, for the certificate of `mine`; in this tab, so that a reload asks nobody again

let admission = null;

const admissionKey = () => 'admission ' + link.id;
function recall() {
    try {
        const kept = JSON.parse(sessionStorage.getItem(admissionKey()));
        return kept && typeof kept.token === 'string' && typeof kept.mine === 'string' ? kept : null;
    } catch { return null; }
}
function remember(answer, mine) {
    admission = { token: answer.token, iceServers: answer.iceServers, mine: encode(mine) };
    if (own.isKept) keepOverReload();
}
function keepOverReload() { try { sessionStorage.setItem(admissionKey(), JSON.stringify(admission)); } catch {} }
function forgetOverReload() { try { sessionStorage.removeItem(admissionKey()); } catch {} }
function forget() {
    admission = null;
    forgetOverReload();
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
const anotherHost = () => new Stop('error', 'This is not the host that the link names.', 'Either the link is mistyped, or somebody in between pretends to be the host. Nothing was shown. Ask the host for the link again.', '');
async function reasonOf(answer) { return (await problemOf(answer)).reason; }

function sentence(words, fallback) {
    const plain = (words || '').trim();
    if (!plain) return fallback;
    const first = plain[0].toUpperCase() + plain.slice(1);
    return /[.!?]$/.test(first) ? first : first + '.';
}

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

class Visit {
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
}

// --- playing

// The browser wants a click before it makes a sound; or before it plays at all.
let isSilenced = false, isHeld = false;
function offerSound() {
    const hasSound = root.dataset.state === 'playing' && !$('mute').hidden;
    $('sound').hidden = !visit || visit.isOver || !(isHeld || isSilenced && hasSound);
    $('sound').textContent = isHeld ? 'Click to play' : 'Click for sound';
    // The same thing twice takes room.
    $('mute').classList.toggle('replaced', !$('sound').hidden);
}

function mute(isMuted) {
    video.muted = microphone.muted = isMuted;
    $('mute').textContent = isMuted ? 'Unmute' : 'Mute';
    if (!isMuted) isSilenced = isHeld = false;
    offerSound();
}

async function play() {
    try {
        await video.play();
        if (microphone.srcObject) await microphone.play();
    } catch (error) {
        if (error.name !== 'NotAllowedError' || video.muted) return;
        // Picture first.
        mute(true);
        isSilenced = true;
        offerSound();
        video.play().catch(error => { isHeld = error.name === 'NotAllowedError'; offerSound(); });
    }
}

// A live picture that stands is never wanted: Safari pauses it after full screen and behind other tabs.
function goOn() {
    if (visit && !visit.isOver && !document.hidden && video.srcObject && video.srcObject.active) play();
}
for (const element of [video, microphone]) element.addEventListener('pause', () => setTimeout(goOn));
document.addEventListener('visibilitychange', goOn);

function playing() {
    if (!visit || visit.isOver || !video.videoWidth || root.dataset.state === 'playing') return;
    visit.hasPlayed = true;
    show('playing', 'Playing');
    wake();
}
// The last picture, over a video that begins anew, until that has one of its own.
function freeze() {
    if (!video.videoWidth || !still.hidden) return;
    still.width = video.videoWidth;
    still.height = video.videoHeight;
    still.getContext('2d').drawImage(video, 0, 0);
    still.hidden = false;
}
video.addEventListener('loadeddata', () => { still.hidden = true; });
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
$('leave').onclick = () => {
    visit.end('ended', 'You have left.');
    forgetOverReload();
};
video.ondblclick = fullscreen;
// The focus that a pointer brought would keep the bar; a key's click has detail 0.
$('bar').addEventListener('click', event => { if (event.detail) document.activeElement.blur(); });
window.addEventListener('keydown', event => {
    if (event.target.tagName === 'INPUT' || event.ctrlKey || event.metaKey || event.altKey) return;
    if (root.dataset.state !== 'playing') return;
    const key = event.key.toLowerCase();
    if (key === 'f') fullscreen();
    if (key === 's') toggleStatistics();
    if (key === 'm' && !$('mute').hidden) sound(!video.muted);
});

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

// --- start

function remembered() { try { return localStorage.getItem('name') || ''; } catch { return ''; } }

// Nobody is asked anything before a person says so. The click also lets the browser play sound.
function ask() {
    show('asking', 'Somebody shares a screen with you.',
        'They see the name that you give here, and let you in. Nothing of your own screen, camera or microphone is shared.');
    offer('Ask to watch', 0);
    ($('name').value ? $('watch') : $('name')).focus();
}

function start(isAsked) {
    clearInterval(offerTimer);
    $('mute').hidden = true;
    visit = new Visit($('name').value.trim(), isAsked);
    visit.run();
}
$('form').onsubmit = event => {
    event.preventDefault();
    try { localStorage.setItem('name', $('name').value.trim()); } catch {}
    start(true);
};
$('cancel').onclick = () => { visit.giveUp(); ask(); };
window.addEventListener('pagehide', () => { if (visit) visit.leave(); });
window.addEventListener('pageshow', event => { if (event.persisted) location.reload(); });
window.addEventListener('hashchange', () => location.reload());

$('name').value = remembered();
try {
    link = readLink();
    admission = recall();
    if (admission) start(false); else ask();
} catch (stop) { show(stop.state || 'error', stop.message, stop.hint); }
})();
