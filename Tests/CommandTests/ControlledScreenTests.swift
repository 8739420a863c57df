import Foundation
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
        let viewer: ControllingViewer
        private let terminal: Program

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
            viewer = try ControllingViewer(host.link, onFrame: onFrame)
        }
    }

    private static func keysym(_ scalar: Unicode.Scalar) -> UInt32 {
        scalar.value < 0x100 ? scalar.value : 0x0100_0000 | scalar.value
    }

    @Test func whatAViewerTypesArrivesInTheHostsTerminal() async throws {
        let stage = try Stage("exec cat > \"$1\"", ["--control", "yes"]) { _ in }
        try await stage.viewer.control()
        // The terminal gets the keyboard by a click, as no window manager runs.
        await stage.viewer.send(.move(.init(x: 0.5, y: 0.5)))
        let text = "Grüße, мир! {}[]@\\|~ 日本 €"
        for scalar in text.unicodeScalars + ["\r"] {
            let keysym = scalar == "\r" ? 0xFF0D : Self.keysym(scalar)
            for isPressed in [true, false] { await stage.viewer.send(.key(keysym: keysym, isPressed: isPressed)) }
        }
        #expect(eventually { stage.folder.lines("typed").first == text }, "\(stage.folder.lines("typed"))")
        let begun = try #require(stage.host.process.event("control"))
        #expect(begun["name"] as? String == "Ann" && begun["state"] as? String == "begun")
        try await stage.viewer.end()
        let ended = try #require(stage.host.process.event("control") { $0["state"] as? String != "begun" })
        #expect(ended["state"] as? String == "lost" && ended["inputs"] as? Int ?? 0 > 50, "\(ended)")
    }
}
