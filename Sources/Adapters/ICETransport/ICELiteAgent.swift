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
    private struct Generation {
        let number: Int
        let local: ICECredentials
        var remote: ICECredentials?
    }

    /// An address that has sent an authentic request.
    private struct Address {
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

    /// An address with unanswered requests is checked at most so often.
    private static let proofInterval = MediaDuration.milliseconds(50)
    /// An address that is not selected is forgotten after this time without a request.
    private static let addressLifetime = MediaDuration.seconds(30)
    private static let addressLimit = 8
    /// Requests from addresses that have not proved themselves are answered at most so often: their sources may be
    /// forged.
    private static let unprovenLimit = (requests: 100, in: MediaDuration.seconds(1))
    /// While the selected address was nominated so short a time ago, one of lower priority does not replace it: with
    /// aggressive nomination (RFC 5245 section 8.1.1.2) all pairs are nominated.
    private static let nominationHold = MediaDuration.seconds(1)

    /// A peer that is doubted has so long to answer one of the checks, which are repeated.
    private static let doubtLimit = MediaDuration.milliseconds(2_500)
    /// A peer is doubted at most so often, as anybody can forge the reason.
    private static let doubtInterval = MediaDuration.seconds(30)

    private let socket: ICELiteSocket
    private var handlers: Handlers?
    private var current: Generation
    /// Of a restart, until one of its addresses has proved itself.
    private var next: Generation?
    /// The number of the newest generation, also of one that was dropped.
    private var generations = 0
    private var addresses: [Address] = []
    private var selected: (endpoint: PeerEndpoint, socket: SelectedSocket)?
    public private(set) var selectedPair: ICEAgent.SelectedPair?
    public private(set) var counters = ICEAgent.Counters()
    /// Whether the datagram that is being delivered came from the selected address.
    public private(set) var isFromSelectedPair = false
    /// When the selected address last answered a check.
    private var lastAnswer: MediaInstant?
    private var nextCheck: MediaInstant?
    /// The last doubt, and whether the peer has answered since.
    private var doubt: (since: MediaInstant, isSettled: Bool)?
    /// Since when so many requests from such addresses were answered.
    private var unproven: (since: MediaInstant, count: Int)?
    /// The peer's first DTLS flight, from an address that has not proved itself yet.
    private var held: (endpoint: PeerEndpoint, datagram: [UInt8])?
    private var isClosed = false
    private let isControlling: Bool

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
        lastAnswer.map { now - $0 < ICEAgent.consentLimit } ?? false
    }

    /// Whether the selected address has answered a check within `time`.
    public func hasAnswered(within time: MediaDuration, now: MediaInstant) -> Bool {
        lastAnswer.map { now - $0 <= time } ?? false
    }

    /// Checks the selected address at once, and calls `onPeerGone` if neither an answer nor an authentic packet comes.
    public func checkConsent(_ now: MediaInstant) {
        guard selected != nil, doubt.map({ now - $0.since >= Self.doubtInterval }) ?? true else { return }
        doubt = (now, false)
        nextCheck = now
    }

    /// A packet that SRTP has verified has come from the peer.
    public func noteAuthentic(_ now: MediaInstant) {
        // Packets that it had sent before may arrive after the reason for the doubt.
        guard let open = doubt, !open.isSettled, now - open.since > ICEAgent.repetitionInterval else { return }
        doubt?.isSettled = true
    }

    private func settleDoubt(_ now: MediaInstant) {
        guard let open = doubt, !open.isSettled else { return }
        // Without a selected address, or during a restart, nothing is checked.
        if selected == nil || next != nil || lastAnswer.map({ $0 > open.since }) ?? false {
            doubt?.isSettled = true
        } else if now - open.since >= Self.doubtLimit {
            doubt?.isSettled = true
            handlers?.onPeerGone()
        }
    }

    // MARK: Checks

    /// Answers a request of the peer.
    /// - Parameter username: that of the request.
    /// - Returns: false if it is not authentic.
    func handleRequest(
        _ datagram: UnsafeMutableRawBufferPointer, _ username: RequestUsername,
        from source: UnsafePointer<sockaddr_storage>, _ endpoint: PeerEndpoint, _ local: BoundSocket
    ) -> Bool {
        let isOfNext = username.fragment == next?.local.usernameFragment
        guard let base = datagram.baseAddress, let generation = isOfNext ? next : current else { return false }
        // RFC 8445 section 7.2.2. A request without the long fragment would cause a check that has it.
        if let remote = generation.remote, remote.usernameFragment != username.senderFragment { return false }
        let now = MonotonicClock.now
        return withUnsafeTemporaryAllocation(byteCount: 1_024, alignment: 8) { room in
            guard let answer = room.baseAddress else { return false }
            var nominates = false
            var priority: UInt32 = 0
            let length = cnice_answer_request(
                socket.stun, base.assumingMemoryBound(to: UInt8.self), datagram.count, username.bytes,
                username.length, generation.local.password, source, isControlling, socket.tieBreaker,
                answer.assumingMemoryBound(to: UInt8.self), room.count, &nominates, &priority)
            guard length > 0 else { return false }
            guard hasProven(endpoint) || takeUnproven(now) else { return true }
            guard let index = note(endpoint, source.pointee, local, generation.number, priority, now) else {
                return true
            }
            if nominates { addresses[index].nominated = now }
            // The check goes before the answer: the peer answers it before it sends its first DTLS flight.
            if !addresses[index].isProven { prove(index, now) }
            _ = cnice_send_datagram(local.descriptor, source, answer, length)
            if nominates, addresses[index].isProven { nominate(index, now) }
            return true
        }
    }

    /// Checks the peer's candidates, of an agent that controls. Call it after `setRemote`.
    public func check(_ candidates: [ICECandidate]) {
        let now = MonotonicClock.now
        for candidate in candidates {
            guard !isClosed, candidate.component == 1, candidate.transport == .udp,
                let place = sockaddr_storage(numeric: candidate.address, port: candidate.port),
                let (number, local) = socket.sockets.enumerated().first(where: { $0.element.canReach(place) }),
                let index = note(
                    PeerEndpoint(place, socket: number), place, local, current.number, candidate.priority, now)
            else { continue }
            prove(index, now)
        }
    }

    /// Whether another request from an address that has not proved itself is answered now.
    private func takeUnproven(_ now: MediaInstant) -> Bool {
        guard let window = unproven, now - window.since < Self.unprovenLimit.in else {
            unproven = (now, 1)
            return true
        }
        unproven = (window.since, window.count + 1)
        return window.count < Self.unprovenLimit.requests
    }

    /// - Returns: nil if there are too many addresses.
    private func note(
        _ endpoint: PeerEndpoint, _ storage: sockaddr_storage, _ local: BoundSocket, _ generation: Int,
        _ priority: UInt32, _ now: MediaInstant
    ) -> Int? {
        if let index = addresses.firstIndex(where: { $0.endpoint == endpoint }) {
            if addresses[index].generation < generation {
                // It has to prove that it has the new credentials.
                addresses[index].isProven = false
                addresses[index].generation = generation
                addresses[index].checks = nil
                addresses[index].checked = nil
            }
            addresses[index].requested = now
            addresses[index].priority = priority
            return index
        }
        if addresses.count >= Self.addressLimit {
            // The oldest that has not proved itself makes room.
            guard
                let oldest = addresses.indices.filter({ !addresses[$0].isProven })
                    .min(by: { addresses[$0].requested < addresses[$1].requested })
            else { return nil }
            socket.release(addresses[oldest].endpoint, of: self)
            addresses.remove(at: oldest)
        }
        addresses.append(
            Address(
                endpoint: endpoint, storage: storage, socket: local, generation: generation, priority: priority,
                requested: now))
        socket.assign(endpoint, to: self, isProven: false)
        return addresses.count - 1
    }

    /// Checks an address.
    private func prove(_ index: Int, _ now: MediaInstant) {
        let generation = addresses[index].generation
        guard let credentials = generation == next?.number ? next : current, let remote = credentials.remote,
            addresses[index].checked.map({ now - $0 >= Self.proofInterval }) ?? true
        else { return }
        if addresses[index].checks == nil {
            addresses[index].checks = ConsentChecks(
                local: credentials.local, remote: remote, isControlling: isControlling)
        }
        addresses[index].checked = now
        let descriptor = addresses[index].socket.descriptor
        // The peer may have got an answer through another pair first.
        let nominates = isControlling && selected?.endpoint == addresses[index].endpoint
        withUnsafePointer(to: addresses[index].storage) {
            addresses[index].checks?.send(to: $0, through: descriptor, number: 0, nominates: nominates)
        }
    }

    func handleResponse(_ datagram: UnsafeRawBufferPointer, from endpoint: PeerEndpoint) {
        guard let index = addresses.firstIndex(where: { $0.endpoint == endpoint }),
            addresses[index].checks?.responder(of: datagram) != nil
        else { return }
        let now = MonotonicClock.now
        counters.consentAnswers += 1
        // They take 14 KB, and the next check is seconds away.
        addresses[index].checks = nil
        addresses[index].checked = nil
        addresses[index].isProven = true
        socket.assign(endpoint, to: self, isProven: true)
        if selected?.endpoint == endpoint { noteAnswer(now) }
        if addresses[index].nominated != nil {
            nominate(index, now)
        } else if selected == nil || addresses[index].generation == next?.number {
            select(index, now)
        }
        guard let held, held.endpoint == endpoint else { return }
        self.held = nil
        var bytes = held.datagram
        bytes.withUnsafeMutableBytes { receive($0, from: endpoint, at: now) }
    }

    private func noteAnswer(_ now: MediaInstant) {
        lastAnswer = now
        // 0.8 to 1.2 of the interval (RFC 7675 section 5.1).
        nextCheck =
            now
            + MediaDuration(nanoseconds: ICEAgent.checkInterval.nanoseconds / 100 * Int64.random(in: 80...120))
    }

    /// Makes the checks that are due, and forgets addresses.
    func handleTimeout(_ now: MediaInstant) {
        settleDoubt(now)
        if let due = nextCheck, due <= now, let endpoint = selected?.endpoint,
            let index = addresses.firstIndex(where: { $0.endpoint == endpoint })
        {
            nextCheck = now + ICEAgent.repetitionInterval
            prove(index, now)
        }
        if isControlling, selected == nil {
            for index in addresses.indices where !addresses[index].isProven { prove(index, now) }
        }
        addresses.removeAll { address in
            guard address.endpoint != selected?.endpoint, now - address.requested > Self.addressLifetime else {
                return false
            }
            socket.release(address.endpoint, of: self)
            return true
        }
    }

    // MARK: The selected address

    private func nominate(_ index: Int, _ now: MediaInstant) {
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

    private func select(_ index: Int, _ now: MediaInstant) {
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
            nextCheck = now + ICEAgent.repetitionInterval
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
        lastAnswer = nil
        nextCheck = nil
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
