internal import CXCB
internal import Glibc
internal import MediaCore

/// Types keysyms on the keyboard of an X server, whatever its layout is. Confined to the thread `remote-input`.
///
/// A character that needs other modifiers than are on is typed at once, with those modifiers and without a key that
/// stays pressed; its repetitions are the viewer's. A character that the layout lacks gets a free keycode.
final class RemoteKeyboard {
    private let connection: ControlConnection
    private var map: KeyboardMap?
    private var borrowed = BorrowedKeycodes()
    /// The keys that are down, by their keysym.
    private var pressed: [Keysym: UInt8] = [:]

    init(_ connection: ControlConnection) { self.connection = connection }

    /// Whether a key of the layout has this keysym.
    func has(_ keysym: Keysym, at keycode: UInt8) -> Bool { currentMap()?.has(keysym, at: keycode) ?? false }

    /// The layout has changed, by whomever.
    func noteLayoutChange() { map = nil }

    /// - Returns: when to try again, if it cannot be typed before; nil: done, or impossible.
    func press(_ keysym: Keysym, now: MediaInstant) -> MediaInstant? {
        // The server repeats a key that is down itself; more presses would add to that.
        if let keycode = pressed[keysym] {
            borrowed.noteUse(of: keycode, now: now)
            return nil
        }
        guard let map = currentMap(), let (modifiers, group) = state() else { return nil }
        let removable = pressed.values.reduce(Modifiers()) { $0.union(map.modifiers(of: $1)) }
        if let stroke = map.stroke(keysym, modifiers, removable: removable, group: group) {
            type(stroke, keysym, map, now)
            return nil
        }
        switch borrowed.next(free: map.unused, pressed: Set(pressed.values), now: now) {
        case .none: return nil
        case .wait(let instant): return instant
        case .keycode(let keycode):
            let keysyms = keysym.cases.map { [$0.lower, $0.upper] } ?? [keysym, keysym]
            connection.setKeysyms(keysyms, at: keycode)
            borrowed.borrow(keycode, for: keysyms, now: now)
            self.map = nil
            // The server chooses the type of the key.
            guard let changed = currentMap(),
                let stroke = changed.stroke(keysym, modifiers, removable: removable, group: group)
            else { return nil }
            type(stroke, keysym, changed, now)
            return nil
        }
    }

    func release(_ keysym: Keysym, now: MediaInstant) {
        guard let keycode = pressed.removeValue(forKey: keysym) else { return }
        borrowed.noteUse(of: keycode, now: now)
        if !pressed.values.contains(keycode) { connection.key(keycode, isPressed: false) }
    }

    /// When borrowed keycodes may be given back; nil if there are none.
    var settled: MediaInstant? { borrowed.settled }

    /// Frees the keycodes that characters were given.
    func giveBack() {
        guard !borrowed.isEmpty else { return }
        _ = currentMap()
        for keycode in borrowed.removeAll() { connection.setKeysyms([], at: keycode) }
        map = nil
    }

    private func currentMap() -> KeyboardMap? {
        if map == nil {
            map = KeyboardMap(connection)
            if let map { borrowed.removeLost(in: map) }
        }
        return map
    }

    /// The modifiers that are on, and the group. Takes one round trip.
    private func state() -> (modifiers: Modifiers, group: Int)? {
        let cookie = xcb_xkb_get_state(connection.raw, ControlConnection.coreKeyboard)
        guard let reply = xcb_xkb_get_state_reply(connection.raw, cookie, nil) else { return nil }
        defer { free(reply) }
        return (Modifiers(rawValue: reply.pointee.mods), Int(reply.pointee.group))
    }

    private func type(_ stroke: KeyboardMap.Stroke, _ keysym: Keysym, _ map: KeyboardMap, _ now: MediaInstant) {
        borrowed.noteUse(of: stroke.keycode, now: now)
        guard stroke.needsOtherModifiers || pressed.values.contains(stroke.keycode) else {
            connection.key(stroke.keycode, isPressed: true)
            pressed[keysym] = stroke.keycode
            return
        }
        let added = map.shifts.filter { !stroke.added.isDisjoint(with: $0.key) }.map(\.value)
        let removed = Set(pressed.values).filter { !stroke.removed.isDisjoint(with: map.modifiers(of: $0)) }
        let isDown = pressed.values.contains(stroke.keycode)
        if isDown { connection.key(stroke.keycode, isPressed: false) }
        for key in removed { connection.key(key, isPressed: false) }
        for key in added { connection.key(key, isPressed: true) }
        connection.key(stroke.keycode, isPressed: true)
        connection.key(stroke.keycode, isPressed: false)
        for key in added { connection.key(key, isPressed: false) }
        for key in removed { connection.key(key, isPressed: true) }
        // Another keysym holds this keycode no longer.
        if isDown { pressed = pressed.filter { $0.value != stroke.keycode } }
    }
}
