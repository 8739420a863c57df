import HTTP
import HTTPTypes
import Identifiers
import Identity
import NIOCore

/// The fields and media types that pass between a viewer and the host of a tunnel, or between a host and a service.
///
/// All that is reached over a relay has one origin, so a host must not be able to make the relay deliver a page or a
/// script, ask for a password, or send a viewer with its token elsewhere.
enum ForwardedFields {
    private static let responseFields: Set<HTTPField.Name> = [
        .eTag, .retryAfter, .allow, .accessControlAllowOrigin, .accessControlAllowHeaders,
        .accessControlAllowMethods, .accessControlExposeHeaders, Header.acceptPost, Header.acceptPatch,
        Header.shareProof,
    ]
    private static let mediaTypes: Set<String> = [
        "application/json", "application/problem+json", "application/sdp", "application/trickle-ice-sdpfrag",
        "text/event-stream",
    ]
    /// Those of this protocol. 204 has no body.
    private static let statuses: Set<Int> = [
        200, 201, 202, 204, 400, 401, 403, 404, 405, 406, 409, 410, 412, 413, 415, 422, 428, 429, 500, 501, 503, 504,
    ]

    /// The event that forwards a request; nil if it is too long.
    /// - Parameter isSocket: it opens a WebSocket.
    static func event(_ call: RouteRequest, number: Int, isSocket: Bool) -> String? {
        var headers: [String: String] = [:]
        for name in ForwardedRequest.forwardedFields { headers[name.canonicalName] = call.headers[name] }
        // A password is not for hosts. A browser has the token of a WebSocket elsewhere.
        headers[HTTPField.Name.authorization.canonicalName] = call.bearer.map { "Bearer " + $0 }
        let request = ForwardedRequest(
            number: number, method: call.method.rawValue, path: "/" + call.path.joined(separator: "/"),
            headers: headers, body: call.bodyText, address: call.address.text, socket: isSocket ? true : nil)
        let text = TunnelEvent.request(request).serialized
        return text.utf8.count <= TunnelEvent.lengthLimit ? text : nil
    }

    /// The response to a viewer; its body is still empty if parts of it follow.
    /// - Parameter isSocket: the request opens a WebSocket.
    static func response(
        _ part: ForwardedResponse, of id: TunnelID, isSocket: Bool = false
    ) -> (reply: RouteResponse, continues: Bool) {
        if isSocket, part.status == 101, part.continues == true { return (RouteResponse(.switchingProtocols), true) }
        guard let status = part.status, statuses.contains(status) else { return (bad, false) }
        var reply = RouteResponse(HTTPResponse.Status(code: status))
        reply.headers[.contentSecurityPolicy] = "default-src 'none'; sandbox"
        for field in part.headers?.prefix(32) ?? [] {
            guard field.count == 2, let name = HTTPField.Name(field[0]), HTTPField.isValidValue(field[1]),
                field[1].utf8.count <= 2_048
            else { continue }
            switch name {
            case .contentType:
                // The type alone: what follows it could be read as another.
                let type = field[1].prefix { $0 != ";" }.lowercased().filter { !$0.isWhitespace }
                guard mediaTypes.contains(type) else { return (bad, false) }
                reply.headers[.contentType] = type
            case .location:
                guard isPath(field[1], of: id) else { return (bad, false) }
                reply.headers[.location] = field[1]
            case .wwwAuthenticate where field[1].hasPrefix("Bearer"): reply.headers[.wwwAuthenticate] = field[1]
            case Header.link: reply.headers.append(HTTPField(name: Header.link, value: field[1]))
            case let name where responseFields.contains(name): reply.headers[name] = field[1]
            default: continue
            }
        }
        guard status != 204 else { return (reply, false) }
        let continues = part.continues == true
        guard reply.headers[.contentType] != nil || !continues && (part.body ?? "").isEmpty else { return (bad, false) }
        if !continues, let text = part.body { reply.body = ResponseBody(ByteBuffer(string: text)) }
        return (reply, continues)
    }

    /// Whether a path lies below the broadcast or the service, however a client reads it. Only the identifier of a
    /// service may have dots.
    private static func isPath(_ text: String, of id: TunnelID) -> Bool {
        text.hasPrefix(id.path + "/")
            && text.utf8.dropFirst(id.path.utf8.count).allSatisfy { byte in
                switch byte {
                case 48...57, 65...90, 97...122, UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }

    private static var bad: RouteResponse {
        RouteResponse(problem: .unreachable, .badGateway, "the host's response cannot be forwarded")
    }
}
