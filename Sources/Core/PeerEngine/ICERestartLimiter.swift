public import MediaCore

/// Limits how often a peer may restart ICE (RFC 8445 section 2.4), as each restart costs an ICE agent with its sockets
/// and its requests to STUN and TURN servers.
///
/// The shortest interval doubles with each restart in a row that selected no pair, up to a limit below the 3 s after
/// which `ReconnectionPolicy` tries again.
public struct ICERestartLimiter: Sendable {
    static let shortestInterval = MediaDuration.milliseconds(250)
    static let longestInterval = MediaDuration.seconds(2)

    private var last: MediaInstant?
    /// Restarts in a row without an authentic packet on a pair of theirs.
    private var fruitless = 0

    public init() {}

    /// - Parameter hasProvenPair: authentic packets came on a pair of the last restart.
    /// - Returns: whether a restart may begin now. If it does, call `noteRestart`.
    public mutating func allows(hasProvenPair: Bool, now: MediaInstant) -> Bool {
        if hasProvenPair { fruitless = 0 }
        let interval = min(Self.shortestInterval * Int64(1 << min(fruitless, 8)), Self.longestInterval)
        return last.map { now - $0 >= interval } ?? true
    }

    public mutating func noteRestart(now: MediaInstant) {
        last = now
        fruitless += 1
    }
}
