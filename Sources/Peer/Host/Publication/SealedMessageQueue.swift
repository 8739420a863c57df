import Signaling
import Synchronization

/// Has a relay pass on what is encrypted for its viewers: in its order, with one request at a time. Safe from any
/// thread.
///
/// Of what waits the oldest frames are left out, and of the boxes for one viewer all but the newest.
final class SealedMessageQueue: Sendable {
    private struct State {
        var waiting = SealedMessages()
        var isSending = false
    }

    private let state = Mutex(State())
    private let deliver: @Sendable (SealedMessages) async -> Void
    /// Between two requests.
    private static let interval = Duration.milliseconds(33)

    init(_ deliver: @escaping @Sendable (SealedMessages) async -> Void) { self.deliver = deliver }

    /// - Parameter isDroppable: a newer one may take its place.
    func add(frame: String, isDroppable: Bool) { add { $0.add(frame: frame, isDroppable: isDroppable) } }

    func add(box: String, for viewer: [UInt8]) { add { $0.add(box: box, for: viewer) } }

    private func add(_ change: (inout SealedMessages) -> Void) {
        let isFirst = state.withLock { state in
            change(&state.waiting)
            defer { state.isSending = true }
            return !state.isSending
        }
        if isFirst { Task { await send() } }
    }

    private func send() async {
        while let part = takePart() {
            await deliver(part)
            try? await Task.sleep(for: Self.interval)
        }
    }

    private func takePart() -> SealedMessages? {
        state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.takePart() }
            state.isSending = false
            return nil
        }
    }
}
