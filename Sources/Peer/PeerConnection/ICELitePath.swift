package import EventLoop
package import ICETransport
import LinuxRuntime
package import MediaCore
package import SessionDescription

/// The path of one peer over a UDP port that all peers share (ICE-lite, RFC 8445 section 2.5). Confined to the network
/// loop.
package final class ICELitePath: NegotiatedPath {
    package var delegate: (any PacketPathDelegate)?
    package weak var candidateDelegate: (any LocalCandidateDelegate)?
    package private(set) var isFromSelectedPair = false
    /// The other side's candidates, for the report: it makes the checks.
    private var remote = RemoteCandidates()
    private let socket: ICELiteSocket
    private let agent: ICELiteAgent
    private let owner = Owner()
    private let isControlling: Bool
    private let includesLoopback: Bool
    private let allowance: (any TransportAllowance)?
    private var hasSelectedPair = false
    /// When the selected address last changed.
    private var selected: MediaInstant?
    private var isClosed = false

    private final class Owner {
        var path: ICELitePath?
    }

    /// Must be called on the loop of the socket.
    /// - Parameters:
    ///   - isControlling: this side checks the peer's candidates; see ``ICELiteAgent``.
    ///   - place: that of the peer.
    /// - Throws: if the peer has opened too many connections.
    package init(
        _ socket: LoopBound<ICELiteSocket>, isControlling: Bool = false, place: CandidatePolicy.Place,
        allowance: (any TransportAllowance)?
    ) throws(ICEFailure) {
        self.isControlling = isControlling
        guard allowance?.takeAgent(now: MonotonicClock.now) ?? true else { throw .tooOften }
        let socket = socket.assumeIsolated { $0 }
        self.socket = socket
        includesLoopback = CandidatePolicy(place).allowsLoopback
        self.allowance = allowance
        let owner = owner
        agent = ICELiteAgent(
            socket, isControlling: isControlling,
            handlers: .init(
                willSelect: { owner.path?.delegate?.pathWillChangePair() },
                onSelection: { _ in owner.path?.addressSelected() },
                onDatagram: { owner.path?.received($0, at: $1) },
                onPeerGone: { owner.path?.delegate?.pathPeerHasGone() }))
        // Held until `close`, as a weak reference would cost more for each datagram.
        owner.path = self
    }

    package var isLite: Bool { !isControlling }
    package var unusableCandidates: Int { 0 }
    package var selectedPair: ICEAgent.SelectedPair? { agent.selectedPair }
    package var localCredentials: ICECredentials { agent.credentials }
    package var hasProvenPair: Bool { agent.hasProvenPair }

    package var report: ConnectivityReport {
        ConnectivityReport(
            localCandidates: socket.candidates(includesLoopback: includesLoopback).map { .init($0) },
            remoteCandidates: remote.all.map { .init($0) }, refused: remote.refused, hasSelectedPair: hasSelectedPair)
    }

    // MARK: Negotiation

    package func gather() {
        for candidate in socket.candidates(includesLoopback: includesLoopback) { candidateDelegate?.found(candidate) }
        candidateDelegate?.finishedGathering()
    }

    package func start(remote credentials: ICECredentials) { agent.setRemote(credentials) }

    package func add(_ candidates: CandidateList, ended: Bool) {
        for candidate in candidates.usable where !remote.contains(candidate) { remote.add(candidate) }
        remote.countRefused(candidates.named.count + candidates.dropped)
        if isControlling { agent.check(candidates.usable) }
    }

    /// A lite agent has none.
    package var servers: ICEServerPreparation.Addresses { .init() }

    package func use(_ servers: ICEServerPreparation.Addresses) {}

    package func restart() throws(ICEFailure) {
        guard allowance?.takeAgent(now: MonotonicClock.now) ?? true else { throw .tooOften }
        agent.restart()
    }

    package func dropUnansweredRestart() { agent.dropRestart() }

    // MARK: Packets

    package func send(_ datagram: UnsafeRawBufferPointer) { agent.send(datagram) }

    package func sendBatch(_ base: UnsafeRawPointer, stride: Int, lengths: UnsafeBufferPointer<Int>) {
        agent.sendBatch(base, stride: stride, lengths: lengths)
    }

    package func addMemory(to list: inout PrefetchList) {
        list.add(self, bytes: 192)
        agent.addMemory(to: &list)
    }

    package func hasConsent(_ now: MediaInstant) -> Bool { agent.hasConsent(now) }

    package func hasAnswered(within time: MediaDuration, now: MediaInstant) -> Bool {
        agent.hasAnswered(within: time, now: now)
    }

    package func noteAuthentic(_ now: MediaInstant) { agent.noteAuthentic(now) }

    package func checkConsent(_ now: MediaInstant) { agent.checkConsent(now) }

    private func addressSelected() {
        selected = MonotonicClock.now
        if hasSelectedPair {
            delegate?.pathDidChangePair()
        } else {
            hasSelectedPair = true
            delegate?.pathIsConnected()
        }
    }

    private func received(_ datagram: UnsafeMutableRawBufferPointer, at arrival: MediaInstant) {
        guard !isClosed else { return }
        // After a change the peer may still send from its previous address, which has proved itself as well.
        let isNew = selected.map { arrival - $0 < ICEPath.pairGrace } ?? false
        isFromSelectedPair = isNew || agent.isFromSelectedPair
        delegate?.path(received: datagram, at: arrival)
        isFromSelectedPair = false
    }

    package func close(_ done: @escaping () -> Void) {
        isClosed = true
        delegate = nil
        owner.path = nil
        agent.close()
        done()
    }
}

extension ICEFailure {
    static let tooOften = ICEFailure("this viewer has asked for too many connections in a short time")
}
