import Foundation
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import ShareKit
import TestSupport
import Testing

/// `share host` on a display that a viewer controls.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ControlledScreenTests {
    /// A display with a terminal that has the keyboard, and a host that shares it.
    private final class Stage {
        let display: VirtualDisplay
        let folder: TemporaryFolder
        let host: HostedScreen
        let viewer: PeerViewer
        private let terminal: Program
        private let run: Task<Void, any Error>

        /// - Parameter program: runs in the terminal; `$1` is a file that it may write.
        init(
            _ program: String, _ arguments: [String], onFrame: @escaping @Sendable (borrowing PeerViewer.Frame) -> Void
        )
            throws
        {
            display = try VirtualDisplay(width: 640, height: 480)
            folder = try TemporaryFolder()
            let file = folder.url.appendingPathComponent("typed").path
            terminal = try Program(
                "xterm",
                [
                    "-u8", "-geometry", "106x36+0+0", "-e", "sh", "-c", "stty -echo; echo > \"$1.ready\"; \(program)",
                    "sh",
                    file,
                ],
                environment: ["DISPLAY": display.name, "LC_ALL": "C.UTF-8", "XMODIFIERS": "@im=none"])
            guard folder.waitForFile("typed.ready", seconds: 30) else { throw Program.Failure("no terminal came") }
            host = try HostedScreen(["--source", "screen"] + arguments, environment: ["DISPLAY": display.name])
            let viewer = try PeerViewer(
                Link(parsing: host.link), identity: .ephemeral(), name: "Ann",
                makeSink: { _ in PeerViewer.player(onFrame) })
            self.viewer = viewer
            run = Task { try await viewer.run() }
        }

        /// Watches, and gets the control.
        func join() async throws {
            for await event in viewer.events {
                switch event {
                case .rights(let rights) where rights.control == .mayAsk: try await viewer.ask(for: .control)
                case .rights(let rights) where rights.control == .granted: return
                default: continue
                }
            }
            throw Program.Failure("the session has ended: \(host.process.errorText)")
        }

        /// Sends when the control has begun.
        func send(_ input: ViewerInput) async {
            while !viewer.control(input) { await Task.yield() }
        }

        func end() async throws {
            viewer.leave()
            try await run.value
        }
    }

    private static func keysym(_ scalar: Unicode.Scalar) -> UInt32 {
        scalar.value < 0x100 ? scalar.value : 0x0100_0000 | scalar.value
    }

    @Test func whatAViewerTypesArrivesInTheHostsTerminal() async throws {
        let stage = try Stage("exec cat > \"$1\"", ["--control", "yes"]) { _ in }
        try await stage.join()
        // The terminal gets the keyboard by a click, as no window manager runs.
        await stage.send(.move(.init(x: 0.5, y: 0.5)))
        let text = "Grüße, мир! {}[]@\\|~ 日本 €"
        for scalar in text.unicodeScalars + ["\r"] {
            let keysym = scalar == "\r" ? 0xFF0D : Self.keysym(scalar)
            for isPressed in [true, false] { await stage.send(.key(keysym: keysym, isPressed: isPressed)) }
        }
        #expect(eventually { stage.folder.lines("typed").first == text }, "\(stage.folder.lines("typed"))")
        let begun = try #require(stage.host.process.event("control"))
        #expect(begun["name"] as? String == "Ann" && begun["state"] as? String == "begun")
        try await stage.end()
        let ended = try #require(stage.host.process.event("control") { $0["state"] as? String != "begun" })
        #expect(ended["state"] as? String == "lost" && ended["inputs"] as? Int ?? 0 > 50, "\(ended)")
    }
}
