import Synchronization

/// The open server-sent-events streams of a broadcast.
///
/// Each stream queues 64 events at most; a stream whose viewer reads more slowly is closed, and the viewer may open
/// another. A viewer has four streams at most. Its fifth closes its oldest, which may belong to a network that the
/// viewer has left.
final class EventStreams: Sendable {
    struct Stream: Sendable {
        let id: Int
        let events: AsyncStream<String>
        let finish: @Sendable () -> Void
        let beat: @Sendable () -> Void
    }

    private struct State {
        var streams: [Int: (owner: AdmissionRegister.TokenHash, continuation: AsyncStream<String>.Continuation)] = [:]
        var next = 0
        var count: HostEvent?
        /// The last `paused` or `resumed`; nil before the first pause.
        var pause: HostEvent?
        var ended: HostEvent?
        /// Fulfilled when all streams of the set have closed.
        var closings: [(streams: Set<Int>, done: Promise<Void>)] = []
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let capacityPerViewer = 4

    init(capacity: Int) { self.capacity = capacity }

    func hasRoom(for owner: AdmissionRegister.TokenHash) -> Bool {
        state.withLock { state in
            state.streams.count < capacity || state.streams.values.contains { $0.owner == owner }
        }
    }

    /// Opens a stream. It begins with the present number of viewers, and whether the broadcast is paused if it has ever
    /// been. If the broadcast has ended, `ended` follows and the stream ends.
    func open(_ owner: AdmissionRegister.TokenHash) -> Stream {
        let (events, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(64))
        let id = state.withLock { state in
            let own = state.streams.filter { $0.value.owner == owner }
            if own.count >= capacityPerViewer || state.streams.count >= capacity, let oldest = own.keys.min() {
                state.streams.removeValue(forKey: oldest)?.continuation.finish()
            }
            state.next += 1
            continuation.yield(":\n\n")
            if let count = state.count { continuation.yield(count.serialized) }
            if let pause = state.pause { continuation.yield(pause.serialized) }
            if let ended = state.ended {
                continuation.yield(ended.serialized)
                continuation.finish()
            }
            state.streams[state.next] = (owner, continuation)
            return state.next
        }
        return Stream(
            id: id, events: events, finish: { continuation.finish() },
            beat: { if case .dropped = continuation.yield(":\n\n") { continuation.finish() } })
    }

    /// Returns whether this stream is open, has not been ended by the host, and is the only one of its viewer.
    func isLast(_ id: Int) -> Bool {
        state.withLock { state in
            guard state.ended == nil, let owner = state.streams[id]?.owner else { return false }
            return state.streams.values.count { $0.owner == owner } == 1
        }
    }

    func close(_ id: Int) {
        let closed: [Promise<Void>] = state.withLock { state in
            state.streams.removeValue(forKey: id)?.continuation.finish()
            for index in state.closings.indices { state.closings[index].streams.remove(id) }
            defer { state.closings.removeAll { $0.streams.isEmpty } }
            return state.closings.filter(\.streams.isEmpty).map(\.done)
        }
        for promise in closed { promise.fulfil(()) }
    }

    /// Sends an event on all streams.
    /// - Returns: the number of streams that were closed because their queue was full.
    func send(_ event: HostEvent) -> Int {
        let text = event.serialized
        return state.withLock { state in
            switch event {
            case .viewerCount: state.count = event
            case .paused, .resumed: state.pause = event
            default: break
            }
            var dropped = 0
            for stream in state.streams.values {
                guard case .dropped = stream.continuation.yield(text) else { continue }
                stream.continuation.finish()
                dropped += 1
            }
            return dropped
        }
    }

    /// Sends an event on the streams of one viewer.
    /// - Returns: the number of streams that were closed because their queue was full.
    func send(_ event: HostEvent, to owner: AdmissionRegister.TokenHash) -> Int {
        let text = event.serialized
        return state.withLock { state in
            var dropped = 0
            for stream in state.streams.values where stream.owner == owner {
                guard case .dropped = stream.continuation.yield(text) else { continue }
                stream.continuation.finish()
                dropped += 1
            }
            return dropped
        }
    }

    /// Sends `ended` on every stream. Returns when all have written it, after `limit` at most.
    func end(reason: String, limit: Duration) async {
        let event = HostEvent.ended(reason: reason)
        let isFirst = state.withLock { state in
            defer { state.ended = state.ended ?? event }
            return state.ended == nil
        }
        await finish(event: isFirst ? event : nil, limit: limit) { _ in true }
    }

    /// Sends the last event of these viewers on their streams. Returns when all have written it, after `limit` at most.
    func end(_ event: HostEvent, of owners: Set<AdmissionRegister.TokenHash>, limit: Duration) async {
        await finish(event: event, limit: limit) { owners.contains($0) }
    }

    /// Ends streams.
    /// - Parameter event: their last event; nil if they have been ended before and are only waited for.
    private func finish(
        event: HostEvent?, limit: Duration, where isMeant: (AdmissionRegister.TokenHash) -> Bool
    ) async {
        let text = event?.serialized
        let done = Promise<Void>()
        let isClosing = state.withLock { state in
            let streams = state.streams.filter { isMeant($0.value.owner) }
            if let text {
                for stream in streams.values {
                    stream.continuation.yield(text)
                    stream.continuation.finish()
                }
            }
            if !streams.isEmpty { state.closings.append((Set(streams.keys), done)) }
            return !streams.isEmpty
        }
        guard isClosing else { return }
        let deadline = Task {
            if (try? await Task.sleep(for: limit)) != nil { done.fulfil(()) }
        }
        await done.value
        deadline.cancel()
    }

    var hasEnded: Bool { state.withLock { $0.ended != nil } }
    var count: Int { state.withLock { $0.streams.count } }
}
