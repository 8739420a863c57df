import ExampleWindow
import Foundation
import ShareKit
import Synchronization

/// The newest frames of the running broadcasts, in the order in which they were first seen.
final class Stage: Sendable {
    private let state = Mutex<[(broadcast: ReceivedBroadcast, picture: Picture)]>([])

    /// Four at most.
    var seen: [(broadcast: ReceivedBroadcast, picture: Picture)] { state.withLock { Array($0.prefix(4)) } }

    /// Called on one thread for each broadcast. The first frame may come before the event that the broadcast has begun.
    func take(_ frame: borrowing BroadcastService.Frame, of broadcast: ReceivedBroadcast) {
        let known = state.withLock { $0.first { $0.broadcast == broadcast }?.picture }
        let picture = known ?? Picture()
        picture.update(width: frame.width, height: frame.height) { frame.copyBGRA(to: $0, stride: $1) }
        if known == nil { state.withLock { $0.append((broadcast, picture)) } }
        Window.wake()
    }

    func handle(_ event: BroadcastService.Event) {
        switch event {
        case .began, .annotated: break
        case .ended(let broadcast, let reason):
            state.withLock { $0.removeAll { $0.broadcast == broadcast } }
            report("\(broadcast.application) has ended: \(reason)")
        case .interrupted(let broadcast): report("\(broadcast.application) is not heard")
        case .resumed(let broadcast): report("\(broadcast.application) is heard again")
        case .refused(let application, let reason): report("\(application) is not taken: \(reason)")
        case .warning(let sentence): report(sentence)
        }
        Window.wake()
    }

    private func report(_ message: String) {
        FileHandle.standardError.write(Data("Conference: \(message)\n".utf8))
    }
}
