package import ICETransport
package import MediaCore
package import SessionDescription

/// A path that both sides set up in their session descriptions: credentials, candidates and restarts (RFC 8839).
/// Confined to the network loop.
package protocol NegotiatedPath: PacketPath {
    /// Receives the local candidates. Held weakly.
    var candidateDelegate: (any LocalCandidateDelegate)? { get set }
    /// Whether this side is an ICE-lite agent, which its description says (RFC 8839 section 5.3).
    var isLite: Bool { get }
    /// The newest ones.
    var localCredentials: ICECredentials { get }
    /// Whether packets have arrived over the pair of the last restart.
    var hasProvenPair: Bool { get }
    /// The number of the other side's candidates that must not be tried.
    var unusableCandidates: Int { get }
    /// The STUN and TURN servers of this side.
    var servers: ICEServerPreparation.Addresses { get }
    /// The candidates of both sides, for the report why there is no connection.
    var report: ConnectivityReport { get }

    /// Starts to gather candidates. The delegate gets each of them, some before this returns.
    func gather() throws(ICEFailure)
    /// Sets the other side's credentials.
    func start(remote credentials: ICECredentials)
    /// Adds the other side's candidates.
    func add(_ candidates: CandidateList, ended: Bool)
    /// Uses these STUN and TURN servers from the next restart on.
    func use(_ servers: ICEServerPreparation.Addresses)
    /// Begins an ICE restart with new credentials. Afterwards call `gather`, signal the restart, and call `start` with
    /// the answer. An unfinished earlier restart is given up.
    /// - Throws: if there is no room for it; nothing has then changed.
    func restart() throws(ICEFailure)
    /// Gives up a restart that the other side has not answered.
    func dropUnansweredRestart()
    /// Whether the pair that packets are sent over has answered a check within `time`.
    func hasAnswered(within time: MediaDuration, now: MediaInstant) -> Bool
}
