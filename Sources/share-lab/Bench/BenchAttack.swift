import ArgumentParser
import Identifiers
import MediaCore

/// What strangers send to the relay of `share-lab bench relay --attack` while viewers watch and join.
enum BenchAttack: String, ExpressibleByArgument, CaseIterable {
    /// 50,000 STUN requests a second that name no session.
    case stun
    /// 50,000 DTLS ClientHellos a second.
    case dtls
    /// 50,000 RTP packets a second.
    case rtp
    /// 50,000 a second of each of those.
    case datagrams
    /// 10,000 TCP connections that say nothing.
    case connections
    /// 10,000 TCP connections that send a TLS ClientHello byte by byte.
    case handshakes
    /// 10,000 offers of viewers whose ICE never completes.
    case sessions

    static let datagramsPerSecond = 50_000
    static let connectionCount = 10_000
    static let sessionCount = 10_000

    /// A running attack.
    protocol Running: Sendable {
        /// What was sent so far, for the report.
        var figures: [(String, Int)] { get }
        func stop()
    }

    /// - Parameters:
    ///   - media: the UDP port of the relay.
    ///   - link: of the broadcast, as its viewers have it.
    func start(media: UInt16, link: Link) -> any Running {
        switch self {
        case .stun: HostileDatagrams([.stun], to: media)
        case .dtls: HostileDatagrams([.dtls], to: media)
        case .rtp: HostileDatagrams([.rtp], to: media)
        case .datagrams: HostileDatagrams(HostileDatagrams.Kind.allCases, to: media)
        case .connections: HostileConnections(to: UInt16(truncatingIfNeeded: link.port), dripping: false)
        case .handshakes: HostileConnections(to: UInt16(truncatingIfNeeded: link.port), dripping: true)
        case .sessions: HostileSessions(link)
        }
    }
}

/// Counts what an attack does, and tells it when to end.
struct AttackProgress: Sendable {
    var counts: [(String, Int)]
    var isOver = false

    init(_ names: [String]) { counts = names.map { ($0, 0) } }

    mutating func add(_ index: Int, _ count: Int = 1) { counts[index].1 += count }
}
