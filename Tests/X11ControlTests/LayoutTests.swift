import CXCB
import Foundation
import MediaCore
import TestSupport
import Testing

@testable import X11Control

/// A terminal whose program writes each line that is typed to its folder.
private final class TypedLines {
    let display: ControlledDisplay
    private let folder: TemporaryFolder
    private let terminal: Program
    private(set) var count = 0

    init() throws {
        display = try ControlledDisplay()
        folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("typed").path
        terminal = try Program(
            "xterm", ["-u8", "-e", "sh", "-c", "stty -echo; echo ready > '\(file).ready'; exec cat > '\(file)'"],
            environment: ["DISPLAY": display.name, "LC_ALL": "C.UTF-8", "XMODIFIERS": "@im=none"])
        guard folder.waitForFile("typed.ready", seconds: 30) else { throw Program.Failure("no terminal came") }
        guard
            let tree = xcb_query_tree_reply(
                display.connection, xcb_query_tree(display.connection, display.root), nil),
            let window = xcb_query_tree_children(tree)?.pointee
        else { throw Program.Failure("the terminal has no window") }
        display.focus(window)
        free(tree)
    }

    /// The line that arrives next.
    func next() -> String? {
        count += 1
        guard eventually({ folder.lines("typed").count >= count }) else { return nil }
        return folder.lines("typed")[count - 1]
    }
}

extension X11ControlTests {
    struct LayoutTests {
        private static let whole = RemoteInput.Area.screen(PixelRect(x: 0, y: 0, width: 640, height: 480))
        private static let ascii = String(String.UnicodeScalarView((0x21...0x7E).compactMap { Unicode.Scalar($0) }))
        private static let others = "äöüÄÖÜßéèçñøÅ€£§°µ½жЩЙяЫαΩθώשאקםあカ。ąĘżşİőžŽ–„“…☃"

        private static func type(_ text: String, on input: RemoteInput) {
            for scalar in text.unicodeScalars {
                let keysym = scalar.value < 0x100 ? scalar.value : 0x0100_0000 | scalar.value
                input.apply(.key(keysym: keysym, isPressed: true))
                input.apply(.key(keysym: keysym, isPressed: false))
            }
            for isPressed in [true, false] { input.apply(.key(keysym: 0xFF0D, isPressed: isPressed)) }
        }

        /// The same characters arrive whatever the layout of the host is, those it lacks among them.
        @Test func everyCharacterArrivesInTenLayouts() throws {
            let lines = try TypedLines()
            let input = try RemoteInput(display: lines.display.name, area: Self.whole)
            let unused = lines.display.freeKeycodes
            var generator = SeededGenerator(seed: 38)
            for layout in [
                ["us"], ["de"], ["fr"], ["es"], ["ru"], ["gr"], ["jp"], ["il"], ["us", "dvorak"], ["br"],
            ] {
                try lines.display.run("setxkbmap", layout)
                let text = String((Self.ascii + Self.others).shuffled(using: &generator))
                #expect(text.unicodeScalars.count >= 100)
                Self.type(text, on: input)
                #expect(lines.next() == text, "layout \(layout)")
            }
            try lines.display.run("setxkbmap", ["us"])
            Self.type("ж", on: input)
            #expect(lines.next() == "ж")
            #expect(lines.display.freeKeycodes != unused)
            input.releaseAll()
            #expect(eventually { lines.display.freeKeycodes == unused })
            Self.type("щ", on: input)
            #expect(lines.next() == "щ")
            input.close()
            #expect(lines.display.freeKeycodes == unused)
            #expect(!lines.display.hasPressedKeys)
        }

        /// A character of the viewer's layout may need Shift there and not here.
        @Test func theModifiersThatAViewerHoldsDoNotChangeItsCharacters() throws {
            let lines = try TypedLines()
            try lines.display.run("setxkbmap", ["de"])
            let input = try RemoteInput(display: lines.display.name, area: Self.whole)
            input.apply(.key(keysym: 0xFFE1, isPressed: true))
            for scalar in "aA1!#@ж".unicodeScalars {
                let keysym = scalar.value < 0x100 ? scalar.value : 0x0100_0000 | scalar.value
                for isPressed in [true, false] { input.apply(.key(keysym: keysym, isPressed: isPressed)) }
            }
            input.apply(.key(keysym: 0xFFE1, isPressed: false))
            Self.type("", on: input)
            #expect(lines.next() == "aA1!#@ж")
        }
    }
}
