import Synchronization

/// Whether the user of this process is being asked something, in the terminal, in a window or by a notification. Safe
/// from any thread.
package final class OpenQuestions: Sendable {
    package static let ofProcess = OpenQuestions()

    private struct State {
        var count = 0
        var handler: (@Sendable (Bool) -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    /// Sets who is told when the first question begins, and when the last one has ended; nil: nobody.
    /// - Parameter handler: called at once, too, and then on any thread, in the right order. Must not block.
    package func onChange(_ handler: (@Sendable (Bool) -> Void)?) {
        state.withLock { state in
            state.handler = handler
            handler?(state.count > 0)
        }
    }

    /// Runs something that asks the user.
    package func asking<Answer: Sendable>(_ body: () async -> Answer) async -> Answer {
        begin()
        defer { end() }
        return await body()
    }

    package func begin() { add(1) }
    package func end() { add(-1) }

    private func add(_ number: Int) {
        state.withLock { state in
            let wasOpen = state.count > 0
            state.count += number
            if wasOpen != (state.count > 0) { state.handler?(state.count > 0) }
        }
    }
}
