import Synchronization

/// Questions to the user, from any thread to the main thread.
public final class Questions: Sendable {
    public struct Question: Sendable {
        public let text: String
        public let answer: @Sendable (Bool) -> Void
    }

    private let waiting = Mutex<[Question]>([])

    public init() {}

    public func ask(_ text: String) async -> Bool {
        await withCheckedContinuation { continuation in
            waiting.withLock { $0.append(Question(text: text) { continuation.resume(returning: $0) }) }
            Window.wake()
        }
    }

    public func next() -> Question? { waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
}
