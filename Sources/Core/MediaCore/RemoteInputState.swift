/// A pixel of the root window.
package struct ScreenPoint: Hashable, Sendable {
    package var x: Int
    package var y: Int

    package init(x: Int, y: Int) { (self.x, self.y) = (x, y) }
}

/// What a display says about the area that viewers control.
package protocol ControlledArea {
    /// Whether all of the screen is controlled, so that shortcuts of the desktop are part of it.
    var isWholeScreen: Bool { get }
    /// Whether the area's window is the one that has the keyboard.
    var hasFocus: Bool { get }
    /// Whether the pointer stands on what is shared.
    var hasPointer: Bool { get }
    /// Where a place of the picture is now; nil if it is not shown.
    func pixel(of point: PicturePoint) -> ScreenPoint?
    /// Whether what lies topmost at a pixel is shared.
    func isShared(at point: ScreenPoint) -> Bool
}

/// What is to be done on the display.
package enum RemoteInputAction: Equatable, Sendable {
    case move(ScreenPoint)
    case button(UInt8, isPressed: Bool)
    /// A press of a pressed key repeats it, unless the server does that itself.
    case key(UInt32, isPressed: Bool)
}

/// Decides which input of viewers passes, and remembers what they hold. A value without a display and a clock.
package struct RemoteInputState: Sendable {
    /// How long input of viewers is dropped after the last input of this machine's own devices.
    package static let localInputHold = MediaDuration.seconds(1)
    /// Keys that can be held at once.
    package static let keyLimit = 16
    /// Notches of a wheel in one input.
    static let notchLimit = 10
    private static let buttons: Set<UInt8> = [1, 2, 3, 8, 9]

    /// In the order of the presses.
    package private(set) var pressedButtons: [UInt8] = []
    package private(set) var pressedKeys: [UInt32] = []
    private var heldUntil: MediaInstant?
    private var repetitions: TokenBucket

    package init(now: MediaInstant) { repetitions = TokenBucket(burst: 20, rate: 40, now: now) }

    /// Whether input is dropped because somebody uses this machine.
    package func isHeld(at now: MediaInstant) -> Bool { heldUntil.map { now < $0 } ?? false }

    /// - Returns: nothing for input that may not pass.
    package mutating func handle(
        _ input: ControlInput, in area: some ControlledArea, now: MediaInstant
    ) -> [RemoteInputAction] {
        guard !isHeld(at: now) else { return [] }
        switch input {
        case .move(let point): return move(to: point, in: area)
        case .button(let button, true): return press(button, in: area)
        case .button(let button, false): return release(button)
        case .wheel(let horizontal, let vertical): return turn(Int(horizontal), Int(vertical), in: area)
        case .key(let keysym, true): return press(Keysym(keysym), in: area, now: now)
        case .key(let keysym, false): return release(Keysym(keysym))
        }
    }

    /// Notes input of a device of this machine: viewers hold nothing from now on.
    package mutating func handleLocalInput(now: MediaInstant) -> [RemoteInputAction] {
        heldUntil = now + Self.localInputHold
        return releaseAll()
    }

    /// Forgets what is held.
    /// - Returns: the releases, from the last press to the first.
    package mutating func releaseAll() -> [RemoteInputAction] {
        defer { (pressedKeys, pressedButtons) = ([], []) }
        return releasedButtons + pressedKeys.reversed().map { .key($0, isPressed: false) }
    }

    private var releasedButtons: [RemoteInputAction] {
        pressedButtons.reversed().map { .button($0, isPressed: false) }
    }

    // MARK: Pointer

    private mutating func move(to point: PicturePoint, in area: some ControlledArea) -> [RemoteInputAction] {
        guard let pixel = area.pixel(of: point) else { return endDrag() }
        // A drag ends at the edge of what is shared: nothing is dropped on other windows.
        if !pressedButtons.isEmpty, !area.isShared(at: pixel) { return endDrag() }
        return [.move(pixel)]
    }

    private mutating func endDrag() -> [RemoteInputAction] {
        defer { pressedButtons = [] }
        return releasedButtons
    }

    private mutating func press(_ button: UInt8, in area: some ControlledArea) -> [RemoteInputAction] {
        guard Self.buttons.contains(button), !pressedButtons.contains(button), area.hasPointer else { return [] }
        pressedButtons.append(button)
        return [.button(button, isPressed: true)]
    }

    private mutating func release(_ button: UInt8) -> [RemoteInputAction] {
        guard let index = pressedButtons.firstIndex(of: button) else { return [] }
        pressedButtons.remove(at: index)
        return [.button(button, isPressed: false)]
    }

    /// A notch is a click of a button: 4 up, 5 down, 6 left, 7 right.
    private func turn(_ horizontal: Int, _ vertical: Int, in area: some ControlledArea) -> [RemoteInputAction] {
        guard horizontal != 0 || vertical != 0, area.hasPointer else { return [] }
        let turns: [(button: UInt8, notches: Int)] = [
            (vertical < 0 ? 4 : 5, abs(vertical)), (horizontal < 0 ? 6 : 7, abs(horizontal)),
        ]
        return turns.flatMap { turn in
            (0..<min(turn.notches, Self.notchLimit)).flatMap { _ -> [RemoteInputAction] in
                [.button(turn.button, isPressed: true), .button(turn.button, isPressed: false)]
            }
        }
    }

    // MARK: Keys

    private mutating func press(
        _ keysym: Keysym, in area: some ControlledArea, now: MediaInstant
    ) -> [RemoteInputAction] {
        guard keysym.isPermitted, area.isWholeScreen || !isShortcutOfDesktop(keysym), area.hasFocus else { return [] }
        if pressedKeys.contains(keysym.value) {
            repetitions.refill(now)
            guard !keysym.isModifier, repetitions.has() else { return [] }
            repetitions.take()
        } else {
            guard pressedKeys.count < Self.keyLimit else { return [] }
            pressedKeys.append(keysym.value)
        }
        return [.key(keysym.value, isPressed: true)]
    }

    private mutating func release(_ keysym: Keysym) -> [RemoteInputAction] {
        // Who releases Shift first presses a capital letter and releases a small one.
        let candidates = [keysym] + (keysym.cases.map { [$0.lower, $0.upper] } ?? [])
        for candidate in candidates {
            guard let index = pressedKeys.firstIndex(of: candidate.value) else { continue }
            pressedKeys.remove(at: index)
            return [.key(candidate.value, isPressed: false)]
        }
        return []
    }

    /// Ctrl+Alt with any key, and Alt+Tab, change what no viewer of a window sees.
    private func isShortcutOfDesktop(_ keysym: Keysym) -> Bool {
        func isHeld(_ keys: [Keysym]) -> Bool { keys.contains { pressedKeys.contains($0.value) } }
        if keysym.isModifier { return false }
        guard isHeld(Keysym.alt) else { return false }
        return isHeld(Keysym.control) || keysym == .tab || keysym == .leftTab
    }
}
