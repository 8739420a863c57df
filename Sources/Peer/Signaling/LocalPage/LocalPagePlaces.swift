import Admission
import FoundationEssentials
import HTTP
import Identifiers
import Identity
import LinuxRuntime
import NIOCore
import NIOHTTP1

/// The servers to which a ``LocalPageServer`` passes requests on, by number: that of the link, and those to which a
/// server that is known already has sent the page, with its signature. The certificate of each is checked by its link.
final class LocalPagePlaces: Sendable {
    struct Place: Sendable {
        let link: Link
        let client: PinnedHTTPClient
        /// The hosts in the links of those that have named it, one after the other; the user has named the first.
        var namers: [String] = []
    }

    /// Which addresses a server may have, by the hosts in the links of those that have named it.
    typealias AddressRule = @Sendable (_ namers: [String]) -> @Sendable (_ address: String) -> Bool

    /// What the page sends when its host, or its relay, has sent it elsewhere.
    struct Request: Decodable {
        /// An order of the host, and what it is signed for besides: the fingerprint of the page's certificate, and the
        /// nonce of its knock, both in base64url.
        var redirect: SignedRedirect?
        var viewer: String?
        var nonce: String?
        /// Other relays, and which of them.
        var alternates: SignedAlternates?
        var link: String?
    }

    struct Answer: Encodable { var base: String }

    private struct State {
        var places: [Int: Place]
        var lastNumber = 0
        /// The sessions that were opened over this server and not closed, with their bearer tokens.
        var sessions: [Session: String] = [:]
    }

    private struct Session: Hashable {
        var place: Int
        var path: String
    }

    /// Beside that of the link. One more replaces the oldest.
    private static let limit = 16
    private static let sessionLimit = 64

    private let state: Monitor<State>
    private let configuration: PinnedHTTPClient.Configuration
    private let rule: AddressRule
    private let attempts = ConnectionAttempts()

    init(_ link: Link, rule: @escaping AddressRule) throws(SignalingError) {
        var configuration = PinnedHTTPClient.Configuration()
        configuration.sharesThreads = true
        self.configuration = configuration
        self.rule = rule
        let client = try PinnedHTTPClient(to: PinnedServer(link), configuration: configuration)
        state = Monitor(State(places: [0: Place(link: link, client: client)]))
    }

    subscript(number: Int) -> Place? { state.with { $0.places[number] } }

    /// Adds the server to which the page was sent.
    /// - Parameter known: the number of the one that has sent it.
    /// - Returns: its number; nil if that server has signed no such thing, or was not to be asked that often.
    func add(_ body: ByteBuffer, from known: Int) async -> Int? {
        guard let place = self[known],
            let request = try? JSONDecoder().decode(Request.self, from: Data(body.readableBytesView)),
            let link = Self.destination(request, from: place.link)
        else { return nil }
        if let number = state.with({ $0.places.first { $0.value.link == link }?.key }) { return number }
        guard attempts.take() else { return nil }
        var configuration = configuration
        let namers = place.namers + [place.link.host]
        configuration.permits = rule(namers)
        guard let client = try? PinnedHTTPClient(to: PinnedServer(link), configuration: configuration) else {
            return nil
        }
        let (number, former) = state.with { state in
            state.lastNumber += 1
            state.places[state.lastNumber] = Place(link: link, client: client, namers: namers)
            let oldest = state.places.count > Self.limit + 1 ? state.places.keys.filter { $0 > 0 }.min() : nil
            return (state.lastNumber, oldest.flatMap { state.places.removeValue(forKey: $0) })
        }
        await former?.client.close()
        return number
    }

    /// Where a server has sent the page; nil if it has not signed that.
    static func destination(_ request: Request, from known: Link) -> Link? {
        if let redirect = request.redirect, let viewer = Base64URL.decode(request.viewer, count: 32),
            let nonce = Base64URL.decode(request.nonce, count: 16)
        {
            return redirect.signedLink(from: known, viewer: viewer, nonce: nonce)
        }
        guard let alternates = request.alternates, let text = request.link, let chosen = try? Link(parsing: text) else {
            return nil
        }
        return alternates.links(of: known).first { $0 == chosen }
    }

    /// Notes what a response says of a session.
    func note(_ method: HTTPMethod, _ path: String, _ status: Int, location: String?, place: Int, bearer: String?) {
        state.with { state in
            if method == .POST, status == 201, let location, let bearer, state.sessions.count < Self.sessionLimit {
                state.sessions[Session(place: place, path: location)] = bearer
            } else if method == .DELETE {
                state.sessions[Session(place: place, path: path)] = nil
            }
        }
    }

    /// Ends the sessions that are left, as the pages may have gone without a word, and closes all connections.
    func close() async {
        let (places, sessions) = state.with { state in
            defer { (state.places, state.sessions) = ([:], [:]) }
            return (state.places, state.sessions)
        }
        await withTaskGroup { group in
            for (session, bearer) in sessions {
                guard let client = places[session.place]?.client else { continue }
                group.addTask {
                    _ = try? await client.ask(
                        .DELETE, session.path, extra: [("Authorization", bearer)], timeout: .seconds(1))
                }
            }
        }
        for place in places.values { await place.client.close() }
    }
}
