package import LinuxRuntime
package import MediaCore

/// Puts the input of a viewer that controls into a Wayland desktop, which has granted that with a monitor's picture.
///
/// The desktop does not tell of input of its own devices. What is known of them is the pointer: if it is where no
/// viewer has put it, somebody moved it here, which releases what the viewer holds and drops its input for a second.
/// Safe from any thread.
package final class PortalInput: Sendable {
    package enum Event: Sendable, Equatable {
        /// Somebody moved the pointer of this machine.
        case localInput
        /// The desktop has ended the grant, or its picture is lost: nothing passes until it is opened again.
        case grantLost
    }

    private struct State {
        /// Nil: there is none at the moment.
        var grant: ScreenCastGrant?
        var monitor = ControlledMonitor()
        /// Nil: no viewer controls.
        var control: Control?
        var onEvent: @Sendable (Event) -> Void = { _ in }
    }

    private let cast: any ScreenCast
    private let state = Monitor(State())

    package init(_ cast: any ScreenCast) { self.cast = cast }

    // MARK: The viewer that controls

    /// Whether viewers can control what is granted.
    /// - Throws: `.notPermitted` if the grant is without input; `.unsupported` if the portal has none, and for a
    ///   window, as the desktop does not say whether the input would reach it; `.displayGone` if there is no grant any
    ///   more.
    package func check() throws(SourceFailure) { try check(state.with { $0.grant }) }

    /// The devices that are granted.
    package var devices: DesktopDevices { state.with { $0.grant?.devices ?? [] } }

    /// How long the first frame of a grant may take, without which places are unknown.
    private static let framePatience = MediaDuration.seconds(2)

    /// Passes the input of a viewer on from now on. Blocks until a frame of the grant has come.
    /// - Parameter onEvent: must not block.
    /// - Throws: as `check`.
    package func open(onEvent: @escaping @Sendable (Event) -> Void) throws(SourceFailure) {
        _ = state.wait(until: MonotonicClock.now + Self.framePatience) { state in
            state.grant == nil || state.monitor.size != nil ? () : nil
        }
        try state.with { state in
            Result { () throws(SourceFailure) in
                try check(state.grant)
                send(state.control?.releaseAll() ?? [])
                state.control = Control(now: MonotonicClock.now)
                state.onEvent = onEvent
            }
        }.get()
    }

    /// Passes an input on, and returns at once.
    package func apply(_ input: ControlInput) {
        // Inputs stay in order, as sending does not block.
        state.with { state in
            guard let size = state.monitor.size, let devices = state.grant?.devices, devices.permits(input) else {
                return
            }
            send(state.control?.handle(input, on: size, now: MonotonicClock.now) ?? [])
        }
    }

    /// Releases every key and button that viewers hold.
    package func releaseAll() { state.with { send($0.control?.releaseAll() ?? []) } }

    /// Releases everything, and passes nothing on until it is opened. May be called twice.
    package func close() {
        state.with { state in
            send(state.control?.releaseAll() ?? [])
            (state.control, state.onEvent) = (nil, { _ in })
        }
    }

    private func check(_ grant: ScreenCastGrant?) throws(SourceFailure) {
        guard let grant, !cast.isEnded else {
            throw SourceFailure(.displayGone, "the desktop does not share its screen at the moment")
        }
        guard let devices = grant.devices else {
            throw SourceFailure(
                .unsupported, "the desktop portal lets no program use the pointer and the keyboard",
                remedy: "The portals of GNOME and KDE do; that of sway (xdg-desktop-portal-wlr) does not.")
        }
        guard !devices.isEmpty else {
            throw SourceFailure(
                .notPermitted, "the desktop did not grant the pointer and the keyboard",
                remedy: "Run it again, and allow them in the desktop's question (--ask-again).")
        }
        guard grant.kind == .monitor else {
            throw SourceFailure(
                .unsupported, "in a Wayland session viewers can control a whole monitor, and no window",
                remedy: "Run it again, and choose a monitor in the desktop's question (--ask-again).")
        }
    }

    private func send(_ inputs: [DesktopInput]) {
        for input in inputs { cast.send(input) }
    }

    // MARK: What the screen tells

    /// The desktop has granted a screen.
    func begin(_ grant: ScreenCastGrant) {
        state.with { state in
            state.grant = grant
            state.monitor = ControlledMonitor(logicalSize: grant.logicalSize)
        }
    }

    /// The grant has ended, or its picture is lost.
    func end() {
        let onEvent = state.change { state -> (@Sendable (Event) -> Void)? in
            guard state.grant != nil else { return nil }
            state.grant = nil
            guard var control = state.control else { return nil }
            send(control.releaseAll())
            state.control = nil
            return state.onEvent
        }
        onEvent?(.grantLost)
    }

    /// A frame has come.
    func showFrame(of size: PixelSize) {
        if state.with({ $0.monitor.frame }) != size { state.change { $0.monitor.frame = size } }
    }

    /// The pointer is at a pixel of the newest frame.
    func showPointer(x: Int, y: Int) {
        let onEvent = state.with { state -> (@Sendable (Event) -> Void)? in
            guard let place = state.monitor.place(x: x, y: y), state.control != nil else { return nil }
            guard let local = state.control?.showPointer(at: place, now: MonotonicClock.now) else { return nil }
            send(local.releases)
            return local.isNew ? state.onEvent : nil
        }
        onEvent?(.localInput)
    }
}

extension DesktopDevices {
    fileprivate func permits(_ input: ControlInput) -> Bool {
        switch input {
        case .move, .button, .wheel: contains(.pointer)
        case .key: contains(.keyboard)
        }
    }
}
