import CSDL
import MediaCore

/// The pointers of viewers as a texture over the window, of which only what has changed is uploaded.
/// - Isolation: main thread.
final class PointerTexture {
    private let layer: PointerLayer
    private let renderer: OpaquePointer
    private var texture: OpaquePointer?
    private var size: PixelSize?

    init(_ layer: PointerLayer, _ renderer: OpaquePointer) { (self.layer, self.renderer) = (layer, renderer) }

    /// - Returns: whether the window looks different from before.
    func update(_ marks: [PointerMark], in layout: PictureLayout) -> Bool {
        let changed = layer.update(marks, in: layout)
        guard !changed.isEmpty else { return false }
        guard let canvas = layer.canvas else {
            close()
            return true
        }
        var rectangles = changed
        if texture == nil || size != canvas.size {
            close()
            texture = makeTexture(canvas.size)
            size = canvas.size
            rectangles = [PixelRect(canvas.size)]
        }
        guard let texture else { return true }
        canvas.pixels.withUnsafeBufferPointer { pixels in
            guard let base = pixels.baseAddress else { return }
            for rect in rectangles.map({ $0.clipped(to: canvas.size) }) where !rect.isEmpty {
                var place = SDL_Rect(
                    x: Int32(rect.x), y: Int32(rect.y), w: Int32(rect.width), h: Int32(rect.height))
                SDL_UpdateTexture(
                    texture, &place, base + rect.y * canvas.size.width + rect.x, Int32(canvas.size.width * 4))
            }
        }
        return true
    }

    private func makeTexture(_ size: PixelSize) -> OpaquePointer? {
        let texture = SDL_CreateTexture(
            renderer, SDL_PIXELFORMAT_ARGB8888.rawValue, Int32(SDL_TEXTUREACCESS_STATIC.rawValue), Int32(size.width),
            Int32(size.height))
        if let texture { SDL_SetTextureBlendMode(texture, SDL_BLENDMODE_BLEND) }
        return texture
    }

    func draw() { if let texture { SDL_RenderCopy(renderer, texture, nil, nil) } }

    /// Must be called before the renderer is destroyed.
    func close() {
        if let texture { SDL_DestroyTexture(texture) }
        texture = nil
    }
}
