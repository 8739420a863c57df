internal import MediaCore

/// The bits of modifiers, as in the state of X11 events.
struct Modifiers: OptionSet, Hashable, Sendable {
    let rawValue: UInt8
    static let shift = Modifiers(rawValue: 1)
    static let lock = Modifiers(rawValue: 2)
    static let control = Modifiers(rawValue: 4)
}

/// The keyboard layout of a server, as the X Keyboard Extension (XKB) describes it: which keycode has a keysym, and
/// with which modifiers. A value without a connection.
struct KeyboardMap: Sendable {
    /// Which level the modifiers choose (XKB protocol, 12.2.1).
    struct KeyType: Sendable {
        /// Those that matter.
        var mask: Modifiers
        var levels: [Modifiers: Int]

        func level(_ modifiers: Modifiers) -> Int { levels[modifiers.intersection(mask)] ?? 0 }
    }

    struct Key: Sendable {
        var keycode: UInt8
        /// Of each group: its type, and the keysym of each level; 0: none.
        var groups: [(type: KeyType, keysyms: [UInt32])]
        /// XKB's groupInfo: what a group that the key lacks stands for.
        var groupInfo: UInt8
        /// Those that are on while it is pressed.
        var modifiers: Modifiers

        /// The group of the key in this group of the keyboard.
        func group(_ group: Int) -> Int? {
            guard !groups.isEmpty else { return nil }
            if (0..<groups.count).contains(group) { return group }
            switch groupInfo & 0xC0 {
            case 0x40: return group < 0 ? 0 : groups.count - 1
            case 0x80:
                let other = Int(groupInfo >> 4 & 3)
                return other < groups.count ? other : 0
            default: return (group % groups.count + groups.count) % groups.count
            }
        }
    }

    /// How a keysym is typed.
    struct Stroke: Equatable, Sendable {
        var keycode: UInt8
        /// Those that have to be on in addition, and those that must not be on.
        var added: Modifiers = []
        var removed: Modifiers = []

        var needsOtherModifiers: Bool { !added.isEmpty || !removed.isEmpty }
    }

    private let keys: [UInt8: Key]
    private let places: [Keysym: [UInt8]]
    /// Keycodes without a keysym and a function, from the highest down.
    let unused: [UInt8]
    /// The key of each modifier that may be pressed to type a character: Shift and those of the third and fifth level.
    let shifts: [Modifiers: UInt8]
    /// What Alt is.
    let alt: Modifiers

    init(_ keys: [Key]) {
        self.keys = Dictionary(keys.map { ($0.keycode, $0) }, uniquingKeysWith: { first, _ in first })
        var places: [Keysym: [UInt8]] = [:]
        for key in keys {
            for keysym in Set(key.groups.flatMap(\.keysyms)) where keysym != 0 {
                places[Keysym(keysym), default: []].append(key.keycode)
            }
        }
        self.places = places
        unused = keys.filter { $0.modifiers.isEmpty && $0.groups.allSatisfy { $0.keysyms.allSatisfy { $0 == 0 } } }
            .map(\.keycode).reversed()
        var shifts: [Modifiers: UInt8] = [:]
        for keysym in Keysym.shift + [.level3Shift, .level5Shift] {
            let key = keys.first {
                !$0.modifiers.isEmpty && $0.groups.first?.keysyms.first.map { Keysym($0) } == keysym
            }
            if let key, shifts[key.modifiers] == nil { shifts[key.modifiers] = key.keycode }
        }
        self.shifts = shifts
        let alts = keys.filter { $0.groups.first?.keysyms.first.map { Keysym.alt.contains(Keysym($0)) } ?? false }
        alt = alts.first { !$0.modifiers.isEmpty }?.modifiers ?? Modifiers(rawValue: 8)
    }

    /// Whether this key has the keysym.
    func has(_ keysym: Keysym, at keycode: UInt8) -> Bool { places[keysym]?.contains(keycode) ?? false }

    /// The modifiers that are on while a key is pressed.
    func modifiers(of keycode: UInt8) -> Modifiers { keys[keycode]?.modifiers ?? [] }

    /// How to type a keysym; the way that needs the fewest changes.
    /// - Parameters:
    ///   - modifiers: those that are on now; other ones than Shift and those of levels stay as they are.
    ///   - removable: those that may be turned off for it.
    /// - Returns: nil if the layout lacks it in this group, or with the modifiers that stay.
    func stroke(_ keysym: Keysym, _ modifiers: Modifiers, removable: Modifiers, group: Int) -> Stroke? {
        var best: (stroke: Stroke, changes: Int)?
        for keycode in places[keysym] ?? [] {
            guard let key = keys[keycode], let index = key.group(group) else { continue }
            let (type, keysyms) = key.groups[index]
            for wanted in states(from: modifiers, removable, matteringTo: type) {
                let level = type.level(wanted)
                guard keysyms.indices.contains(level), Keysym(keysyms[level]) == keysym else { continue }
                let stroke = Stroke(
                    keycode: keycode, added: wanted.subtracting(modifiers), removed: modifiers.subtracting(wanted))
                let changes = stroke.added.rawValue.nonzeroBitCount + stroke.removed.rawValue.nonzeroBitCount
                if best.map({ changes < $0.changes }) ?? true { best = (stroke, changes) }
            }
        }
        return best?.stroke
    }

    /// The states that can be had by pressing the keys of levels, or by releasing them.
    private func states(
        from modifiers: Modifiers, _ removable: Modifiers, matteringTo type: KeyType
    ) -> [Modifiers] {
        var states = [modifiers]
        for shift in shifts.keys where !shift.isDisjoint(with: type.mask) {
            if modifiers.isDisjoint(with: shift) {
                states += states.map { $0.union(shift) }
            } else if modifiers.intersection(shift).isSubset(of: removable) {
                states += states.map { $0.subtracting(shift) }
            }
        }
        return states
    }
}
