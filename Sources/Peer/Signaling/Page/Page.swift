/// What a browser gets under a link: a page, its script and its style, each from one address, nothing from elsewhere.
///
/// It works under `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src 'self' blob:`.
/// The page tells its state in `document.documentElement.dataset.state`: `waiting`, `connecting`, `playing`, `refused`,
/// `ended` or `error`; `dataset.outage` is there while nothing comes from the host.
enum ViewerPage {
    /// Served under `/ID`; `text/html`.
    static let html = ##"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
        <meta name="referrer" content="no-referrer">
        <meta name="robots" content="noindex">
        <meta name="color-scheme" content="dark">
        <title>share</title>
        <link rel="icon" href="/favicon.ico" type="image/svg+xml">
        <link rel="stylesheet" href="/_/page.css">
        <script src="/_/page.js" defer></script>
        </head>
        <body>
        <main id="stage">
        <video id="video" autoplay playsinline></video>
        <canvas id="still" hidden></canvas>
        <audio id="microphone" autoplay></audio>
        <section id="panel">
        <div id="spinner" hidden></div>
        <p id="status" role="status" aria-live="polite">One moment ...</p>
        <div id="words" role="status" hidden>
        <p>Tell the host these words:</p>
        <p id="four"></p>
        </div>
        <form id="form" hidden>
        <label for="name">Your name, for the host to see</label>
        <input id="name" maxlength="64" autocomplete="name" placeholder="Guest">
        <button type="submit" id="watch">Watch</button>
        </form>
        <p id="hint"></p>
        <noscript>Watching needs JavaScript, and it is switched off in this browser.</noscript>
        </section>
        <div id="notice" hidden><span id="said" role="status"></span><span id="since" aria-hidden="true"></span></div>
        <table id="statistics" hidden><tbody id="numbers"></tbody></table>
        <button id="sound" type="button" hidden>Click for sound</button>
        <nav id="bar" hidden>
        <span id="live">Live</span>
        <span id="count"></span>
        <button id="mute" type="button" title="Sound on or off (M)" hidden>Mute</button>
        <button id="full" type="button" title="Full screen (F)">Full screen</button>
        <button id="stats" type="button" title="Statistics (S)">Statistics</button>
        <button id="leave" type="button" title="Stop watching">Leave</button>
        </nav>
        </main>
        </body>
        </html>
        """##
}
