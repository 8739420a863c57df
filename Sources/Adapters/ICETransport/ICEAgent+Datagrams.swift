internal import CNice
internal import EventLoop
internal import Glibc

/// Sending and receiving over the selected pair.
extension ICEAgent {
    /// Sends one datagram over the selected pair. Allocates: never when the pair is direct.
    ///
    /// Before there is a pair, the first few datagrams are held until there is one: the other side may have its pair
    /// half a round trip earlier, and its ClientHello is then answered at once instead of after a timeout.
    /// - Returns: false if the datagram is dropped: too many are held, or the socket's buffer is full, which is
    ///   counted.
    @discardableResult
    public func send(_ datagram: UnsafeRawBufferPointer) -> Bool {
        guard case .open = closing, let base = datagram.baseAddress else { return false }
        if selectedPair == nil {
            guard early.count < Self.earlyLimit else { return false }
            early.append(Array(datagram))
            return true
        }
        let before = counters.packetsSent
        withUnsafePointer(to: datagram.count) { count in
            sendBatch(base, stride: 0, lengths: UnsafeBufferPointer(start: count, count: 1))
        }
        return counters.packetsSent > before
    }

    /// Sends packets that lie `stride` bytes apart, in order. Runs of equal sizes, of which the last may be shorter,
    /// are sent in one system call (UDP_SEGMENT) when the pair is direct. Packets that do not fit in the socket's
    /// buffer are dropped and counted. Allocates: never when the pair is direct.
    public func sendBatch(_ base: UnsafeRawPointer, stride: Int, lengths: UnsafeBufferPointer<Int>) {
        assert(loop.isOnLoop)
        guard case .open = closing else { return }
        if let socket, socket.isOpen {
            socket.send(base, stride: stride, lengths: lengths, counting: &counters)
            return
        }
        for (index, length) in lengths.enumerated() {
            let bytes = (base + index * stride).assumingMemoryBound(to: gchar.self)
            let sent = nice_agent_send(nice.agent, nice.id, 1, guint(truncatingIfNeeded: length), bytes)
            if sent == length {
                counters.packetsSent += 1
                counters.bytesSent += length
            } else if selectedPair != nil {
                counters.packetsDropped += 1
            } else {
                counters.sendErrors += 1
            }
        }
    }

    /// Reads a socket that is readable, before libnice does. libnice reads a socket until it is empty, and GLib
    /// allocates an error object each time.
    /// - Returns: false if libnice has to read the next datagram.
    func receive(_ descriptor: Int32, into room: UnsafeMutableRawBufferPointer) -> Bool {
        let selected = socket?.descriptor == descriptor ? socket : nil
        guard let local = localSockets[descriptor] else { return false }
        return withUnverifiedAddress(at: descriptor) { other in
            local.receive(
                from: selected?.remote, or: other, into: room, checks: consent.checks, limit: Self.receiveLimit
            ) { event in
                switch event {
                case .media(let datagram):
                    counters.packetsReadDirectly += 1
                    isFromSelectedPair = true
                    received(datagram)
                    isFromSelectedPair = false
                case .mediaFromUnverifiedAddress(let datagram):
                    refreshUnverifiedAddress()
                    received(datagram)
                case .checkResponse(let datagram): handleCheckResponse(datagram)
                case .other(let address): noteUnverifiedAddress(address, at: descriptor)
                }
                return selected === (socket?.descriptor == descriptor ? socket : nil)
            }
        }
    }

    func receivedByLibnice(_ datagram: UnsafeMutableRawBufferPointer) {
        isFromSelectedPair = isRelayed && state != .failed
        received(datagram)
        isFromSelectedPair = false
    }

    private func received(_ datagram: UnsafeMutableRawBufferPointer) {
        assert(loop.isOnLoop)
        counters.packetsReceived += 1
        counters.bytesReceived += datagram.count
        handlers.onDatagram(datagram)
    }
}
