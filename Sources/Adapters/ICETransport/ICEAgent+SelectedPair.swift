internal import CNice
internal import EventLoop
internal import Glibc

/// The selected pair, and the sockets that are read before libnice reads them.
extension ICEAgent {
    func selected(_ local: UnsafeMutablePointer<NiceCandidate>, _ remote: UnsafeMutablePointer<NiceCandidate>) {
        selectedPair = SelectedPair(
            localKind: local.kind, remoteKind: remote.kind, local: cnice_candidate_address(local).endpoint,
            remote: cnice_candidate_address(remote).endpoint)
        let last = socket
        socket = makeSelectedSocket(to: cnice_candidate_address(remote))
        watchAll()
        if let socket, let last, last.isSame(socket) {
            // The pair was selected before: its consent continues from the last answer.
        } else if let credentials = self.remote.credentials {
            beginConsent(credentials)
        }
        let held = early
        early = []
        for datagram in held { datagram.withUnsafeBytes { _ = send($0) } }
    }

    private func makeSelectedSocket(to remote: UnsafePointer<NiceAddress>) -> SelectedSocket? {
        guard let socket = nice_agent_get_selected_socket(nice.agent, nice.id, 1) else { return nil }
        let local = LocalSocket(owning: socket)
        guard [4, 6].contains(nice_address_ip_version(remote)) else { return nil }
        var address = sockaddr_storage()
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { nice_address_copy_to_sockaddr(remote, $0) }
        }
        local.descriptor.enlargeSocketBuffers(to: 1 << 20)
        return SelectedSocket(local, to: address)
    }

    /// Registers readers for all UDP sockets of the agent, if the pair is direct.
    private func watchAll() {
        guard socket != nil else { return watch([]) }
        guard let all = nice_agent_get_sockets(nice.agent, nice.id, 1) else { return }
        defer { g_ptr_array_unref(all) }
        var sockets: [LocalSocket] = []
        for index in 0..<Int(all.pointee.len) {
            guard let item = all.pointee.pdata[index] else { continue }
            let socket = item.assumingMemoryBound(to: GSocket.self)
            guard g_socket_get_socket_type(socket) == G_SOCKET_TYPE_DATAGRAM else { continue }
            sockets.append(LocalSocket(owning: g_object_ref(socket).assumingMemoryBound(to: GSocket.self)))
        }
        watch(sockets)
    }

    func watch(_ sockets: [LocalSocket]) {
        localSockets.replace(with: sockets) { descriptor in
            loop.makePriorityReader(descriptor) { self.receive(descriptor, into: $0) }
        }
    }

    /// Sends to `address` through `local` from now on.
    func move(to address: sockaddr_storage, through local: LocalSocket) {
        local.descriptor.enlargeSocketBuffers(to: 1 << 20)
        socket = SelectedSocket(local, to: address)
        selectedPair = SelectedPair(
            localKind: "host", remoteKind: "prflx", local: local.endpoint, remote: address.endpoint)
    }

    /// Whether the pair's datagrams pass a TURN server of this side.
    var isRelayed: Bool { selectedPair != nil && socket == nil }
    var isOpen: Bool { if case .open = closing { true } else { false } }
    func makeTimer(_ fire: @escaping () -> Void) -> LoopTimer { loop.makeTimer(fire) }
    func countConsentAnswer() { counters.consentAnswers += 1 }
}

extension Int32 {
    /// Asks for larger buffers of a socket: a key frame is a burst of hundreds of packets. The kernel reduces the size
    /// to its own limit.
    func enlargeSocketBuffers(to bytes: Int32) {
        var size = bytes
        setsockopt(self, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(self, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
}
