import FoundationEssentials
import HTTP
import Identifiers
import Identity
import MediaCore
import Synchronization

/// The parts that a broadcast and a service of a server have alike: event streams, STUN and TURN servers, and the rate
/// at which people may ask for an approval. Safe from any thread.
final class Endpoint: Sendable {
    /// Of the resources below it, without a slash at the end.
    let path: String
    let streams: EventStreams
    private let bucket: Mutex<TokenBucket>
    private let iceServers: Mutex<[ICEServer]>
    private let turnSecret: TURNSecret?
    private let counters: SignalingCounters

    init(
        path: String, streams: EventStreams, rate: RequestLimiter.Rate, iceServers: [ICEServer],
        turnSecret: TURNSecret?, counters: SignalingCounters
    ) {
        self.path = path
        self.streams = streams
        self.turnSecret = turnSecret
        self.counters = counters
        self.iceServers = Mutex(iceServers)
        bucket = Mutex(TokenBucket(burst: rate.burst, rate: rate.perSecond, now: .now))
    }

    /// Tells these STUN and TURN servers from now on.
    func use(_ servers: [ICEServer]) { iceServers.withLock { $0 = servers } }

    /// The servers for one peer.
    /// - Parameter isStranger: it gets credentials for the time in which its media has to begin.
    func issuedServers(isStranger: Bool) -> [ICEServer] {
        iceServers.withLock { $0 }.issued(
            with: turnSecret, to: RandomName.random().text, at: Date(), lifetime: isStranger ? 60 : nil)
    }

    /// Takes the token of a request for an approval, within the limits of its address and of this endpoint.
    /// - Returns: nil if the request may proceed, else the seconds to wait.
    func delay(_ address: AddressKey, _ connections: ConnectionRegistry) -> Int? {
        connections.withLimiter { limiter, now in
            bucket.withLock { limiter.knockDelay(address, of: &$0, now: now) }
        }
    }

    /// - Parameter streams: the number of those that were closed because their queue was full.
    func countDropped(_ streams: Int) {
        if streams > 0 { counters.count { $0.eventsDropped += streams } }
    }
}
