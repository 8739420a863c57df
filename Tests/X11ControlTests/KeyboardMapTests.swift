import MediaCore
import Testing

@testable import X11Control

struct KeyboardMapTests {
    private static let level3 = Modifiers(rawValue: 0x80)
    private static let alphabetic = KeyboardMap.KeyType(mask: [.shift, .lock], levels: [.shift: 1, .lock: 1])
    private static let fourLevels = KeyboardMap.KeyType(
        mask: [.shift, level3], levels: [.shift: 1, level3: 2, [.shift, level3]: 3])

    private static func key(
        _ keycode: UInt8, _ type: KeyboardMap.KeyType, _ keysyms: [UInt32], modifiers: Modifiers = []
    ) -> KeyboardMap.Key {
        KeyboardMap.Key(
            keycode: keycode, groups: keysyms.isEmpty ? [] : [(type, keysyms)], groupInfo: 1, modifiers: modifiers)
    }

    private let map = KeyboardMap([
        key(24, fourLevels, [0x71, 0x51, 0x40, 0x7D9]),
        key(38, alphabetic, [0x61, 0x41]),
        key(50, fourLevels, [0xFFE1], modifiers: .shift),
        key(92, fourLevels, [0xFE03], modifiers: level3),
        key(100, alphabetic, []), key(101, alphabetic, [0, 0]),
    ])

    private func stroke(
        _ keysym: UInt32, _ modifiers: Modifiers = [], removable: Modifiers = []
    ) -> KeyboardMap.Stroke? {
        map.stroke(Keysym(keysym), modifiers, removable: removable, group: 0)
    }

    @Test func aKeysymIsTypedWithTheModifiersOfItsLevel() {
        #expect(stroke(0x61) == KeyboardMap.Stroke(keycode: 38))
        #expect(stroke(0x41) == KeyboardMap.Stroke(keycode: 38, added: .shift))
        #expect(stroke(0x40) == KeyboardMap.Stroke(keycode: 24, added: Self.level3))
        // Greek_OMEGA, by its character.
        #expect(stroke(0x0100_03A9) == KeyboardMap.Stroke(keycode: 24, added: [.shift, Self.level3]))
        #expect(stroke(0x41, .shift) == KeyboardMap.Stroke(keycode: 38))
        #expect(stroke(0x7A) == nil)
    }

    @Test func capsLockIsUndoneByShift() {
        #expect(stroke(0x61, .lock) == KeyboardMap.Stroke(keycode: 38, added: .shift))
        #expect(stroke(0x41, .lock) == KeyboardMap.Stroke(keycode: 38))
    }

    @Test func onlyWhatTheViewerHoldsIsReleasedForACharacter() {
        #expect(
            stroke(0x71, .shift, removable: .shift) == KeyboardMap.Stroke(keycode: 24, removed: .shift))
        #expect(stroke(0x71, .shift) == nil)
        // Control stays as it is, and does not matter here.
        #expect(stroke(0x61, .control) == KeyboardMap.Stroke(keycode: 38))
    }

    @Test func unusedKeycodesAreThoseWithoutKeysymAndFunction() {
        #expect(map.unused == [101, 100])
    }

    @Test func aKeycodeIsChangedAgainWhenProgramsHaveLookedAtIt() {
        var borrowed = BorrowedKeycodes()
        let start = MediaInstant(nanoseconds: 0)
        func at(_ milliseconds: Int) -> MediaInstant { start + .milliseconds(milliseconds) }
        #expect(borrowed.next(free: [], pressed: [], now: start) == .none)
        borrowed.borrow(101, for: [Keysym(0x0100_0430)], now: at(0))
        borrowed.borrow(100, for: [Keysym(0x0100_0431)], now: at(10))
        #expect(borrowed.next(free: [99], pressed: [], now: at(15)) == .wait(until: at(30)))
        borrowed.noteUse(of: 101, now: at(50))
        #expect(borrowed.next(free: [99], pressed: [], now: at(60)) == .keycode(99))
        #expect(borrowed.next(free: [], pressed: [], now: at(60)) == .wait(until: at(310)))
        #expect(borrowed.next(free: [], pressed: [], now: at(310)) == .keycode(100))
        #expect(borrowed.next(free: [], pressed: [100], now: at(360)) == .keycode(101))
        #expect(borrowed.next(free: [], pressed: [100, 101], now: at(400)) == .none)
        #expect(borrowed.settled == at(350))
    }

    @Test func everyLetterOfOldCharacterSetsIsItsUnicodeOne() {
        for (keysym, scalar) in [
            (0x6C1, "а"), (0x7E1, "α"), (0x7F2, "σ"), (0x7F3, "ς"), (0xCE0, "א"), (0xCFA, "ת"), (0x1B1, "ą"),
            (0x4A1, "。"), (0x20AC, "€"), (0x13BD, "œ"), (0x5C7, "ا"), (0xDA1, "ก"), (0xAFE, "„"),
        ] as [(UInt32, Unicode.Scalar)] {
            #expect(Keysym(keysym) == Keysym(scalar), "\(scalar)")
        }
        #expect(Keysym(0x0100_0041) == Keysym(0x41))
        // Greek_alpha, EuroSign; Latin-1, and what no old set has.
        #expect(Keysym(0x0100_03B1).layoutValue == 0x7E1 && Keysym(0x0100_20AC).layoutValue == 0x20AC)
        #expect(Keysym(0xE9).layoutValue == 0xE9 && Keysym(0x0100_1EBD).layoutValue == 0x0100_1EBD)
        #expect(Keysym(0xFF0D).scalar == nil)
    }
}
