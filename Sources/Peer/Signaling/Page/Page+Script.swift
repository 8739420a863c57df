extension ViewerPage {
    /// Served under `/_/page.js`; `text/javascript`.
    static let script =
        "const words = '" + WordList.words.joined(separator: " ") + "'.split(' ');\n"
        + [opening, linkScript, visitScript, playerScript, statisticsScript, closing].joined(separator: "\n\n")

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
            if (state !== 'playing') $('notice').hidden = true;
            offerSound();
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

    /// The name that was given last time, and the first visit.
    private static let closing = ##"""
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
