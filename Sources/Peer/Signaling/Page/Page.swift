/// What a browser gets under a link: a page, its script and its style, each from one address, nothing from elsewhere.
///
/// It works under `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src 'self' blob:`.
/// The page tells its state in `document.documentElement.dataset.state`: `asking` (for the name), `waiting`, `connecting`,
/// `playing`, `refused`, `ended` or `error`; `dataset.outage` is there while nothing comes from the host.
enum ViewerPage {
    /// Served under `/ID`; `text/html`.
    static let html = document(
        title: "share", script: #"<script src="/_/page.js" defer></script>"#,
        body: ##"""
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
            <p id="hint"></p>
            <form id="form" hidden>
            <div id="naming">
            <label for="name">Your name, for the host to see</label>
            <input id="name" maxlength="64" autocomplete="name" placeholder="Guest">
            </div>
            <button type="submit" id="watch">Ask to watch</button>
            </form>
            <button id="cancel" type="button" hidden>Stop asking</button>
            <noscript>Watching needs JavaScript, and it is switched off in this browser.</noscript>
            </section>
            <div id="head">
            <div id="notice" hidden><span id="said" role="status"></span><span id="since" aria-hidden="true"></span></div>
            <dl id="statistics" hidden></dl>
            </div>
            <div id="foot">
            <button id="sound" type="button" hidden>Click for sound</button>
            <nav id="bar" hidden>
            <span id="live">Live</span>
            <span id="count"></span>
            <button id="mute" type="button" title="Sound on or off (M)" hidden>Mute</button>
            <button id="full" type="button" title="Full screen (F)">Full screen</button>
            <button id="stats" type="button" title="Statistics (S)">Statistics</button>
            <button id="leave" type="button" title="Stop watching">Leave</button>
            </nav>
            </div>
            """##)

    /// Served under `/`; `text/html`.
    static let front = plain(
        "A screen is shared from this computer.", "To watch it, open the whole link that its owner gave you.")

    /// Served under the address of a broadcast that is not there; `text/html`.
    static let oldLink = plain(
        sentence(SignalingError.oldLink.description), sentence(SignalingError.oldLink.remedy))

    /// Served under any other address; `text/html`.
    static let nothing = plain(
        "There is nothing here.", "To watch a screen, open the whole link that its owner gave you.")

    /// A page with two sentences and no script.
    private static func plain(_ status: String, _ hint: String) -> String {
        document(
            title: "share", script: "",
            body: """
                <section id="panel">
                <p id="status">\(status)</p>
                <p id="hint">\(hint)</p>
                </section>
                """)
    }

    private static func document(title: String, script: String, body: String) -> String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
        <meta name="referrer" content="no-referrer">
        <meta name="robots" content="noindex">
        <meta name="color-scheme" content="dark">
        <title>\(title)</title>
        <link rel="icon" href="/favicon.ico" type="image/svg+xml">
        <link rel="stylesheet" href="/_/page.css">
        \(script)
        </head>
        <body>
        <main id="stage">
        \(body)
        </main>
        </body>
        </html>
        """
    }

    /// With a capital letter and a full stop.
    static func sentence(_ words: String) -> String { words.prefix(1).uppercased() + words.dropFirst() + "." }
}
