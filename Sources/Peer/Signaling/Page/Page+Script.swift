extension ViewerPage {
    /// Served under `/_/page.js`; `text/javascript`.
    static let script =
        "const words = '" + WordList.words.joined(separator: " ") + "'.split(' ');\n"
        + "const oldLink = ['\(sentence(SignalingError.oldLink.description))', '\(sentence(SignalingError.oldLink.remedy))'];\n"
        + [
            opening, linkScript, identityScript, admissionScript, visitScript, playerScript, statisticsScript, closing,
        ]
        .joined(separator: "\n\n")

    /// What all parts use: the words on the page, and bytes.
    private static let opening = ##"""
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
        """##

    /// The question for the name, and the first visit.
    private static let closing = ##"""
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
        """##
}
