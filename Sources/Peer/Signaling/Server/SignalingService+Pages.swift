import HTTPTypes

extension SignalingService {
    /// The content security policy: only the host's own script and style, and no framing.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src 'self' blob:; \
        img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    /// An icon of a screen with an arrow, for light and dark tabs.
    private static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1d5fd1"/>\
        <g fill="none" stroke="#fff" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round">\
        <rect x="6" y="7" width="20" height="14" rx="2"/><path d="M12 26h8M16 21v5M16 17.5v-7m-3 3 3-3 3 3"/></g></svg>
        """

    func icon(_ call: Call) -> Reply { get(call) { Reply(.ok, type: "image/svg+xml", Self.icon) } }

    func page(_ call: Call) -> Reply { get(call) { page(.ok, ViewerPage.html) } }

    func frontPage(_ call: Call) -> Reply { get(call) { page(.ok, ViewerPage.front) } }

    /// The response for an unknown address: a page for browsers, a problem document for programs.
    func nothing(_ call: Call, isBroadcast: Bool) -> Reply {
        guard call.method == .get || call.method == .head, call.headers[.accept]?.contains("text/html") == true else {
            return notFound
        }
        return page(.notFound, isBroadcast ? ViewerPage.oldLink : ViewerPage.nothing)
    }

    private func page(_ status: HTTPResponse.Status, _ html: String) -> Reply {
        Reply(status, type: "text/html; charset=utf-8", html)
            .with(.contentSecurityPolicy, Self.policy).with(Header.openerPolicy, "same-origin")
    }

    func asset(_ call: Call) -> Reply {
        switch call.path.last {
        case "page.js": get(call) { Reply(.ok, type: "text/javascript; charset=utf-8", ViewerPage.script) }
        case "page.css": get(call) { Reply(.ok, type: "text/css; charset=utf-8", ViewerPage.style) }
        default: notFound
        }
    }
}
