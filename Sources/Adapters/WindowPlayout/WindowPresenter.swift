import CSDL
import MediaCore

/// Presents frames either with a GPU (`TexturePresenter`) or without (`SurfacePresenter`).
/// - Isolation: main thread.
enum WindowPresenter {
    case surface(SurfacePresenter)
    case texture(TexturePresenter)

    init(_ window: OpaquePointer, _ converter: any PixelConverter, _ choice: VideoWindow.Presentation)
        throws(SourceFailure)
    {
        let layout = OverlayLayout(scale: OverlayLayout.scale(of: window))
        if choice == .texture || choice == .automatic && TexturePresenter.isCardPresent,
            let texture = TexturePresenter(
                window: window, layout: layout, converter: converter, acceptsSoftware: choice == .texture)
        {
            self = .texture(texture)
            return
        }
        do {
            self = .surface(try SurfacePresenter(window: window, layout: layout, converter: converter))
        } catch {
            // The display has another pixel format, which SDL's renderer can convert.
            let texture = TexturePresenter(
                window: window, layout: layout, converter: converter, acceptsSoftware: true)
            guard let texture else { throw error }
            self = .texture(texture)
        }
    }

    func present(
        _ shadow: FrameDoubleBuffer, _ overlay: WindowOverlay, _ view: PictureLayout.View, _ marks: [PointerMark],
        isDimmed: Bool, everything: Bool
    ) {
        switch self {
        case .surface(let presenter):
            presenter.present(shadow, overlay, view, marks, isDimmed: isDimmed, everything: everything)
        case .texture(let presenter):
            presenter.present(shadow, overlay, view, marks, isDimmed: isDimmed, everything: everything)
        }
    }

    /// The button of the bar at a pixel of the window, as it was drawn last; nil if there is none.
    func barButton(x: Int, y: Int) -> BarButton.Choice? {
        switch self {
        case .surface(let presenter): presenter.layout.barButton(x: x, y: y)
        case .texture(let presenter): presenter.layout.barButton(x: x, y: y)
        }
    }

    /// Must be called before the window is destroyed.
    func close() {
        if case .texture(let presenter) = self { presenter.close() }
    }
}
