import HTTP
import Identifiers
import NIOHTTP1

/// Decides by a request's head what a ``LocalPageServer`` does with it.
///
/// Other users of this machine and pages of other sites reach the port, too. So a request has to name the address that
/// was printed (a name that somebody else gives to 127.0.0.1 is another one), its path begins with a secret, and a
/// browser says that it comes from the page itself.
struct LocalPageRules: Sendable {
    enum Decision: Sendable, Equatable {
        /// - Parameter place: the number of the server whose broadcast the page is for; 0: that of the link.
        case page(place: Int)
        case asset(Asset, place: Int)
        /// A stream that is open as long as the page is.
        case presence
        /// The page was sent to another server.
        case addPlace(from: Int)
        /// A request for the server of a place.
        case forward(place: Int, path: String)
        case refuse(HTTPResponseStatus)
    }

    enum Asset: String, Sendable {
        case script = "_/page.js"
        case style = "_/page.css"
        case worker = "_/seal-worker.js"
        case icon = "favicon.ico"
    }

    /// Bytes of a request's body.
    static let bodyLimit = 65_536

    /// HOST:PORT.
    let authority: String
    /// Without slashes.
    let token: String

    init(port: Int, token: String) {
        authority = "127.0.0.1:\(port)"
        self.token = token
    }

    /// What the paths of a place begin with.
    func base(of place: Int) -> String { "/\(token)" + (place == 0 ? "" : "/\(place)") }

    /// - Parameter broadcast: that of a place; nil: there is no such place.
    func decide(_ head: HTTPRequestHead, broadcast: (_ place: Int) -> BroadcastID?) -> Decision {
        guard head.headers["Host"] == [authority], let (place, rest, query) = split(head.uri),
            let id = broadcast(place)
        else { return .refuse(.notFound) }
        let decision = route(head.method, place, rest, id)
        guard comesFromPage(head.headers, decision) else { return .refuse(.forbidden) }
        // The page of another relay is told of the move.
        if query != nil, decision != .page(place: place) { return .refuse(.notFound) }
        if let length = head.headers.first(name: "Content-Length"), Int(length).map({ $0 > Self.bodyLimit }) ?? true {
            return .refuse(.payloadTooLarge)
        }
        return decision
    }

    /// Returns nil if the path does not begin with the secret.
    private func split(_ uri: String) -> (place: Int, rest: Substring, query: Substring?)? {
        let parts = uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = parts.first, path.hasPrefix("/") else { return nil }
        let name = path.dropFirst().prefix { $0 != "/" }
        // Hashes are compared, in a time that tells nothing of the secret.
        guard TokenHash(of: String(name)) == TokenHash(of: token) else { return nil }
        var (place, rest) = (0, path.dropFirst(name.count + 2))
        let number = rest.prefix { $0 != "/" }
        if number.utf8.count < 9, let value = Int(number), value > 0, String(value) == number {
            (place, rest) = (value, rest.dropFirst(number.count + 1))
        }
        return (place, rest, parts.dropFirst().first)
    }

    private func route(_ method: HTTPMethod, _ place: Int, _ path: Substring, _ id: BroadcastID) -> Decision {
        if method == .GET, path == id.text { return .page(place: place) }
        if method == .GET, let asset = Asset(rawValue: String(path)) { return .asset(asset, place: place) }
        switch (method, path) {
        case (.GET, "_/presence"): return .presence
        case (.POST, "_/places"): return .addPlace(from: place)
        default: break
        }
        let items = path.split(separator: "/", omittingEmptySubsequences: false)
        guard items.first == id.text[...], Self.isForwarded(method, items.dropFirst()) else {
            return .refuse(.notFound)
        }
        return .forward(place: place, path: "/" + path)
    }

    /// Whether the page makes such requests to its host.
    private static func isForwarded(_ method: HTTPMethod, _ items: ArraySlice<Substring>) -> Bool {
        guard let resource = items.first, items.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isNameCharacter) })
        else { return false }
        switch (method, resource, items.count) {
        case (.POST, "knock", 1), (.GET, "knock", 2), (.PUT, "knock", 2), (.DELETE, "knock", 2),
            (.POST, "whep", 1), (.GET, "whep", 2), (.PATCH, "whep", 2), (.DELETE, "whep", 2),
            (.GET, "events", 1), (.GET, "servers", 1), (.POST, "keys", 1), (.POST, "moved", 1),
            (.POST, "messages", 1), (.GET, "messages", 1):
            return true
        default: return false
        }
    }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// Whether the browser says that the request is the page's own (RFC 6454 section 7, Fetch Metadata). The page
    /// itself is opened from elsewhere.
    private func comesFromPage(_ headers: HTTPHeaders, _ decision: Decision) -> Bool {
        guard headers["Origin"].allSatisfy({ $0 == "http://\(authority)" }) else { return false }
        if case .page = decision { return headers["Sec-Fetch-Dest"].allSatisfy { $0 == "document" } }
        return headers["Sec-Fetch-Site"].allSatisfy { $0 == "same-origin" }
    }
}
