internal import CNice
internal import EventLoop
internal import Glibc
internal import LinuxRuntime
public import MediaCore
public import SessionDescription

/// One peer's session at an ``ICELiteSocket``. Confined to the socket's loop.
///
/// The peer controls (RFC 8445 section 6.1.1): it checks, and nominates the pair. This side checks an address once
/// before it sends anything there, and the selected one each 5 s for consent (RFC 7675).
///
/// An agent that controls is the other side of such a session, for many cheap viewers in one process: it checks the
/// candidates that it is given, takes the first one that answers, and nominates it.
public final class ICELiteAgent {
    /// The agent's callbacks, on the loop. They may be called from within a method of the agent.
    public struct Handlers {
        /// Another address is about to be selected.
        public var willSelect: () -> Void
        /// An address is selected; the first one, or another, because of a restart if `isRestart`.
        public var onSelection: (_ isRestart: Bool) -> Void
        /// Called with one datagram that is not STUN, and when it arrived in the socket. The datagram is lent for the
        /// call, and may be overwritten.
        public var onDatagram: (UnsafeMutableRawBufferPointer, MediaInstant) -> Void
        /// The peer did not answer after `checkConsent`.
        public var onPeerGone: () -> Void

        public init(
            willSelect: @escaping () -> Void, onSelection: @escaping (Bool) -> Void,
            onDatagram: @escaping (UnsafeMutableRawBufferPointer, MediaInstant) -> Void,
            onPeerGone: @escaping () -> Void = {}
        ) {
            self.willSelect = willSelect
            self.onSelection = onSelection
            self.onDatagram = onDatagram
            self.onPeerGone = onPeerGone
        }
    }

    /// The credentials of both sides between two restarts.
    struct Generation {
        let number: Int
        let local: ICECredentials
        var remote: ICECredentials?
    }

    /// An address that has sent an authentic request.
    struct Address {
        let endpoint: PeerEndpoint
        let storage: sockaddr_storage
        let socket: BoundSocket
        var generation: Int
        /// Of its last request.
        var priority: UInt32
        /// It has answered a check.
        var isProven = false
        var nominated: MediaInstant?
        var requested: MediaInstant
        /// The last check that is not answered yet.
        var checked: MediaInstant?
        var checks: ConsentChecks?
    }

    /// Whether the selected address still wants media (RFC 7675).
    struct Consent {
        /// When it last answered a check.
        var lastAnswer: MediaInstant?
        var nextCheck: MediaInstant?
        /// The last doubt, and whether the peer has answered since.
        var doubt: (since: MediaInstant, isSettled: Bool)?
    }

    /// An address with unanswered requests is checked at most so often.
    static let proofInterval = MediaDuration.milliseconds(50)
    /// An address that is not selected is forgotten after this time without a request.
    static let addressLifetime = MediaDuration.seconds(30)
    static let addressLimit = 8
    /// Requests from addresses that have not proved themselves are answered at most so often: their sources may be
    /// forged.
    static let unprovenLimit = (requests: 100, in: MediaDuration.seconds(1))
    /// While the selected address was nominated so short a time ago, one of lower priority does not replace it: with
    /// aggressive nomination (RFC 5245 section 8.1.1.2) all pairs are nominated.
    private static let nominationHold = MediaDuration.seconds(1)

    /// A peer that is doubted has so long to answer one of the checks, which are repeated.
    private static let doubtLimit = MediaDuration.milliseconds(2_500)
    /// A peer is doubted at most so often, as anybody can forge the reason.
    private static let doubtInterval = MediaDuration.seconds(30)

    let socket: ICELiteSocket
    var handlers: Handlers?
    var current: Generation
    /// Of a restart, until one of its addresses has proved itself.
    var next: Generation?
    /// The number of the newest generation, also of one that was dropped.
    var generations = 0
    var addresses: [Address] = []
    var selected: (endpoint: PeerEndpoint, socket: SelectedSocket)?
    public internal(set) var selectedPair: ICEAgent.SelectedPair?
    public internal(set) var counters = ICEAgent.Counters()
    /// Whether the datagram that is being delivered came from the selected address.
    public internal(set) var isFromSelectedPair = false
    var consent = Consent()
    /// Since when so many requests from addresses that are not proven were answered.
    var unproven: (since: MediaInstant, count: Int)?
    /// The peer's first DTLS flight, from an address that has not proved itself yet.
    var held: (endpoint: PeerEndpoint, datagram: [UInt8])?
    var isClosed = false
    let isControlling: Bool

    /// Begins a session with new credentials.
    public init(_ socket: ICELiteSocket, isControlling: Bool = false, handlers: Handlers) {
        self.socket = socket
        self.isControlling = isControlling
        self.handlers = handlers
        current = Generation(number: 0, local: socket.unusedCredentials())
        socket.register(self, as: current.local.usernameFragment)
    }

    /// Of this side, the newest.
    public var credentials: ICECredentials { (next ?? current).local }

    /// Whether an address has proved itself since the last restart.
    public var hasProvenPair: Bool { next == nil && selected != nil }

    /// Sets the peer's credentials.
    public func setRemote(_ credentials: ICECredentials) {
        if next != nil { next?.remote = credentials } else { current.remote = credentials }
        // Requests may have come before.
        let now = MonotonicClock.now
        for index in addresses.indices where !addresses[index].isProven { prove(index, now) }
    }

    /// Begins an ICE restart with new credentials (RFC 8445 section 2.4). The selected address stays until another one
    /// proves itself with them.
    public func restart() {
        guard !isClosed else { return }
        dropRestart()
        generations += 1
        let generation = Generation(number: generations, local: socket.unusedCredentials())
        socket.register(self, as: generation.local.usernameFragment)
        next = generation
    }

    /// Gives a restart up whose credentials nobody has used.
    public func dropRestart() {
        guard let next else { return }
        socket.unregister(next.local.usernameFragment)
        self.next = nil
    }

    /// Ends the session. May be called twice.
    public func close() {
        guard !isClosed else { return }
        isClosed = true
        dropRestart()
        socket.unregister(current.local.usernameFragment)
        for address in addresses { socket.release(address.endpoint, of: self) }
        addresses = []
        selected = nil
        held = nil
        handlers = nil
    }

    // MARK: Sending

    /// Sends one datagram to the selected address; drops it if there is none.
    public func send(_ datagram: UnsafeRawBufferPointer) {
        guard let selected, let base = datagram.baseAddress, selected.socket.isOpen else { return }
        if cnice_send_datagram(selected.socket.descriptor, selected.socket.remote, base, datagram.count) == 0 {
            counters.packetsSent += 1
            counters.bytesSent += datagram.count
        } else {
            counters.sendErrors += 1
        }
    }

    /// Sends packets of `lengths` that lie `stride` bytes apart, in order. Those that do not fit in the socket's buffer
    /// are dropped.
    public func sendBatch(_ base: UnsafeRawPointer, stride: Int, lengths: UnsafeBufferPointer<Int>) {
        guard let selected, selected.socket.isOpen else { return }
        selected.socket.send(base, stride: stride, lengths: lengths, counting: &counters)
    }

    /// Adds the memory that `sendBatch` is going to use.
    public func addMemory(to list: inout PrefetchList) {
        list.add(self, bytes: 640)
        selected?.socket.addMemory(to: &list)
    }

    /// Whether the selected address has answered a check within 30 s (RFC 7675 section 5.1).
    public func hasConsent(_ now: MediaInstant) -> Bool {
        consent.lastAnswer.map { now - $0 < ICEAgent.consentLimit } ?? false
    }

    /// Whether the selected address has answered a check within `time`.
    public func hasAnswered(within time: MediaDuration, now: MediaInstant) -> Bool {
        consent.lastAnswer.map { now - $0 <= time } ?? false
    }

    /// Checks the selected address at once, and calls `onPeerGone` if neither an answer nor an authentic packet comes.
    public func checkConsent(_ now: MediaInstant) {
        guard selected != nil, consent.doubt.map({ now - $0.since >= Self.doubtInterval }) ?? true else { return }
        consent.doubt = (now, false)
        consent.nextCheck = now
    }

    /// A packet that SRTP has verified has come from the peer.
    public func noteAuthentic(_ now: MediaInstant) {
        // Packets that it had sent before may arrive after the reason for the doubt.
        guard let open = consent.doubt, !open.isSettled, now - open.since > ICEAgent.repetitionInterval else { return }
        consent.doubt?.isSettled = true
    }

    func settleDoubt(_ now: MediaInstant) {
        guard let open = consent.doubt, !open.isSettled else { return }
        // Without a selected address, or during a restart, nothing is checked.
        if selected == nil || next != nil || consent.lastAnswer.map({ $0 > open.since }) ?? false {
            consent.doubt?.isSettled = true
        } else if now - open.since >= Self.doubtLimit {
            consent.doubt?.isSettled = true
            handlers?.onPeerGone()
        }
    }

    // MARK: Checks

    // MARK: The selected address

    func nominate(_ index: Int, _ now: MediaInstant) {
        let address = addresses[index]
        guard selected?.endpoint != address.endpoint || address.generation == next?.number else { return }
        if address.generation == current.number, let endpoint = selected?.endpoint,
            let present = addresses.first(where: { $0.endpoint == endpoint }), present.priority > address.priority,
            let nominated = present.nominated, now - nominated < Self.nominationHold
        {
            return
        }
        select(index, now)
    }

    func select(_ index: Int, _ now: MediaInstant) {
        let address = addresses[index]
        let isRestart = address.generation == next?.number
        if selected != nil { handlers?.willSelect() }
        if isRestart, let generation = next {
            socket.unregister(current.local.usernameFragment)
            current = generation
            next = nil
        }
        selected = (address.endpoint, SelectedSocket(address.socket, to: address.storage))
        selectedPair = ICEAgent.SelectedPair(
            localKind: "host", remoteKind: "prflx", local: address.socket.endpoint, remote: address.storage.endpoint)
        noteAnswer(now)
        if isControlling {
            // Until it is answered.
            consent.nextCheck = now + ICEAgent.repetitionInterval
            prove(index, now)
        }
        handlers?.onSelection(isRestart)
    }

    /// Whether an address has answered a check of this session.
    func hasProven(_ endpoint: PeerEndpoint) -> Bool {
        addresses.contains { $0.endpoint == endpoint && $0.isProven }
    }

    /// Forgets an address that has proved itself for another session.
    func lose(_ endpoint: PeerEndpoint) {
        addresses.removeAll { $0.endpoint == endpoint }
        guard selected?.endpoint == endpoint else { return }
        selected = nil
        consent.lastAnswer = nil
        consent.nextCheck = nil
    }

    // MARK: Datagrams

    /// Takes a datagram that is not STUN.
    func receive(_ datagram: UnsafeMutableRawBufferPointer, from endpoint: PeerEndpoint, at arrival: MediaInstant) {
        let isFromSelected = selected?.endpoint == endpoint
        guard isFromSelected || hasProven(endpoint) else {
            // DTLS: 20 to 63 (RFC 7983 section 7).
            if (20...63).contains(datagram[0]), datagram.count <= 1_500 { held = (endpoint, Array(datagram)) }
            return
        }
        counters.packetsReceived += 1
        counters.bytesReceived += datagram.count
        isFromSelectedPair = isFromSelected
        handlers?.onDatagram(datagram, arrival)
        isFromSelectedPair = false
    }
}
