import Admission
import Identifiers
import Identity
import MediaCore
import MediaEngine
import PeerConnection
import PeerEngine

/// The sessions of a broadcast's viewers by id, and the totals of ended sessions.
struct ViewerRoster {
    /// Of this broadcast, and of several if there is a limit for those.
    let places: [ViewerPlaces]
    private var peers: [SessionID: ViewerPeer] = [:]
    /// In the order in which the sessions were opened, from 1. A number is not used again.
    private var numbers: [SessionID: Int] = [:]
    private var opened = 0
    /// The totals of ended sessions.
    private var past = ViewerTotals()
    /// The frames that the viewers were sent a moment ago.
    var shownFrames = ShownFrames()

    init(places: [ViewerPlaces]) { self.places = places }

    var count: Int { peers.count }
    /// Whether there is no place for another viewer.
    var isFull: Bool { places.contains { $0.isFull } }
    /// Without services and relays to which this host publishes.
    var audience: Int { peers.values.count { !$0.description.isPublication } }
    var all: some Collection<ViewerPeer> { peers.values }
    subscript(id: SessionID) -> ViewerPeer? { peers[id] }

    /// - Parameter end: ends the session at once; nil: it does not have to make room for others.
    mutating func add(_ peer: ViewerPeer, end: (() -> Void)? = nil) {
        numbers[peer.id] = takeNumber()
        peers[peer.id] = peer
        let address = PeerAddress(peer.viewer.address).key
        for places in places { places.add(peer.id, at: address, end: end) }
    }

    /// The number of another session.
    mutating func takeNumber() -> Int {
        opened &+= 1
        return opened
    }

    /// The sessions with their numbers, in that order.
    var numbered: [(number: Int, peer: ViewerPeer)] {
        peers.values.map { (numbers[$0.id] ?? 0, $0) }.sorted { $0.0 < $1.0 }
    }

    /// - Returns: false if there is no such session (any more).
    mutating func remove(_ peer: ViewerPeer, now: MediaInstant) -> Bool {
        guard peers.removeValue(forKey: peer.id) != nil else { return false }
        numbers[peer.id] = nil
        for places in places { places.remove(peer.id) }
        past.add(peer, now: now)
        return true
    }

    mutating func removeAll() -> [ViewerPeer] {
        defer {
            for places in places { for id in peers.keys { places.remove(id) } }
            peers.removeAll()
            numbers.removeAll()
        }
        return Array(peers.values)
    }

    /// Those of ended sessions, too.
    func totals(now: MediaInstant) -> ViewerTotals {
        peers.values.reduce(into: past) { $0.add($1, now: now) }
    }

    /// The sessions that have no connection yet.
    func halfOpen(now: MediaInstant) -> [HalfOpenDisplacement.Session<SessionID, AddressKey>] {
        peers.values.compactMap { peer in
            peer.connection.liveness.waiting(now).map {
                .init(id: peer.id, address: PeerAddress(peer.viewer.address).key, waited: $0)
            }
        }
    }

    /// Returns the sessions that a viewer's new session replaces.
    func replaced(by viewer: Viewer) -> [ViewerPeer] { peers.values.filter { $0.isReplaced(by: viewer) } }

    /// Whether more than one viewer gets this encoding, or is about to.
    func isShared(_ encoding: EncodingID) -> Bool {
        var count = 0
        for peer in peers.values where peer.isReceiving && peer.uses(encoding) { count += 1 }
        return count > 1
    }

    /// Returns what the decoders of an encoding's viewers can store. Allocates nothing.
    func referencePolicy(of encoding: EncodingID, now: MediaInstant) -> LongTermReferencePolicy {
        var policy = LongTermReferencePolicy(allowsRecoveryFrames: false, mayStore: true)
        for peer in peers.values where peer.isConnected && peer.sender.hasReferences && peer.uses(encoding) {
            policy.allowsRecoveryFrames = true
            policy.mayStore = policy.mayStore && !peer.sender.awaitsAcknowledgement(now: now)
        }
        return policy
    }
}

extension ViewerTotals {
    mutating func add(_ peer: ViewerPeer, now: MediaInstant) {
        let statistics = peer.sender.statistics
        let held = peer.frames.freezeMeter.figures(now: now)
        packets += statistics.packetsSent
        bytes += statistics.bytesSent
        retransmissions += statistics.retransmission.packets
        badPackets += peer.connection.badPackets
        keyframeRequests += statistics.video.keyframeRequests
        freezes += held.count
        freezeTime = freezeTime + held.time
    }
}
