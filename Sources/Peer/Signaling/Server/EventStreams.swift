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
        var ended: HostEvent?
        var onEmpty: Promise<Void>?
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

    /// Opens a stream. It begins with the present number of viewers. If the broadcast has ended, `ended` follows and
    /// the stream ends.
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
        let onEmpty = state.withLock { state in
            state.streams.removeValue(forKey: id)?.continuation.finish()
            return state.streams.isEmpty ? state.onEmpty : nil
        }
        onEmpty?.fulfil(())
    }

    /// Sends an event on all streams.
    /// - Returns: the number of streams that were closed because their queue was full.
    func send(_ event: HostEvent) -> Int {
        let text = event.serialized
        return state.withLock { state in
            if case .viewerCount = event { state.count = event }
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
        let text = event.serialized
        let empty: Promise<Void>? = state.withLock { state in
            if state.ended == nil {
                state.ended = event
                for stream in state.streams.values {
                    stream.continuation.yield(text)
                    stream.continuation.finish()
                }
            }
            guard !state.streams.isEmpty else { return nil }
            let empty = state.onEmpty ?? Promise<Void>()
            state.onEmpty = empty
            return empty
        }
        guard let empty else { return }
        let deadline = Task {
            if (try? await Task.sleep(for: limit)) != nil { empty.fulfil(()) }
        }
        await empty.value
        deadline.cancel()
    }

    var hasEnded: Bool { state.withLock { $0.ended != nil } }
    var count: Int { state.withLock { $0.streams.count } }
}
