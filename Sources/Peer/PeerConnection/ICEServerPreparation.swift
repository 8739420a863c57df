public import HTTP
package import ICETransport
import LinuxRuntime
package import SessionDescription
public import Signaling

/// Prepares STUN and TURN servers for libnice: resolves their names, and opens TCP and TLS tunnels to TURN servers,
/// because libnice does neither well.
///
/// Servers named by another peer are not trusted: their number is limited, malformed ones are left out, and so are
/// addresses that `CandidatePolicy` refuses for the peer's place.
public actor ICEServerPreparation {
    /// The limit of a peer's servers; `addressLimit` is the limit of addresses of each kind.
    public static let serverLimit = 16
    static let addressLimit = 8
    /// URLs of all servers. Each costs a look-up.
    static let urlLimit = 32
    /// Tunnels are kept until `close`, as sessions may use them: those of servers that are not used any more count.
    static let tunnelLimit = 32
    /// Tunnels that could not be opened. A relay or service that names servers must not have this machine try many
    /// addresses.
    static let failureLimit = 64

    /// The addresses for ICE, and why some servers are not among them.
    package struct Addresses: Sendable {
        package var stun: [ICEAgent.Configuration.STUNServer]
        package var turn: [ICEAgent.Configuration.TURNServer]
        /// The URLs of all servers, including unusable ones.
        package var urls: [String]
        /// One sentence for each server that is not used.
        package var problems: [String]
        /// Whether a peer elsewhere has named one of them.
        package var areGranted = false
        package var isEmpty: Bool { stun.isEmpty && turn.isEmpty }

        /// The kind of candidate that a description waits for; nil if there are no servers to wait for.
        package var awaitedKind: ICECandidate.Kind? {
            if !turn.isEmpty { return .relayed }
            return stun.isEmpty ? nil : .serverReflexive
        }

        package init(
            stun: [ICEAgent.Configuration.STUNServer] = [], turn: [ICEAgent.Configuration.TURNServer] = [],
            urls: [String] = [], problems: [String] = []
        ) {
            self.stun = stun
            self.turn = turn
            self.urls = urls
            self.problems = problems
        }
    }

    /// The user's own come first.
    private struct Used {
        var own: [ICEServer]
        var granted: GrantedServers
    }

    /// A server's URL; `hosts` are those of the peer that has named it, nil for the user's own.
    package struct Endpoint: Sendable {
        package let url: ServerURL
        package let server: ICEServer
        package let hosts: [String]?
    }

    private nonisolated let used: Monitor<Used>
    /// Of the tunnels to servers that a peer has named.
    private let attempts: ConnectionAttempts
    private var tunnels: [ServerURL: TURNTunnel] = [:]
    private var failures = 0
    private var isClosed = false

    /// - Parameters:
    ///   - own: those that the user of this machine has named.
    ///   - attempts: limits the connections to the others, over all resolvers of a session.
    public init(
        _ own: [ICEServer] = [], granted: GrantedServers = .none, attempts: ConnectionAttempts = ConnectionAttempts()
    ) {
        used = Monitor(Used(own: own, granted: granted))
        self.attempts = attempts
    }

    public nonisolated var servers: [ICEServer] {
        used.with { Array(($0.own + $0.granted.servers).prefix(Self.serverLimit)) }
    }

    /// Those that the other side has named.
    public nonisolated var granted: GrantedServers { used.with { $0.granted } }

    /// Replaces the servers, or their credentials. Addresses that were found before remain usable.
    public nonisolated func use(_ own: [ICEServer], granted: GrantedServers = .none) {
        used.with { $0 = Used(own: own, granted: granted) }
    }

    /// Replaces those that the other side has named, or their credentials.
    public nonisolated func use(granted: GrantedServers) { used.with { $0.granted = granted } }

    /// The servers' URLs in order, each once.
    package nonisolated var urls: [Endpoint] {
        let used = used.with { $0 }
        let all = used.own.map { ($0, [String]?.none) } + used.granted.servers.map { ($0, used.granted.hosts) }
        var seen = Set<ServerURL>()
        let urls = all.prefix(Self.serverLimit).flatMap { (server, hosts) in
            server.urls.prefix(Self.serverLimit).compactMap { text -> Endpoint? in
                guard let url = try? ServerURL(text), seen.insert(url).inserted else { return nil }
                return Endpoint(url: url, server: server, hosts: hosts)
            }
        }
        return Array(urls.prefix(Self.urlLimit))
    }

    /// Resolves all names in parallel. Takes as long as the slowest one, `limit` at most, plus the time to open
    /// tunnels.
    package func addresses(limit: Duration = .seconds(3)) async -> Addresses {
        let urls = urls
        guard !urls.isEmpty else { return Addresses() }
        let found = await withTaskGroup(of: (String, [String]).self) { group in
            for host in Set(urls.map(\.url.host)) {
                group.addTask { (host, await ServerLookup.addresses(of: host, limit: limit)) }
            }
            var found: [String: [String]] = [:]
            for await (host, addresses) in group { found[host] = addresses }
            return found
        }
        var result = Addresses(urls: urls.map(\.url.text))
        for endpoint in urls {
            let (url, server) = (endpoint.url, endpoint.server)
            let addresses = usable(found[url.host] ?? [], endpoint, &result)
            switch url.kind {
            case .stun: result.stun += addresses.map { .init(address: $0, port: url.port) }
            case .turn:
                // The limit is 513 bytes (RFC 8489 sections 9.2.2 and 14.3); libnice copies the values unchecked.
                guard let name = server.username, let password = server.credential, !name.isEmpty, !password.isEmpty,
                    name.utf8.count <= 508, password.utf8.count <= 508
                else {
                    result.problems.append("\(url) comes without user name and credential, so it is not used")
                    continue
                }
                for address in addresses {
                    result.turn += await places(endpoint, address, name, password, &result.problems)
                }
            }
        }
        // IPv4 comes first, because libnice asks only one STUN server, and NATs are usually on IPv4.
        result.stun = result.stun.filter { !$0.address.contains(":") } + result.stun.filter { $0.address.contains(":") }
        result.stun = Array(result.stun.prefix(Self.addressLimit))
        result.turn = Array(result.turn.prefix(Self.addressLimit))
        return result
    }

    /// The addresses of a server that may be used. Adds a sentence if there is none.
    private func usable(_ known: [String], _ endpoint: Endpoint, _ result: inout Addresses) -> [String] {
        let (url, rule) = (endpoint.url, ServerAddressRule(namedBy: endpoint.hosts))
        // An ICE agent with one that is not unicast cannot be made.
        let unicast = known.filter { IPAddress($0)?.isUnicast ?? false }
        let addresses = unicast.filter(rule.permits)
        if !addresses.isEmpty { result.areGranted = result.areGranted || rule.isForeign }
        guard addresses.isEmpty else { return addresses }
        let place = "\(url.host) is \(known.joined(separator: ", "))"
        let why =
            if known.isEmpty {
                "no computer is known as \(url.host)"
            } else if unicast.isEmpty {
                "\(place), no address of a server"
            } else {
                "\(place), which nobody elsewhere may name"
            }
        result.problems.append("\(why), so \(url) is not used")
        return []
    }

    /// Checks every server; a TURN server allocates a relayed address, which is released at once. Takes 3 s at most.
    public nonisolated func findings() async -> [(url: String, finding: ServerFinding)] {
        await withTaskGroup(of: (Int, String, ServerFinding).self) { group in
            for (index, endpoint) in urls.prefix(Self.serverLimit).enumerated() {
                let rule = ServerAddressRule(namedBy: endpoint.hosts)
                group.addTask {
                    let finding = await ServerProbe.ask(endpoint.url, of: endpoint.server, permits: rule.permits)
                    return (index, endpoint.url.text, finding)
                }
            }
            var found: [(Int, String, ServerFinding)] = []
            for await one in group { found.append(one) }
            return found.sorted { $0.0 < $1.0 }.map { ($0.1, $0.2) }
        }
    }

    private func places(
        _ endpoint: Endpoint, _ address: String, _ name: String, _ password: String, _ problems: inout [String]
    ) async -> [ICEAgent.Configuration.TURNServer] {
        func place(_ address: String, _ port: UInt16, _ transport: ICEAgent.Configuration.TURNServer.Transport)
            -> ICEAgent.Configuration.TURNServer
        { .init(address: address, port: port, username: name, password: password, transport: transport) }
        let url = endpoint.url
        switch url.transport {
        case .udp: return [place(address, url.port, .udp)]
        case .tcp, .tls:
            guard tunnels[url] != nil || tunnels.count < Self.tunnelLimit && failures < Self.failureLimit else {
                problems.append("\(url) is not used: there were too many other TURN servers before")
                return []
            }
            do {
                guard let tunnel = try await tunnel(endpoint, address) else { return [] }
                return [place("127.0.0.1", tunnel.port, .tcp)] + (tunnel.port6.map { [place("::1", $0, .tcp)] } ?? [])
            } catch {
                failures += 1
                problems.append("\(url) cannot be used: \(error)")
                return []
            }
        }
    }

    private func tunnel(_ endpoint: Endpoint, _ address: String) async throws -> TURNTunnel? {
        let url = endpoint.url
        // One tunnel for each server is enough; it connects to the first address.
        guard !isClosed, tunnels[url] == nil else { return tunnels[url] }
        let tunnel = try await TURNTunnel.open(
            to: url, address: address, attempts: endpoint.hosts == nil ? nil : attempts)
        if isClosed || tunnels[url] != nil {
            await tunnel.close()
        } else {
            tunnels[url] = tunnel
        }
        return tunnels[url]
    }

    /// Closes the tunnels. May be called more than once.
    public func close() async {
        isClosed = true
        let open = tunnels.values
        tunnels = [:]
        for tunnel in open { await tunnel.close() }
    }
}
