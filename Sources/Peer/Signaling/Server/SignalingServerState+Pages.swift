import HTTP
import HTTPTypes
import NIOCore

extension SignalingServerState {
    func icon(_ call: RouteRequest) -> RouteResponse {
        get(call) { RouteResponse(.ok, type: "image/svg+xml", PageFiles.icon) }
    }

    /// - Parameter name: of the broadcast; nil if it is unknown here.
    func page(_ call: RouteRequest, of name: String? = nil) -> RouteResponse {
        get(call) { page(.ok, PageFiles.viewer(of: name)) }
    }

    func frontPage(_ call: RouteRequest) -> RouteResponse {
        get(call) { page(.ok, directory == nil ? PageFiles.front : PageFiles.directory) }
    }

    /// The response for an unknown address: a page for browsers, a problem document for programs.
    func nothing(_ call: RouteRequest, isBroadcast: Bool) -> RouteResponse {
        guard call.method == .get || call.method == .head, call.headers[.accept]?.contains("text/html") == true else {
            return .notFound
        }
        return page(.notFound, isBroadcast ? PageFiles.oldLink : PageFiles.nothing)
    }

    private func page(_ status: HTTPResponse.Status, _ html: String) -> RouteResponse {
        RouteResponse(status, type: "text/html; charset=utf-8", html)
            .with(.contentSecurityPolicy, PageFiles.contentSecurityPolicy).with(Header.openerPolicy, "same-origin")
    }

    private var touchIcon: RouteResponse {
        var response = RouteResponse(.ok, [.contentType: "image/png"])
        response.body = ResponseBody(ByteBuffer(bytes: PageFiles.touchIcon))
        return response
    }

    func asset(_ call: RouteRequest) -> RouteResponse {
        switch call.path.last {
        case "page.js": get(call) { RouteResponse(.ok, type: "text/javascript; charset=utf-8", pageScript) }
        case "seal-worker.js":
            get(call) { RouteResponse(.ok, type: "text/javascript; charset=utf-8", PageFiles.sealWorker) }
        case "front.js": get(call) { RouteResponse(.ok, type: "text/javascript; charset=utf-8", PageFiles.frontScript) }
        case "manifest.webmanifest":
            get(call) { RouteResponse(.ok, type: "application/manifest+json", PageFiles.manifest) }
        case "maskable.svg": get(call) { RouteResponse(.ok, type: "image/svg+xml", PageFiles.maskableIcon) }
        case "touch-icon.png": get(call) { touchIcon }
        case "page.css": get(call) { RouteResponse(.ok, type: "text/css; charset=utf-8", PageFiles.style) }
        case "directory.js" where directory != nil:
            get(call) { RouteResponse(.ok, type: "text/javascript; charset=utf-8", PageFiles.directoryScript) }
        case "directory.css" where directory != nil:
            get(call) { RouteResponse(.ok, type: "text/css; charset=utf-8", PageFiles.directoryStyle) }
        default: .notFound
        }
    }
}
