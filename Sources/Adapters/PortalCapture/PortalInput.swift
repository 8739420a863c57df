package import LinuxRuntime
package import MediaCore

/// Puts the input of a viewer that controls into a Wayland desktop, which has granted that with a monitor's picture.
///
/// The desktop does not tell of input of its own devices: whoever uses the machine does not go before viewers here, and
/// no key takes the control back. Safe from any thread.
package final class PortalInput: Sendable {
    private let cast: any ScreenCast
    private let size: PixelSize
    /// Nil: it is closed.
    private let state: Monitor<RemoteInputState?>

    /// - Parameters:
    ///   - size: of the monitor in the desktop's own units; nil: `frameSize`.
    /// - Throws: `.notPermitted` if the grant is without input; `.unsupported` for a window, as the desktop does not say
    ///   whether the input would reach it.
    package init(_ cast: any ScreenCast, _ grant: ScreenCastGrant, frameSize: PixelSize) throws(SourceFailure) {
        guard grant.takesInput else {
            throw SourceFailure(
                .notPermitted, "the desktop did not grant the pointer and the keyboard",
                remedy: "Run it again, and allow both in the desktop's question.")
        }
        guard grant.kind == .monitor else {
            throw SourceFailure(
                .unsupported, "viewers can control a whole monitor alone in a Wayland session",
                remedy: "Run it again, and choose a monitor in the desktop's question.")
        }
        self.cast = cast
        size = grant.logicalSize ?? frameSize
        state = Monitor(RemoteInputState(now: MonotonicClock.now))
    }

    deinit { close() }

    /// Passes an input on, and returns at once.
    package func apply(_ input: ControlInput) {
        // Inputs stay in order, as sending does not block.
        state.with { state in
            if case .wheel(let horizontal, let vertical) = input {
                if state != nil { turn(Int32(horizontal), Int32(vertical)) }
                return
            }
            // The desktop repeats a key that is down itself.
            let held = state?.pressedKeys ?? []
            let actions = state?.handle(input, in: MonitorArea(size: size), now: MonotonicClock.now) ?? []
            send(
                actions.filter { action in
                    if case .key(let keysym, true) = action { !held.contains(keysym) } else { true }
                })
        }
    }

    /// Releases every key and button that viewers hold.
    package func releaseAll() { state.with { send($0?.releaseAll() ?? []) } }

    /// Releases everything, and passes nothing on any more. May be called twice.
    package func close() {
        state.with { state in
            send(state?.releaseAll() ?? [])
            state = nil
        }
    }

    /// Notches of the wheel in one input.
    private static let notchLimit: Int32 = 10

    private func turn(_ horizontal: Int32, _ vertical: Int32) {
        for (isHorizontal, notches) in [(true, horizontal), (false, vertical)] where notches != 0 {
            cast.send(.wheel(isHorizontal: isHorizontal, min(max(notches, -Self.notchLimit), Self.notchLimit)))
        }
    }

    private func send(_ actions: [RemoteInputAction]) {
        for action in actions {
            switch action {
            case .move(let point): cast.send(.move(x: Double(point.x), y: Double(point.y)))
            case .button(let number, let isPressed):
                guard let code = Self.codes[number] else { continue }
                cast.send(.button(code, isPressed: isPressed))
            case .key(let keysym, let isPressed): cast.send(.key(keysym, isPressed: isPressed))
            }
        }
    }

    /// BTN_LEFT, BTN_MIDDLE, BTN_RIGHT, BTN_SIDE and BTN_EXTRA by the numbers of X11.
    private static let codes: [UInt8: Int32] = [1: 0x110, 2: 0x112, 3: 0x111, 8: 0x113, 9: 0x114]
}

/// All of a monitor.
private struct MonitorArea: ControlledArea {
    let size: PixelSize

    var isWholeScreen: Bool { true }
    var hasFocus: Bool { true }
    var hasPointer: Bool { true }

    func pixel(of point: PicturePoint) -> ScreenPoint? {
        let pixel = point.pixel(width: size.width, height: size.height)
        return ScreenPoint(x: pixel.x, y: pixel.y)
    }

    func isShared(at point: ScreenPoint) -> Bool { true }
}
