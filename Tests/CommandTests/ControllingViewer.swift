import Identifiers
import Identity
import MediaCore
import ShareKit
import TestSupport

/// A viewer, "Ann", that controls the screen of a host.
final class ControllingViewer: Sendable {
    private let viewer: PeerViewer
    private let run: Task<Void, any Error>

    init(_ link: String, onFrame: @escaping @Sendable (borrowing PeerViewer.Frame) -> Void = { _ in }) throws {
        let viewer = try PeerViewer(
            Link(parsing: link), identity: .ephemeral(), name: "Ann", makeSink: { _ in PeerViewer.player(onFrame) })
        self.viewer = viewer
        run = Task { try await viewer.run() }
    }

    /// Gets the control, and asks for it if it may.
    func control() async throws {
        for await event in viewer.events {
            switch event {
            case .rights(let rights) where rights.control == .mayAsk: try await viewer.ask(for: .control)
            case .rights(let rights) where rights.control == .granted: return
            default: continue
            }
        }
        throw Program.Failure("the session has ended")
    }

    /// Waits for its rights.
    func right() async throws -> ParticipationRight {
        for await event in viewer.events {
            if case .rights(let rights) = event { return rights.control }
        }
        throw Program.Failure("the session has ended")
    }

    /// Sends when the control has begun.
    func send(_ input: ViewerInput) async {
        while !viewer.control(input), !Task.isCancelled { await Task.yield() }
    }

    func end() async throws {
        viewer.leave()
        try await run.value
    }
}
