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
        case .comment(let line): tell(.comment(line), viewer)
        case .ask(let right): tell(.ask(right), viewer)
        case .release(let right): tell(.release(right), viewer)
        }
    }

    private func tell(_ message: ViewerMessage, _ viewer: PeerViewer) {
        Task {
            do throws(SignalingError) {
                try await viewer.send(message)
            } catch {
                ErrorOutput.writeLine("share: \(error.description)")
            }
        }
    }
}
