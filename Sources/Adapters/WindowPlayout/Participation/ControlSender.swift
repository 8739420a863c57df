import MediaCore

/// Makes control input of keys and of the mouse, and remembers what is held. A value without a clock and a display.
///
/// Right Ctrl, pressed and released alone, ends control; with another key it is a key like all.
struct ControlSender {
    /// 60 moves a second.
    static let interval = MediaDuration.microseconds(16_700)
    /// Control_R.
    static let endKeysym: UInt32 = 0xFFE4
    /// Keys that can be held at once. The host has the same limit.
    private static let keyLimit = 16

    private struct Key {
        /// The key on the keyboard.
        var code: UInt32
        /// That of its press, as other modifiers are on when it is released.
        var keysym: UInt32
    }

    private var inputs: [ControlInput] = []
    private var keys: [Key] = []
    private var buttons: [UInt8] = []
    private var pendingMove: PicturePoint?
    private var lastMove: PicturePoint?
    private var next = MediaInstant(nanoseconds: 0)
    /// The code of Right Ctrl while it is held and nothing else happened.
    private var heldEndKey: UInt32?

    /// Whether a drag may lead outside the picture.
    var isDragging: Bool { !buttons.isEmpty }

    /// - Parameter point: nil beside the picture, where the host's pointer stays as it is.
    mutating func move(to point: PicturePoint?) {
        guard let point, point != pendingMove ?? lastMove else { return }
        pendingMove = point
    }

    /// - Parameters:
    ///   - button: as X11 numbers them.
    ///   - point: nil beside the picture, where nothing is pressed.
    mutating func press(_ button: UInt8, at point: PicturePoint?) {
        guard let point, !buttons.contains(button) else { return }
        move(to: point)
        beginOther()
        buttons.append(button)
        inputs.append(.button(button, isPressed: true))
    }

    mutating func release(_ button: UInt8, at point: PicturePoint?) {
        guard let index = buttons.firstIndex(of: button) else { return }
        move(to: point)
        beginOther()
        buttons.remove(at: index)
        inputs.append(.button(button, isPressed: false))
    }

    /// - Parameter point: nil beside the picture, where nothing is turned.
    mutating func turn(horizontal: Int, vertical: Int, at point: PicturePoint?) {
        guard let point, horizontal != 0 || vertical != 0 else { return }
        move(to: point)
        beginOther()
        inputs.append(.wheel(horizontal: Int8(clamping: horizontal), vertical: Int8(clamping: vertical)))
    }

    /// - Parameter code: of the key on the keyboard.
    /// - Returns: whether the user ends control.
    mutating func key(_ code: UInt32, keysym: UInt32, isPressed: Bool) -> Bool {
        isPressed ? press(code, keysym) : release(code)
    }

    private mutating func press(_ code: UInt32, _ keysym: UInt32) -> Bool {
        if heldEndKey == code { return false }
        if let key = keys.first(where: { $0.code == code }) {
            // The key repeats.
            inputs.append(.key(keysym: key.keysym, isPressed: true))
        } else if keysym == Self.endKeysym {
            heldEndKey = code
        } else if keysym != 0 {
            beginOther()
            add(Key(code: code, keysym: keysym))
        }
        return false
    }

    private mutating func release(_ code: UInt32) -> Bool {
        if heldEndKey == code {
            heldEndKey = nil
            return true
        }
        guard let index = keys.firstIndex(where: { $0.code == code }) else { return false }
        beginOther()
        inputs.append(.key(keysym: keys.remove(at: index).keysym, isPressed: false))
        return false
    }

    private mutating func add(_ key: Key) {
        guard keys.count < Self.keyLimit else { return }
        keys.append(key)
        inputs.append(.key(keysym: key.keysym, isPressed: true))
    }

    /// The pointer is where the user sees it, and Right Ctrl is a key like all.
    private mutating func beginOther() {
        if let code = heldEndKey {
            heldEndKey = nil
            add(Key(code: code, keysym: Self.endKeysym))
        }
        sendMove()
    }

    private mutating func sendMove() {
        guard let point = pendingMove else { return }
        inputs.append(.move(point))
        (lastMove, pendingMove) = (point, nil)
    }

    /// Releases what is held, from the last press to the first.
    mutating func releaseAll() {
        heldEndKey = nil
        inputs += buttons.reversed().map { .button($0, isPressed: false) }
        inputs += keys.reversed().map { .key(keysym: $0.keysym, isPressed: false) }
        (buttons, keys, pendingMove, lastMove) = ([], [], nil, nil)
    }

    /// When something is to be sent; nil if there is nothing.
    var nextTime: MediaInstant? {
        if !inputs.isEmpty { return MediaInstant(nanoseconds: 0) }
        return pendingMove == nil ? nil : next
    }

    /// Takes out what is to be sent.
    mutating func take(_ now: MediaInstant) -> [ControlInput] {
        if now >= next { sendMove() }
        if inputs.contains(where: { if case .move = $0 { true } else { false } }) { next = now + Self.interval }
        defer { inputs = [] }
        return inputs
    }
}
