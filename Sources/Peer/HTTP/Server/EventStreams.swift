package import Identifiers
import LinuxRuntime
import Synchronization

/// The open server-sent-events streams of a broadcast's viewers, or of a service's hosts.
///
/// Each stream queues 64 events at most; a stream whose client reads more slowly is closed, and the client may open
/// another. The owner of a token has four streams at most, and each session has two of its own. One more closes the
/// oldest, which may belong to a network that the client has left.
package final class EventStreams: Sendable {
    package struct Stream: Sendable {
        package let id: Int
        package let events: AsyncMapSequence<AsyncStream<String>, String>
        package let finish: @Sendable () -> Void
        package let beat: @Sendable () -> Void
    }

    private struct Entry {
        let owner: TokenHash
        /// Nil: it has the events of all sessions of its owner.
        let session: SessionID?
        let continuation: AsyncStream<String>.Continuation
        let queue: Queue

        /// - Returns: false if the stream was closed because its queue was full.
        func send(_ text: String) -> Bool {
            queue.length.wrappingAdd(1, ordering: .relaxed)
            guard case .dropped = continuation.yield(text) else { return true }
            continuation.finish()
            return false
        }
    }

    /// How many events of a stream are not read yet.
    private final class Queue: Sendable {
        let length = Atomic(0)
    }

    private struct State {
        var streams: [Int: Entry] = [:]
        var next = 0
        /// The lasting events that were sent on all streams, in the order in which their keys were sent first:
        /// `alternates` before `reconnect`, which needs them.
        var lasting: [(key: String, text: String)] = []
        /// The lasting event that each stream gets with a mark of its own.
        var marked: (@Sendable (String) -> String)?
        var markedKey = ""
        /// The final event of all streams.
        var ended: String?
        /// Fulfilled when all streams of the set have closed.
        var closings: [(streams: Set<Int>, done: OneShot<Void>)] = []

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
        func send(_ text: String, where isReceiver: (Entry) -> Bool) -> Int {
            var dropped = 0
            for stream in streams.values where isReceiver(stream) && !stream.send(text) { dropped += 1 }
            return dropped
        }
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let capacityPerOwner = 4
    /// Events that wait on a stream: from then on those that may be left out are.
    private let droppableQueue = 8
    private let capacityPerSession = 2
    /// Makes the mark of a stream; nil: there are none.
    private let makeMark: (@Sendable () -> String)?

    package init(capacity: Int, makeMark: (@Sendable () -> String)? = nil) {
        self.capacity = capacity
        self.makeMark = makeMark
    }

    /// Whether streams get marks, which are to be renewed.
    package var hasMarks: Bool { makeMark != nil }

    /// Sends the event with the mark again on one stream, with another mark.
    package func renewMark(on id: Int) {
        guard let makeMark else { return }
        state.withLock { state in
            guard let marked = state.marked, let stream = state.streams[id] else { return }
            _ = stream.send(marked(makeMark()))
        }
    }

    /// Whether there is room for a stream, or one of this owner and session makes room.
    package func hasRoom(for owner: TokenHash, session: SessionID?) -> Bool {
        state.withLock { state in
            state.streams.count < capacity
                || state.streams.values.contains { $0.owner == owner && $0.session == session }
        }
    }

    /// Opens a stream. It begins with the lasting events of all streams. If there was a final event of all streams, it
    /// follows and the stream ends.
    /// - Parameter session: the one whose events it has; nil: those of all sessions of the owner.
    package func open(_ owner: TokenHash, session: SessionID? = nil) -> Stream {
        let (texts, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(64))
        let queue = Queue()
        let events = texts.map { text in
            queue.length.wrappingSubtract(1, ordering: .relaxed)
            return text
        }
        let id = state.withLock { state in
            let own = state.streams.filter { $0.value.owner == owner && $0.value.session == session }
            let limit = session == nil ? capacityPerOwner : capacityPerSession
            if own.count >= limit || state.streams.count >= capacity, let oldest = own.keys.min() {
                state.streams.removeValue(forKey: oldest)?.continuation.finish()
            }
            state.next += 1
            // Others have opened streams since `hasRoom`.
            guard state.streams.count < capacity else {
                continuation.finish()
                return state.next
            }
            let entry = Entry(owner: owner, session: session, continuation: continuation, queue: queue)
            _ = entry.send(":\n\n")
            for event in state.lasting {
                if let makeMark, event.key == state.markedKey, let marked = state.marked {
                    _ = entry.send(marked(makeMark()))
                } else {
                    _ = entry.send(event.text)
                }
            }
            if let ended = state.ended {
                _ = entry.send(ended)
                continuation.finish()
            }
            state.streams[state.next] = entry
            return state.next
        }
        return Stream(
            id: id, events: events, finish: { continuation.finish() },
            beat: { _ = Entry(owner: owner, session: session, continuation: continuation, queue: queue).send(":\n\n") })
    }

    /// Returns whether this stream is open, has not been ended by the server, and is the only one of its owner, or of
    /// its session.
    package func isLast(_ id: Int) -> Bool {
        state.withLock { state in
            guard state.ended == nil, let last = state.streams[id] else { return false }
            return state.streams.values.count {
                $0.owner == last.owner && ($0.session == nil || last.session == nil || $0.session == last.session)
            } == 1
        }
    }

    package func close(_ id: Int) {
        let closed: [OneShot<Void>] = state.withLock { state in
            state.streams.removeValue(forKey: id)?.continuation.finish()
            for index in state.closings.indices { state.closings[index].streams.remove(id) }
            defer { state.closings.removeAll { $0.streams.isEmpty } }
            return state.closings.filter(\.streams.isEmpty).map(\.done)
        }
        for promise in closed { promise.fulfil(()) }
    }

    /// Sends an event on all streams.
    /// - Returns: the number of streams that were closed because their queue was full.
    package func send(_ event: some StreamEvent) -> Int {
        state.withLock { state in
            state.keep(event.lasting?.serialized, key: event.lastingKey)
            guard let makeMark else { return state.send(event.serialized) { _ in true } }
            if state.markedKey == event.lastingKey { state.marked = nil }
            guard event.marked("") != nil else { return state.send(event.serialized) { _ in true } }
            let marked: @Sendable (String) -> String = { (event.marked($0) ?? event).serialized }
            (state.marked, state.markedKey) = (marked, event.lastingKey)
            return state.streams.values.count { !$0.send(marked(makeMark())) }
        }
    }

    /// Sends an event on all streams but those whose client has not read the events before it.
    package func sendDroppable(_ event: some StreamEvent) {
        let text = event.serialized
        state.withLock { state in
            _ = state.send(text) { $0.queue.length.load(ordering: .relaxed) < droppableQueue }
        }
    }

    /// The owners of open streams.
    package var owners: Set<TokenHash> { state.withLock { Set($0.streams.values.map(\.owner)) } }

    /// Sends an event, as text, on the streams of one owner but those whose client has not read the events before it.
    package func sendDroppable(_ text: String, to owner: TokenHash) {
        state.withLock { state in
            _ = state.send(text) {
                $0.owner == owner && $0.queue.length.load(ordering: .relaxed) < droppableQueue
            }
        }
    }

    /// Sends events, as text, on the streams of one owner.
    /// - Returns: the number of streams that were closed because their queue was full.
    package func send(_ events: [String], to owner: TokenHash) -> Int {
        state.withLock { state in events.reduce(0) { $0 + state.send($1) { $0.owner == owner } } }
    }

    /// Sends events, as text, on one stream.
    /// - Returns: 1 if the stream was closed because its queue was full.
    package func send(_ events: [String], on id: Int) -> Int {
        state.withLock { state in
            guard let stream = state.streams[id] else { return 0 }
            return events.allSatisfy { stream.send($0) } ? 0 : 1
        }
    }

    /// Sends an event, as text, on the streams of sessions, and on those of their owners that are of no single session.
    /// - Parameters:
    ///   - sessions: with their owners.
    ///   - shared: a token that several clients have, whose streams of no single session do not get it.
    /// - Returns: the number of streams that were closed because their queue was full.
    package func send(_ text: String, to sessions: [SessionID: TokenHash], shared: TokenHash?) -> Int {
        let owners = Set(sessions.values)
        return state.withLock { state in
            state.send(text) { stream in
                guard let session = stream.session else {
                    return stream.owner != shared && owners.contains(stream.owner)
                }
                return sessions[session] == stream.owner
            }
        }
    }

    /// Sends the final event of one owner on its streams, which then end.
    package func finish(_ owner: TokenHash, _ event: some StreamEvent) {
        let text = event.serialized
        state.withLock { state in
            for stream in state.streams.values where stream.owner == owner {
                _ = stream.send(text)
                stream.continuation.finish()
            }
        }
    }

    /// Sends the final event on every stream. Returns when all have written it, after `limit` at most.
    package func end(_ event: some StreamEvent, limit: Duration) async {
        let text = event.serialized
        let isFirst = state.withLock { state in
            defer { state.ended = state.ended ?? text }
            return state.ended == nil
        }
        await finish(isFirst ? text : nil, limit: limit) { _ in true }
    }

    /// Sends the final event of these owners on their streams. Returns when all have written it, after `limit` at most.
    package func end(_ event: some StreamEvent, of owners: Set<TokenHash>, limit: Duration) async {
        await finish(event.serialized, limit: limit) { owners.contains($0) }
    }

    /// Ends streams.
    /// - Parameter text: their last event; nil if they have been ended before and are only waited for.
    private func finish(_ text: String?, limit: Duration, where isMeant: (TokenHash) -> Bool) async {
        let done = OneShot<Void>()
        let isClosing = state.withLock { state in
            let streams = state.streams.filter { isMeant($0.value.owner) }
            if let text {
                for stream in streams.values {
                    _ = stream.send(text)
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

    package var hasEnded: Bool { state.withLock { $0.ended != nil } }
    var count: Int { state.withLock { $0.streams.count } }
}
