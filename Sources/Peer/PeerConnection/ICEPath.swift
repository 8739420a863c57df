import EventLoop
package import ICETransport
import LinuxRuntime
package import MediaCore
package import SessionDescription

/// The path that ICE selects (RFC 8445), through restarts. Confined to the network loop.
///
/// An ICE restart uses a new agent, because libnice binds its sockets to the addresses that the machine has when an
/// agent is made. The old agent sends until the new one has a selected pair, and receives until authentic packets
/// arrive by the new one.
package final class ICEPath: NegotiatedPath {
    package var delegate: (any PacketPathDelegate)?
    /// Receives the local candidates.
    package weak var candidateDelegate: (any LocalCandidateDelegate)?
    package private(set) var servers: ICEServerPreparation.Addresses
    package private(set) var isFromSelectedPair = false
    /// The number of the agent by which the datagram that is being delivered arrived.
    private var arrivedBy = 0
    /// Whether authentic packets have arrived over the pair of the newest agent.
    package private(set) var hasProvenPair = false
    private(set) var provenAddresses = ProvenAddresses()
    /// When the last authentic packet came from the selected pair's remote address.
    private var pairHeard: MediaInstant?
    private(set) var hasSelectedPair = false
    private var isStarted = false
    private var isClosed = false
    /// The candidates of the last gathering, each once.
    package internal(set) var localCandidates: [ICECandidate] = []
    var remote = RemoteCandidates()
    let agents: ICEAgentSet
    private var factory: ICEAgentFactory

    /// The silence of the selected pair after which packets go to the address that the other side sends from. Both
    /// sides send at least one packet a second.
    static let followAfter = MediaDuration.seconds(2)
    /// The time after the selection of a pair during which packets from any address count.
    static let pairGrace = MediaDuration.seconds(4)

    /// - Throws: if this machine has no address to bind, or there are too many agents.
    /// - Parameter servers: the STUN and TURN servers, which the configuration need not have.
    init(
        loop: EventLoop, configuration: ICEAgent.Configuration, servers: ICEServerPreparation.Addresses = .init(),
        limits: Limits
    ) throws(ICEFailure) {
        var configuration = configuration
        (configuration.stunServers, configuration.turnServers) = (servers.stun, servers.turn)
        self.servers = servers
        factory = ICEAgentFactory(loop: loop, configuration: configuration, limits: limits)
        agents = ICEAgentSet(try factory.makeAgent(number: 0))
        factory.hold(self)
    }

    var limits: Limits { factory.limits }
    var configuration: ICEAgent.Configuration { factory.configuration }
    package var selectedPair: ICEAgent.SelectedPair? { agents.current.selectedPair }
    package var isLite: Bool { false }
    package var localCredentials: ICECredentials { agents.newest.credentials }

    // MARK: Starting and restarting

    /// Sets the other side's credentials and starts connectivity checks.
    package func start(remote credentials: ICECredentials) {
        guard !isClosed, !isStarted else { return }
        isStarted = true
        agents.newest.setRemote(credentials)
    }

    package func use(_ servers: ICEServerPreparation.Addresses) {
        (factory.configuration.stunServers, factory.configuration.turnServers) = (servers.stun, servers.turn)
        self.servers = servers
    }

    /// Begins an ICE restart with new credentials on the machine's current addresses. Afterwards call `gather`, signal
    /// the restart, and call `start` with the answer. An unfinished earlier restart is given up.
    /// - Throws: if this machine has no address to bind, or there are too many agents; nothing has then changed.
    package func restart() throws(ICEFailure) {
        guard !isClosed else { return }
        guard !agents.isFull else { throw ICEFailure("too many connections of this session are still closing") }
        // After a restart without a proven pair, the next one uses the usual interval between checks, because such
        // restarts may be many.
        let interval = agents.newestNumber > 0 && !hasProvenPair ? 20 : nil
        agents.add(try factory.makeAgent(number: agents.newestNumber + 1, checkInterval: interval))
        hasProvenPair = false
        isStarted = false
        remote.clear()
    }

    /// Gives up a restart that the other side has not answered.
    package func dropUnansweredRestart() {
        if !isStarted { agents.dropNext() }
    }

    // MARK: Sending

    package func send(_ datagram: UnsafeRawBufferPointer) { agents.current.send(datagram) }

    package func sendBatch(_ base: UnsafeRawPointer, stride: Int, lengths: UnsafeBufferPointer<Int>) {
        agents.current.sendBatch(base, stride: stride, lengths: lengths)
    }

    package func hasConsent(_ now: MediaInstant) -> Bool { agents.current.hasConsent(now) }

    /// See ``ICEAgent/hasAnswered(within:now:)``; applies to the pair that packets are sent over.
    package func hasAnswered(within time: MediaDuration, now: MediaInstant) -> Bool {
        agents.current.hasAnswered(within: time, now: now)
    }

    // MARK: Receiving

    func received(_ datagram: UnsafeMutableRawBufferPointer, by number: Int) {
        guard !isClosed else { return }
        let now = MonotonicClock.now
        let agent = agents.current
        arrivedBy = number
        // During the grace period of a new pair, packets from any address count. The new pair has just answered a
        // check, which is consent (RFC 7675 section 5.1), and the other side may still send over its previous pair.
        isFromSelectedPair = isNew(agent, now) || number == agents.currentNumber && agent.isFromSelectedPair
        defer { isFromSelectedPair = false }
        delegate?.path(received: datagram, at: now)
    }

    private func isNew(_ agent: ICEAgent, _ now: MediaInstant) -> Bool {
        agent.pairSince.map { now - $0 < Self.pairGrace } ?? false
    }

    package func noteAuthentic(_ now: MediaInstant) {
        guard arrivedBy == agents.currentNumber else { return }
        if agents.former != nil { agents.dropFormer() }
        if arrivedBy == agents.newestNumber { hasProvenPair = true }
        let agent = agents.current
        if agent.isFromSelectedPair {
            pairHeard = now
            provenAddresses.note(agent)
            return
        }
        // Only the controlled side changes its destination: the controlling side selects the pair (RFC 8445 section
        // 8.1.1). If both sides did, the destinations could alternate forever.
        guard !factory.configuration.isControlling, let since = agent.pairSince,
            now - max(pairHeard ?? since, since) > Self.followAfter
        else { return }
        agent.checkUnverifiedAddress(now)
    }

    /// Handles a state change. `failed` is ignored: a pair may come back, and only silence ends a session.
    func changed(to state: ICEAgent.State, by number: Int) {
        guard state == .connected || state == .ready, !isClosed else { return }
        if number == agents.newestNumber, agents.next != nil {
            delegate?.pathWillChangePair()
            agents.useNext()
            delegate?.pathDidChangePair()
        }
        guard !hasSelectedPair else { return }
        hasSelectedPair = true
        delegate?.pathIsConnected()
    }

    package func close(_ done: @escaping () -> Void) {
        isClosed = true
        delegate = nil
        factory.release()
        agents.close(done)
    }
}
