import CSDL
import MediaCore

/// One of the two ways to the display. Main thread.
enum WindowPresenter {
    case surface(SurfacePresenter)
    case texture(TexturePresenter)

    init(_ window: OpaquePointer, _ converter: any PixelConverter, _ choice: VideoWindow.Presentation)
        throws(SourceFailure)
    {
        let layout = OverlayLayout(scale: OverlayLayout.scale(of: window))
        if choice == .texture || choice == .automatic && TexturePresenter.isCardPresent,
            let texture = TexturePresenter(window: window, layout: layout, acceptsSoftware: choice == .texture)
        {
            self = .texture(texture)
            return
        }
        do {
            self = .surface(try SurfacePresenter(window: window, layout: layout, converter: converter))
        } catch {
            // A display with other pixels: SDL's renderer knows how.
            guard let texture = TexturePresenter(window: window, layout: layout, acceptsSoftware: true) else {
                throw error
            }
            self = .texture(texture)
        }
    }

    func present(_ shadow: FrameShadow, _ overlay: WindowOverlay, isDimmed: Bool, everything: Bool) {
        switch self {
        case .surface(let presenter):
            presenter.present(shadow, overlay, isDimmed: isDimmed, everything: everything)
        case .texture(let presenter):
            presenter.present(shadow, overlay, isDimmed: isDimmed, everything: everything)
        }
    }

    /// Before the window goes.
    func close() {
        if case .texture(let presenter) = self { presenter.close() }
    }
}
