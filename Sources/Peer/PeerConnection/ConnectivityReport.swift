import SessionDescription
public import Signaling

/// The candidates and servers of a failed connection, from which a sentence for people explains the failure.
public struct ConnectivityReport: Sendable, Equatable {
    /// The address of a candidate that could be tried.
    public struct Candidate: Sendable, Equatable {
        /// `host`, `srflx` (seen by a STUN server), `prflx` or `relay` (allocated by a TURN server).
        public var kind: String
        public var address: String
        public var port: Int
    }

    /// The candidates of this side and of the other side.
    public var localCandidates: [Candidate] = []
    public var remoteCandidates: [Candidate] = []
    /// Candidates of the other side that could not be tried: host names, `.local`, malformed ones, too many.
    public var refused = 0
    /// Whether ICE selected a pair. The DTLS handshake over it then did not complete.
    public var hasSelectedPair = false
    public var usesOnlyRelays = false
    /// STUN and TURN servers of this side, with the results of checks after the failure; nil if they were not checked.
    public var servers: [Server] = []

    public struct Server: Sendable, Equatable {
        public var url: String
        public var finding: ServerFinding?

        package init(url: String, finding: ServerFinding? = nil) {
            self.url = url
            self.finding = finding
        }
    }

    package func findings(_ good: Bool) -> [(url: String, finding: ServerFinding)] {
        servers.compactMap { server in server.finding.map { (server.url, $0) } }.filter { $0.1.isGood == good }
    }

    private var hasTURN: Bool { servers.contains { $0.url.hasPrefix("turn") } }

    /// - Parameter other: "the host" or "the viewer".
    package func sentence(other name: String) -> String {
        if hasSelectedPair { return "the way to \(name) works, but \(name) did not finish the handshake" }
        let mine =
            localCandidates.isEmpty ? "your side has no address" : "your side has only \(Self.list(localCandidates))"
        var theirs =
            remoteCandidates.isEmpty
            ? "\(name) named none that can be tried" : "\(name) only \(Self.list(remoteCandidates))"
        if refused > 0 { theirs += " (\(refused) more cannot be used)" }
        var parts = ["no route: \(mine); \(theirs)"]
        if localCandidates.isEmpty || remoteCandidates.isEmpty {
            if usesOnlyRelays, localCandidates.isEmpty { parts.append("--relay-only lets it use TURN servers alone") }
        } else {
            let pairs = pairCount
            parts.append(
                pairs == 0
                    ? "no two of them are of one kind, IPv4 or IPv6"
                    : "\(pairs == 1 ? "that pair was" : "all \(pairs) pairs were") tried, and nothing came back")
        }
        for (url, finding) in findings(false) { parts.append("\(url) \(finding.words)") }
        if !hasTURN { parts.append("no TURN server is configured") }
        return parts.joined(separator: "; ")
    }

    /// Returns the probable cause, and what to do.
    package func remedy(other name: String) -> String {
        let isViewer = name == "the host"
        let turn =
            isViewer
            ? "start the host with --turn turn:USER@SERVER" : "start share host with --turn turn:USER@SERVER"
        if hasSelectedPair {
            return "Something between lets STUN through but not DTLS: another network or a VPN helps."
        }
        if let (url, finding) = findings(false).first(where: { $0.url.hasPrefix("turn") }) ?? findings(false).first {
            return "\(url): \(finding.remedy)."
        }
        if localCandidates.isEmpty { return "Connect to a network." }
        let relays = localCandidates.contains { $0.kind == "relay" } || remoteCandidates.contains { $0.kind == "relay" }
        if hasTURN || relays {
            return relays
                ? "A firewall blocks UDP: name the TURN server over TCP too, --turn turn:USER@SERVER?transport=tcp, or turns:."
                : "The TURN server gave no address in time: see share doctor --turn URL."
        }
        if pairCount == 0 { return "Use a TURN server that has both IPv4 and IPv6: \(turn)." }
        let outside =
            localCandidates.contains { Self.isPublic($0.address) }
            && remoteCandidates.contains { Self.isPublic($0.address) }
        return outside
            ? "A firewall or a strict NAT drops UDP between the two: \(turn)."
            : "You are probably in different networks, behind NATs: \(turn), or be in one network or VPN."
    }

    /// The number of pairs of the same address family.
    private var pairCount: Int {
        let six = localCandidates.count { $0.address.contains(":") }
        let otherSix = remoteCandidates.count { $0.address.contains(":") }
        return six * otherSix + (localCandidates.count - six) * (remoteCandidates.count - otherSix)
    }

    private static func list(_ candidates: [Candidate]) -> String {
        let shown = candidates.prefix(4).map { candidate in
            switch candidate.kind {
            case "srflx", "prflx": "\(candidate.address) (seen by others)"
            case "relay": "\(candidate.address) (TURN)"
            default: candidate.address
            }
        }
        var unique: [String] = []
        for text in shown where !unique.contains(text) { unique.append(text) }
        return unique.joined(separator: ", ") + (candidates.count > 4 ? " and \(candidates.count - 4) more" : "")
    }

    /// Whether an address is neither private (RFC 1918, RFC 6598, RFC 4193) nor loopback nor link-local.
    static func isPublic(_ text: String) -> Bool {
        switch IPAddress(text) {
        case .v4(let bytes): !IPAddress.v4(bytes).isOfLocalNetwork
        case .v6(let bytes): bytes[0] & 0xE0 == 0x20
        case nil: false
        }
    }
}

extension ConnectivityReport.Candidate {
    init(_ candidate: ICECandidate) {
        self.init(kind: candidate.kind.rawValue, address: candidate.address, port: Int(candidate.port))
    }
}

extension EndReason {
    /// Adds results of server checks that may explain why the connection was lost.
    package func explained(by report: ConnectivityReport) -> EndReason {
        let bad = report.findings(false)
        var reason = self
        reason.sentence = ([sentence] + bad.map { "\($0.url) \($0.finding.words)" }).joined(separator: "; ")
        reason.remedy = bad.map { "\($0.url): \($0.finding.remedy)." }.joined(separator: " ")
        reason.connectivity = report
        return reason
    }
}
