import Admission
import Identifiers
import Identity
import MediaCore

/// Decides when the viewers of a tunnelled host are served over the relay, and when the host serves them itself again.
/// A value without a clock.
struct HandoverPolicy {
    private struct Unreachable {
        let viewer: Viewer
        let since: MediaInstant
    }

    /// The most viewers that are served directly.
    private let limit: Int
    /// The relay serves all viewers, from the first one on.
    let isRelayOnly: Bool
    /// The most that the host's line has carried, until it is tried again; nil: it has not been the limit.
    private var line: (limit: Int, until: MediaInstant)?
    /// How often the host's line was the limit.
    private var lineLimits = 0
    private let calmTime: MediaDuration
    /// There were too many viewers to serve them directly, or too many for the host's line.
    private(set) var movesAll: Bool
    /// The sessions that did not connect.
    private var unreachable: [SessionID: Unreachable] = [:]
    /// Those of them that have ended; the oldest is first. Their viewers may be on their way to the relay.
    private var departed: [Unreachable] = []
    /// A viewer that cannot be reached was sent to the relay, and may watch there.
    private var servesUnreachable = false
    private var calmSince: MediaInstant?
    /// Somebody has watched at the relay since the publication began.
    private var wasUsed = false
    /// Those that were sent to the relay and did not come, and from where.
    private var absent: [(identity: ViewerIdentity, address: AddressKey, at: MediaInstant)] = []

    /// How long few viewers have to be few until the host serves them itself again.
    static let calmTime = MediaDuration.seconds(60)
    /// How long a viewer that was sent to the relay may take.
    static let arrivalTime = MediaDuration.seconds(30)
    /// How long a viewer that did not come is not sent there again.
    static let absenceTime = MediaDuration.seconds(600)
    /// So many that did not come, of one address, speak for all of that address.
    static let absentOfAddress = 4
    private static let absentLimit = 256
    /// How long a line that was the limit is not tried again: twice as long each time, up to eight times.
    static let lineTime = MediaDuration.seconds(600)
    private static let lineDoublings = 3

    init(limit: Int, isRelayOnly: Bool = false, calmTime: MediaDuration = Self.calmTime) {
        self.limit = limit
        self.isRelayOnly = isRelayOnly
        self.calmTime = calmTime
        movesAll = isRelayOnly
    }

    /// With so many viewers or fewer, the host serves all itself again: fewer than it takes to go to the relay, so that
    /// one viewer who comes and goes does not move all.
    private func returnLimit(_ now: MediaInstant) -> Int {
        let limit = limit(now)
        return max(0, limit - max(1, limit / 4))
    }

    private func limit(_ now: MediaInstant) -> Int {
        guard let line, now < line.until else { return limit }
        return min(limit, line.limit)
    }

    /// Notes how many viewers the host serves itself.
    /// - Returns: whether all viewers go to the relay from now on.
    mutating func joined(viewers: Int, now: MediaInstant) -> Bool {
        guard viewers > limit(now), !movesAll else { return false }
        movesAll = true
        return true
    }

    /// Notes that the host's own line limits all of its viewers. It carries fewer from now on, for a while.
    /// - Parameter viewers: those that the host serves itself.
    /// - Returns: whether all viewers go to the relay from now on.
    mutating func noteLineLimit(viewers: Int, now: MediaInstant) -> Bool {
        guard viewers > 1, !movesAll else { return false }
        let hold = Self.lineTime.nanoseconds << min(lineLimits, Self.lineDoublings)
        line = (viewers - 1, now + MediaDuration(nanoseconds: hold))
        lineLimits += 1
        movesAll = true
        return true
    }

    /// Notes a session that is not connected. To be called while the session exists.
    /// - Returns: false if the viewer has been sent to the relay for that, and did not come.
    mutating func noteUnreachable(_ session: SessionID, _ viewer: Viewer, now: MediaInstant) -> Bool {
        absent.removeAll { now - $0.at >= Self.absenceTime }
        guard let identity = viewer.identity, !absent.contains(where: { $0.identity == identity }),
            absent.count(where: { $0.address == PeerAddress(viewer.address).key }) < Self.absentOfAddress
        else { return false }
        unreachable[session] = unreachable[session] ?? Unreachable(viewer: viewer, since: now)
        return true
    }

    /// Keeps those of the unreachable sessions that are still not connected.
    mutating func keepUnreachable(_ unconnected: Set<SessionID>) {
        unreachable = unreachable.filter { unconnected.contains($0.key) }
    }

    mutating func ended(_ session: SessionID) {
        guard let entry = unreachable.removeValue(forKey: session), !wasUsed else { return }
        if departed.count >= Self.absentLimit { departed.removeFirst() }
        departed.append(entry)
    }

    var unreachableViewers: [SessionID: Viewer] { unreachable.mapValues(\.viewer) }

    /// Notes that the unreachable viewers have been sent to the relay.
    mutating func noteSent() { if !unreachable.isEmpty { servesUnreachable = true } }

    /// Notes that nothing is published to the relay any more.
    mutating func publicationEnded() {
        movesAll = isRelayOnly
        (servesUnreachable, wasUsed, calmSince) = (false, false, nil)
        departed = []
    }

    /// Called each second while viewers may watch at the relay.
    /// - Parameters:
    ///   - direct: how many the host serves itself.
    ///   - elsewhere: how many watch at the relay.
    /// - Returns: whether the host is to serve all itself again.
    mutating func update(direct: Int, elsewhere: Int, now: MediaInstant) -> Bool {
        if isRelayOnly { return false }
        if elsewhere > 0 { (wasUsed, departed) = (true, []) }
        if !wasUsed { giveUpAbsent(now) }
        guard isCalm(direct: direct, elsewhere: elsewhere, now) else {
            calmSince = nil
            return false
        }
        let since = calmSince ?? now
        calmSince = since
        return now - since >= calmTime
    }

    private func isCalm(direct: Int, elsewhere: Int, _ now: MediaInstant) -> Bool {
        guard unreachable.isEmpty, departed.isEmpty, !servesUnreachable || elsewhere == 0 else { return false }
        return movesAll ? direct + elsewhere <= returnLimit(now) : elsewhere == 0
    }

    /// Nobody is at the relay, although these were sent there.
    private mutating func giveUpAbsent(_ now: MediaInstant) {
        func isLate(_ entry: Unreachable) -> Bool { now - entry.since >= Self.arrivalTime }
        let late = departed.filter(isLate) + unreachable.values.filter(isLate)
        departed.removeAll(where: isLate)
        unreachable = unreachable.filter { !isLate($0.value) }
        for entry in late {
            guard let identity = entry.viewer.identity, !absent.contains(where: { $0.identity == identity }) else {
                continue
            }
            if absent.count >= Self.absentLimit { absent.removeFirst() }
            absent.append((identity, PeerAddress(entry.viewer.address).key, now))
        }
    }
}
