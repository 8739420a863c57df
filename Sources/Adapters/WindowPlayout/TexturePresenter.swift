import CSDL
import Glibc
import MediaCore

/// Presents frames with a GPU: it uploads changed blocks into a texture, which the GPU converts and enlarges. A frame
/// that is larger than its place is scaled before: SDL's renderers interpolate between two pixels, which loses strokes
/// of small text.
/// - Isolation: main thread.
final class TexturePresenter {
    private let window: OpaquePointer
    private let renderer: OpaquePointer
    private var texture: OpaquePointer?
    /// The size of the frame in it, which may have been larger.
    private var textureSize: PixelSize?
    private let converter: any PixelConverter
    /// The frame at the size of its place; nil if that is not smaller.
    private var reduced: I420Buffer?
    private var uploadedSize: PixelSize?
    private var rectangles = BlockRectangles()
    let layout: OverlayLayout
    private let pointers: PointerTexture
    private var shownOverlay = WindowOverlay()
    /// The textures of the overlay's boxes, made for a window of `boxesSize`.
    private var boxes: [(place: SDL_Rect, texture: OpaquePointer)] = []
    private var boxesSize: PixelSize?
    private var isShownDimmed = false

    /// - Parameter acceptsSoftware: also accepts a software renderer.
    /// - Returns: nil if there is no acceptable renderer.
    init?(window: OpaquePointer, layout: OverlayLayout, converter: any PixelConverter, acceptsSoftware: Bool) {
        SDL_SetHint(SDL_HINT_RENDER_SCALE_QUALITY, "linear")
        SDL_SetYUVConversionMode(SDL_YUV_CONVERSION_BT601)
        guard let renderer = SDL_CreateRenderer(window, -1, SDL_RENDERER_PRESENTVSYNC.rawValue) else { return nil }
        guard acceptsSoftware || Self.isAccelerated(renderer) else {
            SDL_DestroyRenderer(renderer)
            return nil
        }
        self.window = window
        self.layout = layout
        self.converter = converter
        self.renderer = renderer
        pointers = PointerTexture(layout.makePointerLayer(), renderer)
    }

    /// Whether there is a DRM render node. Without one, loading a GL library is a waste of time.
    static var isCardPresent: Bool {
        guard let folder = opendir("/dev/dri") else { return false }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            // A render node ("renderD128") belongs to a GPU that can draw, not only display.
            if entry.pointee.d_name.0 == CChar(UInt8(ascii: "r")) { return true }
        }
        return false
    }

    private static func isAccelerated(_ renderer: OpaquePointer) -> Bool {
        var info = SDL_RendererInfo()
        guard SDL_GetRendererInfo(renderer, &info) == 0, info.flags & SDL_RENDERER_ACCELERATED.rawValue != 0 else {
            return false
        }
        typealias GetString = @convention(c) (UInt32) -> UnsafePointer<UInt8>?
        let glRenderer: UInt32 = 0x1F01
        guard let address = SDL_GL_GetProcAddress("glGetString"),
            let text = unsafeBitCast(address, to: GetString.self)(glRenderer)
        else { return true }
        let name = String(cString: text).lowercased()
        return !["llvmpipe", "softpipe", "swrast", "software"].contains { name.contains($0) }
    }

    /// Must be called before the window is destroyed.
    func close() {
        if let texture { SDL_DestroyTexture(texture) }
        texture = nil
        pointers.close()
        for box in boxes { SDL_DestroyTexture(box.texture) }
        boxes = []
        SDL_DestroyRenderer(renderer)
    }

    func present(
        _ shadow: FrameDoubleBuffer, _ overlay: WindowOverlay, _ view: PictureLayout.View, _ marks: [PointerMark],
        isDimmed: Bool, everything: Bool
    ) {
        let isUploaded = shadow.withFrame { frame, pending in upload(frame, &pending, view, everything) }
        let size = outputSize
        let frame = textureSize.map { PictureLayout(frame: $0, window: size, view: view) }
        let areMarksChanged = frame.map { pointers.update(marks, in: $0) } ?? false
        guard
            everything || isUploaded == true || overlay != shownOverlay || isDimmed != isShownDimmed
                || areMarksChanged
        else { return }
        let isOtherOverlay = overlay != shownOverlay || everything
        shownOverlay = overlay
        isShownDimmed = isDimmed
        let isEmpty = isUploaded == nil
        let background = TextBox.background
        SDL_SetRenderDrawColor(
            renderer, isEmpty ? UInt8(truncatingIfNeeded: background >> 16) : 0,
            isEmpty ? UInt8(truncatingIfNeeded: background >> 8) : 0,
            isEmpty ? UInt8(truncatingIfNeeded: background) : 0, 255)
        SDL_RenderClear(renderer)
        if let texture, let place = frame?.place {
            var target = SDL_Rect(
                x: Int32(place.x), y: Int32(place.y), w: Int32(place.width), h: Int32(place.height))
            SDL_RenderCopy(renderer, texture, nil, &target)
            if isDimmed {
                SDL_SetRenderDrawBlendMode(renderer, SDL_BLENDMODE_BLEND)
                SDL_SetRenderDrawColor(renderer, 0, 0, 0, 160)
                SDL_RenderFillRect(renderer, &target)
                SDL_SetRenderDrawBlendMode(renderer, SDL_BLENDMODE_NONE)
            }
            pointers.draw()
        }
        draw(overlay, in: size, isOther: isOtherOverlay)
        SDL_RenderPresent(renderer)
    }

    private var outputSize: PixelSize {
        var (width, height) = (Int32(0), Int32(0))
        SDL_GetRendererOutputSize(renderer, &width, &height)
        return PixelSize(width: Int(width), height: Int(height))
    }

    /// - Returns: whether the texture changed.
    private func upload(
        _ frame: I420Frame, _ pending: inout BlockMap, _ view: PictureLayout.View, _ everything: Bool
    ) -> Bool {
        let box = PictureLayout(frame: frame.size, window: outputSize, view: view)
        let size = box.isReduced ? PixelSize(width: box.place.width, height: box.place.height) : frame.size
        if texture == nil || textureSize != frame.size || uploadedSize != size {
            if let texture { SDL_DestroyTexture(texture) }
            (textureSize, uploadedSize) = (frame.size, size)
            reduced = box.isReduced ? I420Buffer(size) : nil
            texture = SDL_CreateTexture(
                renderer, SDL_PIXELFORMAT_IYUV.rawValue, Int32(SDL_TEXTUREACCESS_STREAMING.rawValue),
                Int32(size.width), Int32(size.height))
            pending.fill()
        }
        if everything { pending.fill() }
        guard let texture, !pending.isEmpty else { return false }
        rectangles.update(covering: pending)
        pending.clear()
        var source = frame
        if let reduced {
            converter.reduce(frame, to: reduced, rows: box.rows(of: rectangles.rectangles))
            source = reduced.frame
        }
        for rectangle in rectangles.rectangles {
            let part = reduced == nil ? rectangle : box.target(of: rectangle)
            guard !part.isEmpty else { continue }
            var rect = SDL_Rect(x: Int32(part.x), y: Int32(part.y), w: Int32(part.width), h: Int32(part.height))
            let chroma = part.y / 2 * source.strideC + part.x / 2
            SDL_UpdateYUVTexture(
                texture, &rect, source.y + part.y * source.strideY + part.x, Int32(source.strideY),
                source.u + chroma, Int32(source.strideC), source.v + chroma, Int32(source.strideC))
        }
        return true
    }

    private func draw(_ overlay: WindowOverlay, in size: PixelSize, isOther: Bool) {
        if isOther || size != boxesSize {
            for box in boxes { SDL_DestroyTexture(box.texture) }
            boxes = layout.boxes(overlay, in: size).compactMap(texture(of:))
            boxesSize = size
        }
        for box in boxes {
            var place = box.place
            SDL_RenderCopy(renderer, box.texture, nil, &place)
        }
    }

    private func texture(of box: TextBox) -> (SDL_Rect, OpaquePointer)? {
        let (width, height) = (Int32(box.size.width), Int32(box.size.height))
        guard
            let texture = SDL_CreateTexture(
                renderer, SDL_PIXELFORMAT_ARGB8888.rawValue, Int32(SDL_TEXTUREACCESS_STATIC.rawValue), width, height)
        else { return nil }
        box.pixels.withUnsafeBytes { _ = SDL_UpdateTexture(texture, nil, $0.baseAddress, width * 4) }
        return (SDL_Rect(x: Int32(box.x), y: Int32(box.y), w: width, h: height), texture)
    }
}
