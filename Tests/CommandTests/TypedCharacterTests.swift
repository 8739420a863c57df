import BrowserControl
import Foundation
import TestSupport
import Testing

/// Characters that a viewer types arrive in a terminal of the host, whatever the layouts of both are. The viewer's keys
/// are those of an X server of its own.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct TypedCharacterTests {
    private static let layouts = [
        ["us"], ["de"], ["fr"], ["es"], ["ru"], ["gr"], ["jp"], ["il"], ["us", "dvorak"], ["br"],
    ]

    /// A host whose display has a terminal, which keeps the lines that are typed.
    private struct TypingHost {
        let host: HostedScreen
        private let display: VirtualDisplay
        private let folder: TemporaryFolder
        private let terminal: Program

        init(layout: String) throws {
            display = try VirtualDisplay(width: 640, height: 480)
            folder = try TemporaryFolder()
            let keyboard = try ViewerKeyboard(display.name)
            try keyboard.setLayout([layout])
            terminal = try Program(
                "xterm",
                [
                    "-u8", "-e", "sh", "-c", "stty -echo -icanon; echo > \"$1.ready\"; exec cat > \"$1\"", "sh",
                    folder.file("typed"),
                ],
                environment: ["DISPLAY": display.name, "LC_ALL": "C.UTF-8", "XMODIFIERS": "@im=none"])
            guard folder.waitForFile("typed.ready", seconds: 30) else { throw Program.Failure("no terminal came") }
            keyboard.focusTopmostWindow()
            host = try HostedScreen(
                ["--source", "screen", "--audio", "none", "--control", "yes"], environment: ["DISPLAY": display.name])
        }

        /// The lines that have come so far, without those that ``begin(_:)`` types.
        var lines: [String] { folder.lines("typed").filter { $0 != "x" } }

        /// What has come of a line.
        private func line(_ index: Int) -> [Unicode.Scalar] {
            let lines = lines
            return lines.count > index ? Array(lines[index].unicodeScalars) : []
        }

        /// Types lines until one arrives.
        func begin(_ keyboard: ViewerKeyboard) -> Bool {
            eventually {
                // X and Enter.
                for keycode: UInt8 in [53, 36] { keyboard.press(keycode) }
                return folder.lines("typed").contains("x")
            }
        }

        /// Types all characters of each layout.
        func expectAllArrive(_ keyboard: ViewerKeyboard, _ layouts: [[String]]) throws {
            for layout in layouts {
                try keyboard.setLayout(layout)
                let characters = keyboard.characters()
                #expect(characters.count >= 100)
                let (count, wanted) = (lines.count, characters.map(\.scalar))
                // No more at once than what a busy machine passes on in the half second after which a host drops it.
                for start in stride(from: 0, to: characters.count, by: 16) {
                    let end = min(start + 16, characters.count)
                    keyboard.type(Array(characters[start..<end]))
                    guard eventually({ line(count).count >= end }) else { break }
                }
                keyboard.press(ViewerKeyboard.Stroke.enter.keycode)
                let arrived = line(count)
                let isSame = arrived == wanted
                #expect(isSame, "\(layout): \(Self.difference(characters, arrived))")
            }
        }

        /// The first characters that are wrong.
        private static func difference(
            _ characters: [ViewerKeyboard.Character], _ arrived: [Unicode.Scalar]
        ) -> String {
            let changes = arrived.difference(from: characters.map(\.scalar))
            return changes.map { change in
                switch change {
                case .insert(let offset, let scalar, _): "+\(scalar) (\(String(scalar.value, radix: 16))) at \(offset)"
                case .remove(let offset, let scalar, _):
                    "-\(scalar) (\(characters[offset].strokes.map(\.keycode))) at \(offset)"
                }
            }.prefix(20).joined(separator: "\n")
        }
    }

    /// What programs on the viewer's display run with.
    private static func environment(_ display: VirtualDisplay) -> [String: String] {
        ["DISPLAY": display.name, "LC_ALL": "C.UTF-8", "XMODIFIERS": "@im=none"]
    }

    @Test(arguments: ["us", "de"])
    func allCharactersOfTenLayoutsArriveFromTheWindow(ofHost: String) throws {
        let host = try TypingHost(layout: ofHost)
        let display = try VirtualDisplay(width: 640, height: 480)
        let keyboard = try ViewerKeyboard(display.name)
        let viewer = try ShareProcess(
            ["join", "--json", "--name", "Ann"],
            environment: Self.environment(display).merging(
                ["SHARE_LINK": host.host.link, "SDL_VIDEODRIVER": "x11"]) { $1 })
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        #expect(eventually { keyboard.focusTopmostWindow() })
        // R asks for the control.
        keyboard.press(27)
        _ = try #require(host.host.process.event("control"), "\(viewer.errorText)")
        try #require(host.begin(keyboard))
        try host.expectAllArrive(keyboard, ofHost == "us" ? Self.layouts : [["us"], ["de"], ["fr"], ["ru"]])
        viewer.interrupt()
        let ended = try #require(host.host.process.event("control") { $0["state"] as? String != "begun" })
        #expect(ended["dropped"] as? Int == 0, "\(ended)")
    }

    @Test(arguments: Browser.Kind.allCases)
    func allCharactersOfTenLayoutsArriveFromABrowser(kind: Browser.Kind) async throws {
        let host = try TypingHost(layout: "us")
        let display = try VirtualDisplay(width: 1_280, height: 720)
        let keyboard = try ViewerKeyboard(display.name)
        // The preferences that Firefox has under remote control keep it from composing characters of dead keys.
        try await Browser.with(
            kind, environment: Self.environment(display), preferences: ["remote.prefs.recommended": "false"]
        ) { browser in
            try await browser.open(host.host.link)
            func waits(_ expression: String) async throws {
                let deadline = ContinuousClock.now + .seconds(20)
                while try await browser.evaluate(expression) != true {
                    guard ContinuousClock.now < deadline else { throw Program.Failure("never: \(expression)") }
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            _ = try await browser.evaluate("document.getElementById('watch').click()")
            try await waits("document.documentElement.dataset.state === 'playing'")
            try await browser.activate()
            #expect(keyboard.focusTopmostWindow())
            try await waits("document.hasFocus() && !document.getElementById('control').hidden")
            _ = try await browser.evaluate("document.getElementById('control').click()")
            try await waits("document.documentElement.dataset.controlling === 'all'")
            try #require(host.begin(keyboard))
            try host.expectAllArrive(keyboard, Self.layouts)
        }
        let ended = try #require(host.host.process.event("control") { $0["state"] as? String != "begun" })
        #expect(ended["dropped"] as? Int == 0, "\(ended)")
    }
}
