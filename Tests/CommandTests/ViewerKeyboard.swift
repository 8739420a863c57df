import CXCB
import Foundation
import TestSupport

/// The keyboard of a person at an X display. Its keys go down and up by XTEST; what they are is the layout's affair.
// SAFETY: used by one test, whose steps run in sequence.
final class ViewerKeyboard: @unchecked Sendable {
    /// A key with the modifiers of one of its levels.
    struct Stroke: Equatable {
        var keycode: UInt8
        var hasShift = false
        var hasAltGr = false

        static let enter = Stroke(keycode: 36)

        func hasModifiers(of other: Stroke) -> Bool { hasShift == other.hasShift && hasAltGr == other.hasAltGr }
    }

    /// What a person presses for a character: a key, or a dead key and another one.
    struct Character: Equatable {
        var scalar: Unicode.Scalar
        var strokes: [Stroke]
    }

    private static let shift: UInt8 = 50
    private static let altGr: UInt8 = 108
    private static let level3Shift: UInt32 = 0xFE03
    /// The keys that have characters, on keyboards of Europe, Brazil and Japan.
    private static let keycodes: [UInt8] =
        Array(10...21) + Array(24...35) + Array(38...49) + Array(51...61) + [65, 94, 97, 132]
    private static let deadKeys: [UInt32: Unicode.Scalar] = [
        0xFE50: "\u{300}", 0xFE51: "\u{301}", 0xFE52: "\u{302}", 0xFE53: "\u{303}", 0xFE54: "\u{304}",
        0xFE55: "\u{306}", 0xFE56: "\u{307}", 0xFE57: "\u{308}", 0xFE58: "\u{30A}", 0xFE59: "\u{30B}",
        0xFE5A: "\u{30C}", 0xFE5B: "\u{327}", 0xFE5C: "\u{328}",
    ]
    /// What these dead keys give with the space bar.
    private static let spacing: [UInt32: Unicode.Scalar] = [0xFE50: "`", 0xFE52: "^", 0xFE53: "~"]

    private let display: String
    private let connection: OpaquePointer
    private let root: xcb_window_t
    private var generator = SeededGenerator(seed: 38)
    private var held: Stroke?
    private var modifiers = Stroke(keycode: 0)

    init(_ display: String) throws {
        self.display = display
        guard let connection = xcb_connect(display, nil), xcb_connection_has_error(connection) == 0,
            let setup = xcb_get_setup(connection), let screen = xcb_setup_roots_iterator(setup).data
        else { throw Program.Failure("cannot connect to \(display)") }
        self.connection = connection
        root = screen.pointee.root
    }

    deinit { xcb_disconnect(connection) }

    /// - Parameter layout: and its variant.
    func setLayout(_ layout: [String]) throws {
        let program = try Program("setxkbmap", layout, environment: ["DISPLAY": display])
        guard program.exitCode(seconds: 20) == 0 else { throw Program.Failure(program.text.errors) }
    }

    /// Gives the topmost window the keyboard, and puts the pointer on it.
    /// - Returns: false if there is none.
    @discardableResult
    func focusTopmostWindow() -> Bool {
        guard let tree = xcb_query_tree_reply(connection, xcb_query_tree(connection, root), nil) else { return false }
        defer { free(tree) }
        let windows = UnsafeBufferPointer(
            start: xcb_query_tree_children(tree), count: Int(xcb_query_tree_children_length(tree)))
        let shown = windows.last { window in
            let cookie = xcb_get_window_attributes(connection, window)
            guard let reply = xcb_get_window_attributes_reply(connection, cookie, nil) else { return false }
            defer { free(reply) }
            return reply.pointee.map_state == UInt8(XCB_MAP_STATE_VIEWABLE.rawValue)
                && reply.pointee._class == UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue)
        }
        guard let shown else { return false }
        xcb_test_fake_input(connection, UInt8(XCB_MOTION_NOTIFY), 0, 0, root, 300, 200, 0)
        xcb_set_input_focus(connection, UInt8(XCB_INPUT_FOCUS_POINTER_ROOT.rawValue), shown, 0)
        sync()
        return true
    }

    private func sync() { free(xcb_get_input_focus_reply(connection, xcb_get_input_focus(connection), nil)) }

    // MARK: What can be typed

    /// All characters of the layout, those of dead keys among them, mixed; 100 at least.
    func characters() -> [Character] {
        let keysyms = keysyms()
        let hasAltGr = keysyms[Self.altGr]?.first == Self.level3Shift
        // In the core protocol, the third and the fourth level follow the two of the second group.
        let levels: [(column: Int, hasShift: Bool, hasAltGr: Bool)] = [
            (0, false, false), (1, true, false), (4, false, true), (5, true, true),
        ]
        var (plain, dead): ([Character], [(keysym: UInt32, stroke: Stroke)]) = ([], [])
        for level in levels where !level.hasAltGr || hasAltGr {
            for keycode in Self.keycodes {
                guard let row = keysyms[keycode], row.indices.contains(level.column) else { continue }
                let stroke = Stroke(keycode: keycode, hasShift: level.hasShift, hasAltGr: level.hasAltGr)
                let keysym = row[level.column]
                if Self.deadKeys[keysym] != nil { dead.append((keysym, stroke)) }
                if let scalar = Self.scalar(of: keysym) { plain.append(Character(scalar: scalar, strokes: [stroke])) }
            }
        }
        var all = plain + dead.flatMap { Self.compositions(of: $0.keysym, $0.stroke, with: plain) }
        while !all.isEmpty, all.count < 100 { all += plain.prefix(100 - all.count) }
        return all.shuffled(using: &generator)
    }

    private static func compositions(of dead: UInt32, _ stroke: Stroke, with plain: [Character]) -> [Character] {
        guard let mark = deadKeys[dead] else { return [] }
        let letters = "aeiouncAEIOUNCαεηιουωΑΕΗΙ".unicodeScalars
        let composed = plain.compactMap { base -> Character? in
            guard letters.contains(base.scalar) else { return nil }
            let text = "\(base.scalar)\(mark)".precomposedStringWithCanonicalMapping.unicodeScalars
            guard text.count == 1, let scalar = text.first else { return nil }
            return Character(scalar: scalar, strokes: [stroke] + base.strokes)
        }
        let space = spacing[dead].map { Character(scalar: $0, strokes: [stroke, Stroke(keycode: 65)]) }
        return Array(composed.prefix(6)) + (space.map { [$0] } ?? [])
    }

    /// The keysyms of each key, as the core protocol tells them.
    private func keysyms() -> [UInt8: [UInt32]] {
        let (first, count) = (UInt8(8), UInt8(248))
        let cookie = xcb_get_keyboard_mapping(connection, first, count)
        guard let reply = xcb_get_keyboard_mapping_reply(connection, cookie, nil) else { return [:] }
        defer { free(reply) }
        let width = Int(reply.pointee.keysyms_per_keycode)
        let all = UnsafeBufferPointer(
            start: xcb_get_keyboard_mapping_keysyms(reply), count: Int(xcb_get_keyboard_mapping_keysyms_length(reply)))
        var found: [UInt8: [UInt32]] = [:]
        for index in 0..<Int(count) where (index + 1) * width <= all.count {
            found[first + UInt8(index)] = Array(all[(index * width)..<((index + 1) * width)])
        }
        return found
    }

    /// As libxkbcommon has it; nil for keys without a character.
    private static func scalar(of keysym: UInt32) -> Unicode.Scalar? {
        typealias Convert = @convention(c) (UInt32) -> UInt32
        guard let library = dlopen("libxkbcommon.so.0", RTLD_NOW), let function = dlsym(library, "xkb_keysym_to_utf32")
        else { return nil }
        let scalar = unsafeBitCast(function, to: Convert.self)(keysym)
        return scalar < 32 || scalar == 127 ? nil : Unicode.Scalar(scalar)
    }

    // MARK: Typing

    /// Types 200 changes of keys a second, as people do: the next key may go down before the one before is up, Shift
    /// stays down for several characters, and may be up before the last of them. Returns when all is typed.
    func type(_ characters: [Character]) {
        for stroke in characters.flatMap(\.strokes) {
            if let held, held.hasModifiers(of: stroke), held.keycode != stroke.keycode, generator.chance(30) {
                change(stroke.keycode, true)
                change(held.keycode, false)
            } else {
                let isLate = generator.chance(30)
                if !isLate { release() }
                // The key that is still down is not to be pressed with other modifiers.
                if held?.keycode == stroke.keycode { release() }
                setModifiers(of: stroke)
                release()
                change(stroke.keycode, true)
            }
            held = stroke
        }
        releaseAll()
    }

    /// Presses and releases a key without modifiers.
    func press(_ keycode: UInt8) {
        change(keycode, true)
        change(keycode, false)
        sync()
    }

    private func releaseAll() {
        release()
        setModifiers(of: Stroke(keycode: 0))
        sync()
    }

    private func release() {
        if let held { change(held.keycode, false) }
        held = nil
    }

    private func setModifiers(of stroke: Stroke) {
        if modifiers.hasShift != stroke.hasShift { change(Self.shift, stroke.hasShift) }
        if modifiers.hasAltGr != stroke.hasAltGr { change(Self.altGr, stroke.hasAltGr) }
        modifiers = stroke
    }

    /// The server waits for 5 ms before each.
    private func change(_ keycode: UInt8, _ isPressed: Bool) {
        let type = isPressed ? XCB_KEY_PRESS : XCB_KEY_RELEASE
        xcb_test_fake_input(connection, UInt8(type), keycode, 5, 0, 0, 0, 0)
    }
}
