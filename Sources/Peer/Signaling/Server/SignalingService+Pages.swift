import HTTPTypes

extension SignalingService {
    /// The content security policy: only the host's own script and style, and no framing.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src 'self' blob:; \
        img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    func icon(_ call: Call) -> Reply { get(call) { Reply(.ok, type: "image/svg+xml", PageFiles.icon) } }

    func page(_ call: Call) -> Reply { get(call) { page(.ok, PageFiles.viewer) } }

    func frontPage(_ call: Call) -> Reply { get(call) { page(.ok, PageFiles.front) } }

    /// The response for an unknown address: a page for browsers, a problem document for programs.
    func nothing(_ call: Call, isBroadcast: Bool) -> Reply {
        guard call.method == .get || call.method == .head, call.headers[.accept]?.contains("text/html") == true else {
            return notFound
        }
        return page(.notFound, isBroadcast ? PageFiles.oldLink : PageFiles.nothing)
    }

    private func page(_ status: HTTPResponse.Status, _ html: String) -> Reply {
        Reply(status, type: "text/html; charset=utf-8", html)
            .with(.contentSecurityPolicy, Self.policy).with(Header.openerPolicy, "same-origin")
    }

    func asset(_ call: Call) -> Reply {
        switch call.path.last {
        case "page.js": get(call) { Reply(.ok, type: "text/javascript; charset=utf-8", PageFiles.script) }
        case "page.css": get(call) { Reply(.ok, type: "text/css; charset=utf-8", PageFiles.style) }
        default: notFound
        }
    }
}
