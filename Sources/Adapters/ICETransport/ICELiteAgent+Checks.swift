internal import CNice
internal import EventLoop
internal import Glibc
internal import LinuxRuntime
import MediaCore
public import SessionDescription

extension ICELiteAgent {
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
    func prove(_ index: Int, _ now: MediaInstant) {
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

    func noteAnswer(_ now: MediaInstant) {
        consent.lastAnswer = now
        // 0.8 to 1.2 of the interval (RFC 7675 section 5.1).
        consent.nextCheck =
            now
            + MediaDuration(nanoseconds: ICEAgent.checkInterval.nanoseconds / 100 * Int64.random(in: 80...120))
    }

    /// Makes the checks that are due, and forgets addresses.
    func handleTimeout(_ now: MediaInstant) {
        settleDoubt(now)
        if let due = consent.nextCheck, due <= now, let endpoint = selected?.endpoint,
            let index = addresses.firstIndex(where: { $0.endpoint == endpoint })
        {
            consent.nextCheck = now + ICEAgent.repetitionInterval
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
}
