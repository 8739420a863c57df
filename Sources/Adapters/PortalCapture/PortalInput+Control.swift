internal import LinuxRuntime
internal import MediaCore

extension PortalInput {
    /// What one viewer does on the desktop. A value without a clock.
    struct Control {
        private var input: RemoteInputState
        private var motion = LocalMotionDetector()
        /// Where the viewer points.
        private var point: PicturePoint?

        init(now: MediaInstant) { input = RemoteInputState(now: now) }

        /// - Parameter size: of the monitor, in the desktop's units.
        mutating func handle(_ new: ControlInput, on size: PixelSize, now: MediaInstant) -> [DesktopInput] {
            let area = MonitorArea(size: size)
            switch new {
            case .move(let place):
                point = place
                return act(new, in: area, now: now)
            case .button(_, isPressed: true):
                return placePointer(in: area, now: now) { $0.act(new, in: area, now: now) }
            case .wheel(let horizontal, let vertical):
                guard !input.isHeld(at: now) else { return [] }
                return placePointer(in: area, now: now) { _ in
                    Self.wheel(true, horizontal) + Self.wheel(false, vertical)
                }
            case .key(let keysym, isPressed: true):
                // The desktop repeats a key that is down itself.
                if input.pressedKeys.contains(Keysym(keysym).value) { return [] }
                return act(new, in: area, now: now)
            case .button, .key: return act(new, in: area, now: now)
            }
        }

        mutating func releaseAll() -> [DesktopInput] { input.releaseAll().compactMap(Self.desktopInput) }

        /// The pointer is at a place, in the desktop's units.
        /// - Returns: what follows if somebody moved it on this machine, and whether that begins; nil: nobody did.
        mutating func showPointer(
            at place: ScreenPoint, now: MediaInstant
        ) -> (releases: [DesktopInput], isNew: Bool)? {
            guard motion.isLocal(at: place, now: now) else { return nil }
            let isNew = !input.isHeld(at: now)
            return (input.handleLocalInput(now: now).compactMap(Self.desktopInput), isNew)
        }

        /// Nothing is pressed before the pointer is where the viewer points: it may be on another monitor.
        private mutating func placePointer(
            in area: MonitorArea, now: MediaInstant, _ body: (inout Control) -> [DesktopInput]
        ) -> [DesktopInput] {
            var inputs: [DesktopInput] = []
            if !motion.isPlaced, let point { inputs = act(.move(point), in: area, now: now) }
            return motion.isPlaced ? inputs + body(&self) : []
        }

        private mutating func act(_ new: ControlInput, in area: MonitorArea, now: MediaInstant) -> [DesktopInput] {
            let actions = input.handle(new, in: area, now: now)
            for case .move(let place) in actions { motion.put(at: place, now: now) }
            return actions.compactMap(Self.desktopInput)
        }

        /// Notches of the wheel in one input.
        private static let notchLimit: Int32 = 10

        private static func wheel(_ isHorizontal: Bool, _ notches: Int8) -> [DesktopInput] {
            notches == 0 ? [] : [.wheel(isHorizontal: isHorizontal, min(max(Int32(notches), -notchLimit), notchLimit))]
        }

        private static func desktopInput(_ action: RemoteInputAction) -> DesktopInput? {
            switch action {
            case .move(let point): .move(x: Double(point.x), y: Double(point.y))
            case .button(let number, let isPressed): codes[number].map { .button($0, isPressed: isPressed) }
            case .key(let keysym, let isPressed): .key(keysym, isPressed: isPressed)
            }
        }

        /// BTN_LEFT, BTN_MIDDLE, BTN_RIGHT, BTN_SIDE and BTN_EXTRA by the numbers of X11.
        private static let codes: [UInt8: Int32] = [1: 0x110, 2: 0x112, 3: 0x111, 8: 0x113, 9: 0x114]
    }
}
