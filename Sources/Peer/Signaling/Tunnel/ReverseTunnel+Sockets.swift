import HTTP
import HTTPTypes
import MediaCore
import Synchronization

/// WebSockets of viewers, whose texts go to the host and come from it.
extension ReverseTunnel {
    /// Opens a WebSocket at the host, and waits for its response.
    /// - Parameter response: the fields of the response 101.
    func open(_ call: RouteRequest, limits: MessageSocket.Limits, response: HTTPFields) async -> RouteResponse {
        var limits = limits
        limits.queue = self.limits.sockets.unreadTexts
        var reply = await forward(call, opening: MessageSocket(.server, limits: limits))
        // Hosts of earlier versions refuse it.
        guard reply.upgrade != nil else { return reply }
        for field in response { reply.headers[field.name] = field.value }
        return reply
    }

    /// Passes texts on until one side closes the socket.
    /// - Parameter parts: what the host sends.
    func pass(_ socket: MessageSocket, _ parts: AsyncStream<String>, of number: Int) async {
        let writing = Task {
            for await text in parts {
                read(text.utf8.count, of: number)
                socket.send(text)
            }
            // The host is not connected any more, if it has given no other reason.
            socket.close(.goingAway)
        }
        for await message in socket.messages {
            guard case .text(let text) = message else {
                socket.close(.invalidText)
                break
            }
            guard send(text, of: number) else {
                socket.close(.policy)
                break
            }
        }
        cancel(number, absent, ifWaiting: false)
        _ = await writing.value
    }

    /// - Returns: false if it is too much, or the host is away.
    private func send(_ text: String, of number: Int) -> Bool {
        let event = TunnelEvent.text(ForwardedText(number: number, text: text)).serialized
        let bytes = event.utf8.count
        return state.withLock { state in
            guard let stream = state.stream, let pending = state.pending[number], bytes <= TunnelEvent.lengthLimit,
                state.unwritten + bytes <= limits.unwritten
            else { return false }
            let now = ContinuousClock.now
            var texts =
                pending.texts
                ?? TokenBucket(burst: limits.sockets.bytes, rate: limits.sockets.bytesPerSecond, now: now)
            texts.refill(now)
            guard texts.has(Double(bytes)),
                case .enqueued = stream.feed.yield(Outgoing(text: event, number: number))
            else { return false }
            texts.take(Double(bytes))
            state.pending[number]?.texts = texts
            state.unwritten += bytes
            return true
        }
    }
}
