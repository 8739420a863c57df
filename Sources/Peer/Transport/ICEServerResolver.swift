public import ICEServers
package import ICETransport
import LinuxRuntime
import SessionDescription

/// Prepares STUN and TURN servers for libnice: resolves their names, and opens TCP and TLS tunnels to TURN servers,
/// because libnice does neither well.
///
/// Servers named by another peer are not trusted: their number is limited, and malformed ones are left out.
public actor ICEServerResolver {
    /// The limit of a peer's servers; `addressLimit` is the limit of addresses of each kind.
    public static let serverLimit = 16
    static let addressLimit = 8
    /// URLs of all servers. Each costs a look-up.
    static let urlLimit = 32
    /// Tunnels are kept until `close`, as sessions may use them: those of servers that are not used any more count.
    static let tunnelLimit = 32
    /// Tunnels that could not be opened. A relay or service that names servers must not have this machine try many addresses.
    static let failureLimit = 64

    /// The addresses for ICE, and why some servers are not among them.
    package struct Addresses: Sendable {
        package var stun: [ICEAgent.Configuration.STUNServer]
        package var turn: [ICEAgent.Configuration.TURNServer]
        /// The URLs of all servers, including unusable ones.
        package var urls: [String]
        /// One sentence for each server that is not used.
        package var complaints: [String]
        package var isEmpty: Bool { stun.isEmpty && turn.isEmpty }

        package init(
            stun: [ICEAgent.Configuration.STUNServer] = [], turn: [ICEAgent.Configuration.TURNServer] = [],
            urls: [String] = [], complaints: [String] = []
        ) {
            self.stun = stun
            self.turn = turn
            self.urls = urls
            self.complaints = complaints
        }
    }

    private nonisolated let used: Monitor<[ICEServer]>
    private var tunnels: [ServerURL: TURNTunnel] = [:]
    private var failures = 0
    private var isClosed = false

    public init(_ servers: [ICEServer] = []) { used = Monitor(Array(servers.prefix(Self.serverLimit))) }

    public nonisolated var servers: [ICEServer] { used.with { $0 } }

    /// Replaces the servers, or their credentials. Addresses that were found before remain usable.
    public nonisolated func use(_ servers: [ICEServer]) {
        used.with { $0 = Array(servers.prefix(Self.serverLimit)) }
    }

    /// The servers' URLs in order, each once.
    package nonisolated var urls: [(url: ServerURL, server: ICEServer)] {
        var seen = Set<ServerURL>()
        let urls = servers.flatMap { server in
            server.urls.prefix(Self.serverLimit).compactMap { text -> (ServerURL, ICEServer)? in
                guard let url = try? ServerURL(text), seen.insert(url).inserted else { return nil }
                return (url, server)
            }
        }
        return Array(urls.prefix(Self.urlLimit))
    }

    /// Whether there is a TURN server among them.
    public nonisolated var hasTURN: Bool { urls.contains { $0.url.kind == .turn } }

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
        for (url, server) in urls {
            let known = found[url.host] ?? []
            // An ICE agent with one that is not unicast cannot be made.
            let addresses = known.filter { IPAddress($0)?.isUnicast ?? false }
            if addresses.isEmpty {
                let why =
                    known.isEmpty
                    ? "no computer is known as \(url.host)"
                    : "\(url.host) is \(known.joined(separator: ", ")), no address of a server"
                result.complaints.append("\(why), so \(url) is not used")
            }
            switch url.kind {
            case .stun: result.stun += addresses.map { .init(address: $0, port: url.port) }
            case .turn:
                // The limit is 513 bytes (RFC 8489 sections 9.2.2 and 14.3); libnice copies the values unchecked.
                guard let name = server.username, let password = server.credential, !name.isEmpty, !password.isEmpty,
                    name.utf8.count <= 508, password.utf8.count <= 508
                else {
                    result.complaints.append("\(url) comes without user name and credential, so it is not used")
                    continue
                }
                for address in addresses {
                    result.turn += await places(url, address, name, password, &result.complaints)
                }
            }
        }
        // IPv4 comes first, because libnice asks only one STUN server, and NATs are usually on IPv4.
        result.stun = result.stun.filter { !$0.address.contains(":") } + result.stun.filter { $0.address.contains(":") }
        result.stun = Array(result.stun.prefix(Self.addressLimit))
        result.turn = Array(result.turn.prefix(Self.addressLimit))
        return result
    }

    /// Checks every server; a TURN server allocates a relayed address, which is released at once. Takes 3 s at most.
    public nonisolated func findings() async -> [(url: String, finding: ServerFinding)] {
        await withTaskGroup(of: (Int, String, ServerFinding).self) { group in
            for (index, (url, server)) in urls.prefix(Self.serverLimit).enumerated() {
                group.addTask { (index, url.text, await ServerProbe.ask(url, of: server)) }
            }
            var found: [(Int, String, ServerFinding)] = []
            for await one in group { found.append(one) }
            return found.sorted { $0.0 < $1.0 }.map { ($0.1, $0.2) }
        }
    }

    private func places(
        _ url: ServerURL, _ address: String, _ name: String, _ password: String, _ complaints: inout [String]
    ) async -> [ICEAgent.Configuration.TURNServer] {
        func place(_ address: String, _ port: UInt16, _ transport: ICEAgent.Configuration.TURNServer.Transport)
            -> ICEAgent.Configuration.TURNServer
        { .init(address: address, port: port, username: name, password: password, transport: transport) }
        switch url.transport {
        case .udp: return [place(address, url.port, .udp)]
        case .tcp, .tls:
            guard tunnels[url] != nil || tunnels.count < Self.tunnelLimit && failures < Self.failureLimit else {
                complaints.append("\(url) is not used: there were too many other TURN servers before")
                return []
            }
            do {
                guard let tunnel = try await tunnel(url, address) else { return [] }
                return [place("127.0.0.1", tunnel.port, .tcp)] + (tunnel.port6.map { [place("::1", $0, .tcp)] } ?? [])
            } catch {
                failures += 1
                complaints.append("\(url) cannot be used: \(error)")
                return []
            }
        }
    }

    private func tunnel(_ url: ServerURL, _ address: String) async throws -> TURNTunnel? {
        // One tunnel for each server is enough; it connects to the first address.
        guard !isClosed, tunnels[url] == nil else { return tunnels[url] }
        let tunnel = try await TURNTunnel.open(to: url, address: address)
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
