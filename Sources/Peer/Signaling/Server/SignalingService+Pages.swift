import HTTPTypes

extension SignalingService {
    static let frontPage = """
        <!doctype html><html lang="en"><meta charset="utf-8"><title>share</title>
        <p>A screen is shared from this computer. To watch it, open the whole link that its owner gave you.</p></html>
        """

    /// Nothing but our own script and style, and no one may frame it.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src 'self' blob:; \
        img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    func page(_ call: Call) -> Reply {
        get(call) {
            Reply(.ok, type: "text/html; charset=utf-8", ViewerPage.html)
                .with(.contentSecurityPolicy, Self.policy).with(Header.openerPolicy, "same-origin")
        }
    }

    func asset(_ call: Call) -> Reply {
        switch call.path.last {
        case "page.js": get(call) { Reply(.ok, type: "text/javascript; charset=utf-8", ViewerPage.script) }
        case "page.css": get(call) { Reply(.ok, type: "text/css; charset=utf-8", ViewerPage.style) }
        default: notFound
        }
    }
}
