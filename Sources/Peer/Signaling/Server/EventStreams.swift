import Synchronization

/// The open server-sent-events streams of a broadcast's viewers, or of a service's hosts.
///
/// Each stream queues 64 events at most; a stream whose client reads more slowly is closed, and the client may open
/// another. The owner of a token has four streams at most. Its fifth closes its oldest, which may belong to a network
/// that the client has left.
final class EventStreams: Sendable {
    struct Stream: Sendable {
        let id: Int
        let events: AsyncStream<String>
        let finish: @Sendable () -> Void
        let beat: @Sendable () -> Void
    }

    private struct State {
        var streams: [Int: (owner: TokenHash, continuation: AsyncStream<String>.Continuation)] = [:]
        var next = 0
        /// The lasting events that were sent on all streams, in the order in which their keys were sent first:
        /// `alternates` before `reconnect`, which needs them.
        var lasting: [(key: String, text: String)] = []
        /// The final event of all streams.
        var ended: String?
        /// Fulfilled when all streams of the set have closed.
        var closings: [(streams: Set<Int>, done: Promise<Void>)] = []

        mutating func keep(_ text: String?, key: String) {
            let index = lasting.firstIndex { $0.key == key }
            switch (index, text) {
            case (let index?, let text?): lasting[index].text = text
            case (let index?, nil): lasting.remove(at: index)
            case (nil, let text?): lasting.append((key, text))
            case (nil, nil): break
            }
        }

        /// - Returns: the number of streams that were closed because their queue was full.
        func send(_ text: String, where isReceiver: (TokenHash) -> Bool) -> Int {
            var dropped = 0
            for stream in streams.values where isReceiver(stream.owner) {
                guard case .dropped = stream.continuation.yield(text) else { continue }
                stream.continuation.finish()
                dropped += 1
            }
            return dropped
        }
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let capacityPerOwner = 4

    init(capacity: Int) { self.capacity = capacity }

    func hasRoom(for owner: TokenHash) -> Bool {
        state.withLock { state in
            state.streams.count < capacity || state.streams.values.contains { $0.owner == owner }
        }
    }

    /// Opens a stream. It begins with the lasting events of all streams. If there was a final event of all streams, it
    /// follows and the stream ends.
    func open(_ owner: TokenHash) -> Stream {
        let (events, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(64))
        let id = state.withLock { state in
            let own = state.streams.filter { $0.value.owner == owner }
            if own.count >= capacityPerOwner || state.streams.count >= capacity, let oldest = own.keys.min() {
                state.streams.removeValue(forKey: oldest)?.continuation.finish()
            }
            state.next += 1
            // Others have opened streams since `hasRoom`.
            guard state.streams.count < capacity else {
                continuation.finish()
                return state.next
            }
            continuation.yield(":\n\n")
            for event in state.lasting { continuation.yield(event.text) }
            if let ended = state.ended {
                continuation.yield(ended)
                continuation.finish()
            }
            state.streams[state.next] = (owner, continuation)
            return state.next
        }
        return Stream(
            id: id, events: events, finish: { continuation.finish() },
            beat: { if case .dropped = continuation.yield(":\n\n") { continuation.finish() } })
    }

    /// Returns whether this stream is open, has not been ended by the server, and is the only one of its owner.
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
    func send(_ event: some StreamEvent) -> Int {
        state.withLock { state in
            state.keep(event.lasting?.serialized, key: event.lastingKey)
            return state.send(event.serialized) { _ in true }
        }
    }

    /// Sends events, as text, on the streams of one owner.
    /// - Returns: the number of streams that were closed because their queue was full.
    func send(_ events: [String], to owner: TokenHash) -> Int {
        state.withLock { state in events.reduce(0) { $0 + state.send($1) { $0 == owner } } }
    }

    /// Sends the final event of one owner on its streams, which then end.
    func finish(_ owner: TokenHash, _ event: some StreamEvent) {
        let text = event.serialized
        state.withLock { state in
            for stream in state.streams.values where stream.owner == owner {
                stream.continuation.yield(text)
                stream.continuation.finish()
            }
        }
    }

    /// Sends the final event on every stream. Returns when all have written it, after `limit` at most.
    func end(_ event: some StreamEvent, limit: Duration) async {
        let text = event.serialized
        let isFirst = state.withLock { state in
            defer { state.ended = state.ended ?? text }
            return state.ended == nil
        }
        await finish(isFirst ? text : nil, limit: limit) { _ in true }
    }

    /// Sends the final event of these owners on their streams. Returns when all have written it, after `limit` at most.
    func end(_ event: some StreamEvent, of owners: Set<TokenHash>, limit: Duration) async {
        await finish(event.serialized, limit: limit) { owners.contains($0) }
    }

    /// Ends streams.
    /// - Parameter text: their last event; nil if they have been ended before and are only waited for.
    private func finish(_ text: String?, limit: Duration, where isMeant: (TokenHash) -> Bool) async {
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
