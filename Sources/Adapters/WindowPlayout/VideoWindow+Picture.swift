import CSDL
import MediaCore

/// The size of the frame in the window, and the part of it that is shown.
extension VideoWindow {
    /// In the window's pixels.
    private static let step = 64

    var layout: PictureLayout? {
        guard let frame = shadow.size else { return nil }
        var (width, height) = (Int32(0), Int32(0))
        SDL_GetWindowSizeInPixels(window, &width, &height)
        return PictureLayout(
            frame: frame, window: PixelSize(width: Int(width), height: Int(height)), view: view.picture)
    }

    /// Switches between the frame's own size and the largest that fits.
    func switchPictureSize() {
        // Before the first frame the choice is kept for it.
        show(layout?.switched() ?? PictureLayout.View(isOneToOne: !view.picture.isOneToOne))
    }

    /// Moves the part that is shown, where the frame is larger than the window.
    func pan(x: Int, y: Int) {
        guard !isDismissible, let layout, layout.isCut else { return }
        show(layout.panned(x: x, y: y))
    }

    /// The wheel moves up and down, with Shift to the sides.
    func pan(by wheel: SDL_MouseWheelEvent) {
        let (across, down) = (Int(wheel.x) * Self.step, -Int(wheel.y) * Self.step)
        let isShifted = SDL_GetModState().rawValue & UInt32(KMOD_SHIFT.rawValue) != 0
        if isShifted { pan(x: down, y: 0) } else { pan(x: across, y: down) }
    }

    /// - Returns: whether the key is an arrow that moves the part that is shown.
    func pan(byKey key: SDL_Keycode) -> Bool {
        guard !isDismissible, let layout, layout.isCut else { return false }
        switch Int(key) {
        case Int(SDLK_LEFT.rawValue): pan(x: -Self.step, y: 0)
        case Int(SDLK_RIGHT.rawValue): pan(x: Self.step, y: 0)
        case Int(SDLK_UP.rawValue): pan(x: 0, y: -Self.step)
        case Int(SDLK_DOWN.rawValue): pan(x: 0, y: Self.step)
        default: return false
        }
        return true
    }

    private func show(_ picture: PictureLayout.View) {
        guard picture != view.picture else { return }
        view.picture = picture
        view.needsEverything = true
    }
}
