import CSDL
import Glibc
import MediaCore

/// One of the two ways to the display.
enum WindowPresenter {
    case surface(SurfacePresenter)

    init(_ window: OpaquePointer, _ converter: any PixelConverter, _ choice: PictureWindow.Presentation)
        throws(SourceFailure)
    {
        self = .surface(try SurfacePresenter(window: window, converter: converter))
    }

    func present(_ shadow: PictureShadow, status: String?, everything: Bool) {
        switch self {
        case .surface(let presenter): presenter.present(shadow, status: status, everything: everything)
        }
    }

    /// Before the window goes.
    func close() {}
}
