package import EventLoop
package import ICETransport
import LinuxRuntime
package import MediaCore
package import SessionDescription

/// The path that ICE finds (RFC 8445), with restarts. Confined to the network loop.
///
/// An ICE restart is made by a new agent, as libnice binds its sockets to the addresses that the machine had when an
/// agent was made. The old one serves until the new one has its pair, and is heard until something authentic came
/// through the new one.
package final class ICEPath: PacketPath {
    package var delegate: (any PacketPathDelegate)?
    /// Hears of local candidates.
    package weak var candidateDelegate: (any LocalCandidateDelegate)?
    /// The STUN and TURN servers of this side, for the report.
    package var servers: [String] = []
    package private(set) var isFromSelectedPair = false
    /// The number of the agent by which the datagram that is being given out came.
    private var arrivedBy = 0
    /// Something authentic has come over the pair of the newest agent.
    package private(set) var hasProvenPair = false
    private(set) var provenAddresses = ProvenAddresses()
    /// When the last authentic packet came from the address that media goes to.
    private var pairHeard: MediaInstant?
    private(set) var hasPath = false
    private var isStarted = false
    private var isClosed = false
    /// Each once, of the last gathering.
    package internal(set) var localCandidates: [ICECandidate] = []
    var remote = RemoteCandidates()
    let agents: ICEAgentSet
    private let factory: ICEAgentFactory

    /// The silence of a pair after which packets follow the address that the other side is heard from. Both sides send
    /// at least one a second.
    static let followAfter = MediaDuration.seconds(2)
    /// The time after its selection in which a pair need not be heard from itself.
    static let pairGrace = MediaDuration.seconds(4)

    /// - Throws: if this machine has no address to listen at, or too many agents were made.
    package init(loop: EventLoop, configuration: ICEAgent.Configuration, limits: Limits) throws(ICEFailure) {
        factory = ICEAgentFactory(loop: loop, configuration: configuration, limits: limits)
        agents = ICEAgentSet(try factory.makeAgent(number: 0))
        factory.hold(self)
    }

    var limits: Limits { factory.limits }
    var configuration: ICEAgent.Configuration { factory.configuration }
    package var selectedPair: ICEAgent.SelectedPair? { agents.current.selectedPair }
    package var localCredentials: ICECredentials { agents.newest.credentials }

    // MARK: Starting and restarting

    /// The other side's credentials are known: checks begin.
    package func start(remote credentials: ICECredentials) {
        guard !isClosed, !isStarted else { return }
        isStarted = true
        agents.newest.setRemote(credentials)
    }

    /// Begins an ICE restart with new credentials on the addresses that the machine has now; then `gather`, tell the
    /// other side, and `start` with what it answers. A restart before this one is given up.
    /// - Throws: if this machine has no address to listen at, or too many agents were made; nothing has then changed.
    package func restart() throws(ICEFailure) {
        guard !isClosed else { return }
        guard !agents.isFull else { throw ICEFailure("too many connections of this session are still closing") }
        // Whoever restarts in vain gets the usual interval between checks: they are no small number any more.
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

    /// See ``ICEAgent/hasAnswered(within:now:)``, of the pair that packets are sent over.
    package func hasAnswered(within time: MediaDuration, now: MediaInstant) -> Bool {
        agents.current.hasAnswered(within: time, now: now)
    }

    // MARK: Receiving

    func received(_ datagram: UnsafeMutableRawBufferPointer, by number: Int) {
        guard !isClosed else { return }
        let now = MonotonicClock.now
        let agent = agents.current
        arrivedBy = number
        // In the first seconds of a pair any address will do. A new pair has just answered a check, which is consent
        // (RFC 7675 section 5.1), and the other side may use its former one for some time yet.
        isFromSelectedPair = isNew(agent, now) || number == agents.currentNumber && agent.isFromSelectedPair
        defer { isFromSelectedPair = false }
        delegate?.path(received: datagram, now: now)
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
        // The controlling side chooses (RFC 8445 section 8.1.1); libnice stays with its own pair. If both followed,
        // they would miss each other for ever.
        guard !factory.configuration.isControlling, let since = agent.pairSince,
            now - max(pairHeard ?? since, since) > Self.followAfter
        else { return }
        agent.followSource(now)
    }

    /// `failed` says nothing: a pair may come back, and what ends a session is silence.
    func changed(to state: ICEAgent.State, by number: Int) {
        guard state == .connected || state == .ready, !isClosed else { return }
        if number == agents.newestNumber, agents.next != nil {
            delegate?.pathWillMove()
            agents.useNext()
            delegate?.pathHasMoved()
        }
        guard !hasPath else { return }
        hasPath = true
        delegate?.pathIsConnected()
    }

    package func close(_ done: @escaping () -> Void) {
        isClosed = true
        delegate = nil
        factory.release()
        agents.close(done)
    }
}
