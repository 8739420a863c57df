import CSDL
import Glibc
import MediaCore

/// Presents frames without a GPU. It converts changed blocks directly into the window surface, which the X server
/// reads, and updates only their rectangles.
/// - Isolation: main thread.
final class SurfacePresenter {
    private let window: OpaquePointer
    private let converter: any PixelConverter
    private var rectangles = BlockRectangles()
    private var updates: [SDL_Rect] = []
    private var shownLayout: PictureLayout?
    /// The frame scaled to the window; nil if it is shown without scaling.
    private var scaled: I420Buffer?
    let layout: OverlayLayout
    private let pointers: PointerLayer
    private var shownOverlay = WindowOverlay()
    private var isShownDimmed = false

    /// - Throws: `.unsupported` if the window's pixels are not BGRA; use `TexturePresenter` then.
    init(window: OpaquePointer, layout: OverlayLayout, converter: any PixelConverter) throws(SourceFailure) {
        self.window = window
        self.layout = layout
        pointers = layout.makePointerLayer()
        self.converter = converter
        updates.reserveCapacity(256)
        guard let surface = SDL_GetWindowSurface(window) else {
            throw SourceFailure(.unsupported, "The window has no pixels: \(SDLLibrary.lastError).")
        }
        let format = surface.pointee.format.pointee.format
        guard format == SDL_PIXELFORMAT_RGB888.rawValue || format == SDL_PIXELFORMAT_ARGB8888.rawValue else {
            throw SourceFailure(.unsupported, "The display does not have 32 bits per pixel.")
        }
    }

    /// Draws pending blocks and the overlay.
    /// - Parameters:
    ///   - isDimmed: shows the frame at 3/8 of its brightness.
    ///   - everything: redraws the whole window, as after a change of its size.
    func present(
        _ shadow: FrameDoubleBuffer, _ overlay: WindowOverlay, _ view: PictureLayout.View, _ marks: [PointerMark],
        isDimmed: Bool, everything: Bool
    ) {
        guard let surface = SDL_GetWindowSurface(window), let pixels = surface.pointee.pixels else { return }
        let stride = Int(surface.pointee.pitch)
        let size = PixelSize(width: Int(surface.pointee.w), height: Int(surface.pointee.h))
        updates.removeAll(keepingCapacity: true)
        let target = PixelSurface(pixels: pixels, stride: stride, size: size)
        var everything = everything || overlay != shownOverlay || isDimmed || isShownDimmed
        isShownDimmed = isDimmed
        let isFrameWhole = shadow.withFrame { frame, pending in draw(frame, &pending, target, view, marks, everything) }
        if isFrameWhole == true { everything = true }
        if everything {
            if isFrameWhole == nil { target.fill(TextBox.background) } else if isDimmed { target.dim() }
            for box in layout.boxes(overlay, in: size) { _ = box.draw(into: target) }
            shownOverlay = overlay
            SDL_UpdateWindowSurface(window)
        } else if !updates.isEmpty {
            // The drawn blocks may be under a box.
            for box in layout.boxes(overlay, in: size) {
                let place = box.draw(into: target)
                guard !place.isEmpty else { continue }
                updates.append(
                    SDL_Rect(x: Int32(place.x), y: Int32(place.y), w: Int32(place.width), h: Int32(place.height)))
            }
            SDL_UpdateWindowSurfaceRects(window, updates, Int32(updates.count))
        }
    }

    /// - Returns: whether the whole window was drawn; otherwise only `updates` were.
    private func draw(
        _ frame: I420Frame, _ pending: inout BlockMap, _ surface: PixelSurface, _ view: PictureLayout.View,
        _ marks: [PointerMark], _ everything: Bool
    ) -> Bool {
        var everything = everything
        let box = PictureLayout(frame: frame.size, window: surface.size, view: view)
        if box != shownLayout { everything = true }
        shownLayout = box
        let changed = pointers.update(marks, in: box)
        if everything {
            surface.fill(0xFF00_0000)
            pending.fill()
        } else if !changed.isEmpty || !pending.isEmpty {
            // The layer is drawn once over each pixel of the frame.
            for rect in changed + pointers.inked { pending.insert(box.frameRect(showing: rect)) }
        }
        guard !pending.isEmpty else { return false }
        rectangles.update(covering: pending)
        pending.clear()
        let place = box.place
        var source = frame
        if box.isUnscaled {
            scaled = nil
        } else {
            let size = PixelSize(width: place.width, height: place.height)
            if scaled?.size != size { scaled = I420Buffer(size) }
            guard let scaled else { return everything }
            converter.reduce(frame, to: scaled, rows: box.rows(of: rectangles.rectangles))
            source = scaled.frame
        }
        for rectangle in rectangles.rectangles {
            let rect = box.visible(box.target(of: rectangle))
            guard !rect.isEmpty else { continue }
            let x = place.x + rect.x
            let y = place.y + rect.y
            converter.convert(
                source, rect: rect, toBGRA: surface.pixels + y * surface.stride + x * 4, stride: surface.stride)
            updates.append(SDL_Rect(x: Int32(x), y: Int32(y), w: Int32(rect.width), h: Int32(rect.height)))
        }
        for rect in pointers.inked { pointers.canvas?.blend(rect, into: surface) }
        return everything
    }
}

/// The BGRA pixels of a window.
struct PixelSurface {
    let pixels: UnsafeMutableRawPointer
    /// The bytes from one row to the next.
    let stride: Int
    let size: PixelSize

    /// Reduces the brightness to 3/8.
    func dim() {
        for y in 0..<size.height {
            let row = (pixels + y * stride).assumingMemoryBound(to: UInt32.self)
            for x in 0..<size.width {
                row[x] = 0xFF00_0000 | (row[x] >> 2 & 0x003F_3F3F) &+ (row[x] >> 3 & 0x001F_1F1F)
            }
        }
    }

    func fill(_ colour: UInt32) {
        for y in 0..<size.height {
            (pixels + y * stride).assumingMemoryBound(to: UInt32.self).update(repeating: colour, count: size.width)
        }
    }
}
