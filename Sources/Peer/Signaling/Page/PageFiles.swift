import HTTP
import Identifiers
import Identity
import MediaCore
internal import ViewerPage

/// The files that a browser gets under a link: a page, its script and its style, each from one address.
///
/// They are the files of `Sources/Peer/ViewerPage/Page`, in which words in double braces are replaced. The page works
/// under `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src 'self' blob:`, with
/// `manifest-src 'self'` for its installation; `script-src` is for its worker, too. The page shows its state in
/// `document.documentElement.dataset.state`: `asking` (for the name), `waiting`, `connecting`, `playing`, `refused`,
/// `ended` or `error`; `dataset.outage` is set while nothing arrives from the host.
enum PageFiles {
    /// Served under `/ID`; `text/html`.
    /// - Parameter name: of the broadcast, which a publisher has chosen; nil if it is unknown.
    static func viewer(of name: String?) -> String {
        let name = escaped(UntrustedText.clean(name ?? "", fallback: ""))
        return filled(
            viewerTemplate,
            ["title": name.isEmpty ? "share" : name + " - share", "name": name, "base": "", "viewer": ""])
    }

    /// Served by a ``LocalPageServer``; `text/html`.
    /// - Parameters:
    ///   - base: what all its paths begin with.
    ///   - viewer: the name that is proposed.
    static func localViewer(base: String, viewer: String) -> String {
        let viewer = escaped(UntrustedText.clean(viewer, fallback: ""))
        return filled(localTemplate, ["title": "share", "name": "", "viewer": viewer, "base": base])
    }

    private static let localTemplate = ["/_/", "/favicon.ico"].reduce(viewerTemplate) {
        $0.replacing("=\"\($1)", with: "=\"{{base}}\($1)")
    }

    /// Of all pages: their own script and style alone, and no framing.
    static let contentSecurityPolicy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src 'self' blob:; \
        img-src 'self' data:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    private static let viewerTemplate = String(cString: viewerPageDocument())

    /// Served under `/`; `text/html`.
    static let front = String(cString: frontPageDocument())

    /// Served under `/_/front.js`; `text/javascript`.
    static let frontScript = joined(String(cString: frontPageScript()))

    /// Served under `/` of a relay with a directory; `text/html`.
    static let directory = String(cString: directoryPageDocument())

    /// Served under `/_/directory.js`; `text/javascript`.
    static let directoryScript = joined(String(cString: directoryPageScript()))

    /// Served under `/_/directory.css`; `text/css`.
    static let directoryStyle = String(cString: directoryPageStyle())

    /// Served under the address of an unknown broadcast; `text/html`.
    static let oldLink = message(oldLinkSentences.what, oldLinkSentences.remedy)

    /// Served under any other address; `text/html`.
    static let nothing = message(
        "There is nothing here.", "To watch a screen, open the whole link that its owner gave you.")

    /// Served under `/_/page.js`; `text/javascript`.
    /// - Parameter server: the fingerprint of its certificate.
    static func script(of server: [UInt8]) -> String {
        filled(scriptTemplate, ["serverFingerprint": Base64URL.encode(server)])
    }

    private static let scriptTemplate = filled(
        joined(String(cString: viewerPageScript())),
        [
            "words": WordList.words.joined(separator: " "), "oldLink": oldLinkSentences.what,
            "oldLinkRemedy": oldLinkSentences.remedy,
        ])

    /// Served under `/_/seal-worker.js`; `text/javascript`.
    static let sealWorker = joined(String(cString: viewerPageWorker()))

    /// Served under `/_/page.css`; `text/css`.
    static let style = String(cString: viewerPageStyle())

    /// Served under `/favicon.ico`; `image/svg+xml`.
    static let icon = String(cString: viewerPageIcon())

    /// Served under `/_/maskable.svg`; `image/svg+xml`.
    static let maskableIcon = String(cString: viewerPageMaskableIcon())

    /// Served under `/_/touch-icon.png`; `image/png`.
    static let touchIcon: [UInt8] = {
        var count = 0
        let bytes = viewerPageTouchIcon(&count)
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }()

    /// Served under `/_/manifest.webmanifest`; `application/manifest+json`. Its start URL is `/`: it knows no link.
    static let manifest = String(cString: viewerPageManifest())

    private static let oldLinkSentences = (
        what: sentence(SignalingError.oldLink.description), remedy: sentence(SignalingError.oldLink.remedy)
    )

    /// A page with two sentences and no script.
    private static func message(_ status: String, _ hint: String) -> String {
        filled(String(cString: viewerPageMessage()), ["status": status, "hint": hint])
    }

    /// Joins modules that stand one after the other into one script by leaving out imports and exports. Each module
    /// would cost a request, and a request without a token costs a connection of its own (``SignalingServerState``).
    private static func joined(_ modules: String) -> String {
        var isInImport = false
        var lines: [Substring] = []
        for line in modules.split(separator: "\n") {
            if line.hasPrefix("import ") { isInImport = true }
            if isInImport {
                isInImport = !line.hasSuffix(";")
            } else {
                lines.append(line.hasPrefix("export ") ? line.dropFirst("export ".count) : line)
            }
        }
        return "'use strict';\n(() => {\n" + lines.joined(separator: "\n") + "\n})();\n"
    }

    /// The text as HTML, also for the value of an attribute.
    private static func escaped(_ text: String) -> String {
        [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")].reduce(text) {
            $0.replacing($1.0, with: $1.1)
        }
    }

    /// - Parameter values: for `{{name}}`; inserted unchanged.
    private static func filled(_ template: String, _ values: [String: String]) -> String {
        values.reduce(template) { $0.replacing("{{\($1.key)}}", with: $1.value) }
    }

    /// Returns the words with a capital letter and a full stop.
    private static func sentence(_ words: String) -> String { words.prefix(1).uppercased() + words.dropFirst() + "." }
}
