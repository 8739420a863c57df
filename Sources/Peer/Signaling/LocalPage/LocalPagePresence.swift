import LinuxRuntime
import NIOCore
import NIOPosix

/// Counts the pages that are open, and tells when there was none for a while after the last one. A page that is loaded
/// again is away for a moment.
final class LocalPagePresence: Sendable {
    private struct State {
        var count = 0
        /// Counts the times that a page was opened.
        var openings = 0
        var isClosed = false
    }

    private let absence: TimeAmount
    private let onAbsence: @Sendable () -> Void
    private let state = Monitor(State())

    init(absence: TimeAmount, onAbsence: @escaping @Sendable () -> Void) {
        (self.absence, self.onAbsence) = (absence, onAbsence)
    }

    func enter() {
        state.with { state in
            state.count += 1
            state.openings += 1
        }
    }

    /// - Parameter loop: of the page's connection.
    func leave(on loop: any EventLoop) {
        let openings = state.with { state -> Int? in
            state.count -= 1
            return state.count == 0 ? state.openings : nil
        }
        guard let openings else { return }
        loop.scheduleTask(in: absence) { [self] in
            if state.with({ $0.count == 0 && $0.openings == openings && !$0.isClosed }) { onAbsence() }
        }
    }

    func close() { state.with { $0.isClosed = true } }
}
