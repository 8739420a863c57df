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
        /// - Returns: whether layouts were typed again, more slowly: on a busy machine the host drops what comes later than
        ///   half a second, and some take longer than they are waited for. That may happen three times.
        func expectAllArrive(_ keyboard: ViewerKeyboard, _ layouts: [[String]]) throws -> Bool {
            var repeats = 0
            for layout in layouts {
                try keyboard.setLayout(layout)
                let characters = keyboard.characters()
                #expect(characters.count >= 100)
                var arrived = type(characters, 16, keyboard)
                for atOnce in [8, 4] where arrived != characters.map(\.scalar) {
                    repeats += 1
                    arrived = type(characters, atOnce, keyboard)
                }
                let isSame = arrived == characters.map(\.scalar)
                #expect(isSame, "\(layout): \(Self.difference(characters, arrived))")
            }
            #expect(repeats <= 3)
            return repeats > 0
        }

        /// Types a line, of which no more is under way at once than `atOnce`.
        /// - Returns: what has come of it.
        private func type(
            _ characters: [ViewerKeyboard.Character], _ atOnce: Int, _ keyboard: ViewerKeyboard
        ) -> [Unicode.Scalar] {
            let count = lines.count
            for start in stride(from: 0, to: characters.count, by: atOnce) {
                let end = min(start + atOnce, characters.count)
                keyboard.type(Array(characters[start..<end]))
                guard eventually(for: .seconds(5), { line(count).count >= end }) else { break }
            }
            keyboard.press(ViewerKeyboard.Stroke.enter.keycode)
            return line(count)
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
        // R asks for the control, once the window has the keyboard. What comes of a second one is no line of its own.
        let hasBegun = eventually {
            keyboard.press(27)
            return host.host.process.event("control", seconds: 3) != nil
        }
        try #require(hasBegun, "\(viewer.errorText)")
        try #require(host.begin(keyboard))
        let isRepeated = try host.expectAllArrive(
            keyboard, ofHost == "us" ? Self.layouts : [["us"], ["de"], ["fr"], ["ru"]])
        viewer.interrupt()
        let ended = try #require(host.host.process.event("control") { $0["state"] as? String != "begun" })
        #expect(ended["dropped"] as? Int == 0 || isRepeated, "\(ended)")
    }

    @Test(arguments: Browser.Kind.allCases)
    func allCharactersOfTenLayoutsArriveFromABrowser(kind: Browser.Kind) async throws {
        let host = try TypingHost(layout: "us")
        let display = try VirtualDisplay(width: 1_280, height: 720)
        let keyboard = try ViewerKeyboard(display.name)
        var isRepeated = false
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
            isRepeated = try host.expectAllArrive(keyboard, Self.layouts)
        }
        let ended = try #require(host.host.process.event("control") { $0["state"] as? String != "begun" })
        #expect(ended["dropped"] as? Int == 0 || isRepeated, "\(ended)")
    }
}
