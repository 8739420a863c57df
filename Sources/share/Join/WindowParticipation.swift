import CommandSupport
import HTTP
import LinuxRuntime
import MediaCore
import ShareKit
import WindowPlayout

/// Tells the host what a viewer does in its window beside watching.
final class WindowParticipation: Sendable {
    private let viewer = Monitor<PeerViewer?>(nil)

    func begin(_ viewer: PeerViewer) { self.viewer.with { $0 = viewer } }

    /// Returns at once.
    func handle(_ action: VideoWindow.Action) {
        guard let viewer = viewer.with({ $0 }) else { return }
        switch action {
        case .point(let gesture): _ = viewer.send(gesture)
        case .control(let input): _ = viewer.send(input)
        case .comment(let line): viewer.tell(.comment(line))
        case .ask(let right): viewer.tell(.ask(right))
        case .release(let right): viewer.tell(.release(right))
        }
    }
}

extension PeerViewer {
    /// Says something to the host, and its user what has become of it if it was not taken. Returns at once.
    func tell(_ message: ViewerMessage) {
        Task {
            do throws(SignalingError) {
                try await send(message)
            } catch {
                ErrorOutput.writeLine("share: \(error.description)")
            }
        }
    }
}
