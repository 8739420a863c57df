/// An X11 keysym (X Window System Protocol, appendix A), in one form for each character: the same character has a
/// number of its own in older character sets, and one of Unicode.
package struct Keysym: Hashable, Sendable {
    /// Latin-1 as it is, other characters as 0x0100_0000 + the scalar, all else as the protocol numbers it.
    package let value: UInt32

    package init(_ raw: UInt32) {
        let scalar = raw >> 24 == 1 ? raw & 0xFF_FFFF : LegacyKeysyms.scalar(of: raw)
        guard let scalar else {
            value = raw
            return
        }
        value = scalar < 0x100 ? scalar : 0x0100_0000 | scalar
    }

    package init(_ scalar: Unicode.Scalar) { self.init(0x0100_0000 | scalar.value) }

    package static let escape = Keysym(0xFF1B)
    package static let tab = Keysym(0xFF09)
    package static let leftTab = Keysym(0xFE20)
    package static let level3Shift = Keysym(0xFE03)
    package static let level5Shift = Keysym(0xFE11)
    package static let shift = [Keysym(0xFFE1), Keysym(0xFFE2)]
    package static let control = [Keysym(0xFFE3), Keysym(0xFFE4)]
    package static let alt = [Keysym(0xFFE9), Keysym(0xFFEA)]

    package var isModifier: Bool { Self.shift.contains(self) || Self.control.contains(self) || Self.alt.contains(self) }

    /// The character; nil for keys that have none.
    package var scalar: Unicode.Scalar? {
        switch value {
        case 0x20...0x7E, 0xA0...0xFF: Unicode.Scalar(value)
        case 0x0100_0100...0x0110_FFFF: Unicode.Scalar(value & 0xFF_FFFF)
        default: nil
        }
    }

    /// As keyboard layouts and the sequences of dead keys (Compose) have it, which know older characters by their older
    /// numbers alone.
    public var layoutValue: UInt32 { scalar.flatMap { LegacyKeysyms.keysym(of: $0.value) } ?? value }

    /// The small and the capital letter, if it is one of two.
    package var cases: (lower: Keysym, upper: Keysym)? {
        guard let scalar else { return nil }
        let lower = scalar.properties.lowercaseMapping.unicodeScalars
        let upper = scalar.properties.uppercaseMapping.unicodeScalars
        guard lower.count == 1, upper.count == 1, let small = lower.first, let capital = upper.first, small != capital
        else { return nil }
        return (Keysym(small), Keysym(capital))
    }

    /// Whether a viewer may press it: characters, dead keys, the keys of a plain keyboard, and Shift, Control and Alt.
    /// Not the keys of window managers (Super, Hyper, Meta), those that lock or choose a level or group, as a keysym
    /// says that already, those of power and media, and those that act on the server itself.
    package var isPermitted: Bool {
        switch value {
        case 0xFE20, 0xFE50...0xFE6F, 0xFE80...0xFE93: true
        // Backspace to Escape, without Scroll_Lock and Sys_Req; those of input methods.
        case 0xFF08, 0xFF09, 0xFF0A, 0xFF0B, 0xFF0D, 0xFF13, 0xFF1B, 0xFF20...0xFF2A: true
        // Home to Begin; Select to Break.
        case 0xFF50...0xFF58, 0xFF60...0xFF6B: true
        // The keypad; F1 to F35; Delete.
        case 0xFF80...0xFFBD, 0xFFBE...0xFFE0, 0xFFFF: true
        default: isModifier || scalar != nil
        }
    }
}
