import CSDL
import LinuxRuntime
package import MediaCore
import Synchronization

/// A window without a frame whose program draws rectangles, text and pixels itself. The display's server is told of the
/// rectangles that were drawn, and of nothing else.
/// - Isolation: main thread.
package final class DrawingWindow {
    package enum Family: String, Sendable {
        case sansSerif = "sans-serif"
        case monospace
    }

    /// What the pixels of a text depend on.
    private struct TextKey: Hashable {
        var text: String
        var pixels: Int
        var family: Family
    }

    package let size: PixelSize
    private let window: OpaquePointer
    private let surface: PixelSurface
    private let fonts: [Family: TextFont] = [.sansSerif: TextFont(), .monospace: TextFont(family: "monospace")]
    private var texts: [TextKey: RenderedText] = [:]
    private var updates: [SDL_Rect] = []

    /// - Throws: `.noDisplay` if there is no display, or one without 32 bits a pixel.
    package init(title: String, _ size: PixelSize) throws(SourceFailure) {
        guard SDLLibrary.open(UInt32(SDL_INIT_VIDEO)),
            let window = SDL_CreateWindow(
                title, 0, 0, Int32(size.width), Int32(size.height), SDL_WINDOW_BORDERLESS.rawValue),
            let pixels = SDL_GetWindowSurface(window)?.pointee, let memory = pixels.pixels,
            pixels.format.pointee.BytesPerPixel == 4
        else { throw SourceFailure(.noDisplay, "No window can be opened: \(SDLLibrary.lastError).") }
        if let display = csdl_x11_display(window) { SDLLibrary.surviveDisplayLoss(display) }
        SDL_ShowCursor(0)
        (self.window, self.size) = (window, PixelSize(width: Int(pixels.w), height: Int(pixels.h)))
        surface = PixelSurface(pixels: memory, stride: Int(pixels.pitch), size: self.size)
    }

    deinit {
        guard !SDLLibrary.isDisplayGone.load(ordering: .acquiring) else { return }
        SDL_DestroyWindow(window)
        SDLLibrary.close(UInt32(SDL_INIT_VIDEO))
    }

    package func fill(_ rect: PixelRect, _ color: UInt32) {
        surface.fill(rect, color)
        add(rect)
    }

    /// Fills a rectangle from the upper colour to the lower one.
    package func fill(_ rect: PixelRect, from upper: UInt32, to lower: UInt32) {
        for row in 0..<rect.height {
            var color: UInt32 = 0
            for shift in [UInt32(16), 8, 0] {
                let (first, last) = (Int(upper >> shift & 255), Int(lower >> shift & 255))
                color |= UInt32(first + (last - first) * row / max(rect.height - 1, 1)) << shift
            }
            surface.fill(PixelRect(x: rect.x, y: rect.y + row, width: rect.width, height: 1), color)
        }
        add(rect)
    }

    /// Draws one line of text.
    /// - Parameters:
    ///   - y: of the line's upper edge.
    ///   - pixels: the font's height.
    ///   - clip: nothing outside of it is drawn; nil: the window.
    package func write(
        _ text: String, x: Int, y: Int, pixels: Int, color: UInt32, family: Family = .sansSerif, clip: PixelRect? = nil
    ) {
        let key = TextKey(text: text, pixels: pixels, family: family)
        if texts.count > 2_000 { texts.removeAll() }
        guard
            let rendered = texts[key] ?? fonts[family]?.render(text, pixels: pixels, width: size.width * 2, ink: color)
        else { return }
        texts[key] = rendered
        let clip = clip ?? PixelRect(size)
        rendered.draw(into: surface, x: x, y: y, clip: clip, ink: color)
        let (left, top) = (max(x, clip.x), max(y, clip.y))
        add(
            PixelRect(
                x: left, y: top, width: min(x + rendered.size.width, clip.maxX) - left,
                height: min(y + rendered.size.height, clip.maxY) - top))
    }

    /// Returns the width of one line of text, with the spaces at its end.
    package func width(_ text: String, pixels: Int, family: Family = .sansSerif) -> Int {
        var width: Int32 = 0
        guard let font = fonts[family]?.font(for: text, pixels: pixels), TTF_SizeUTF8(font, text, &width, nil) == 0
        else {
            return 0
        }
        return Int(width)
    }

    /// Sets each pixel of a rectangle that lies inside the window.
    /// - Parameter color: of the pixel at this place of the rectangle.
    package func paint(_ rect: PixelRect, _ color: (_ x: Int, _ y: Int) -> UInt32) {
        for row in 0..<rect.height {
            let line = (surface.pixels + (rect.y + row) * surface.stride).assumingMemoryBound(to: UInt32.self)
            for column in 0..<rect.width { line[rect.x + column] = color(column, row) }
        }
        add(rect)
    }

    /// Moves the content of a rectangle up by whole pixels; the rows at its end stay as they were.
    package func scroll(_ rect: PixelRect, by rows: Int) {
        for row in rect.y..<rect.maxY - rows {
            (surface.pixels + row * surface.stride + rect.x * 4)
                .copyMemory(
                    from: surface.pixels + (row + rows) * surface.stride + rect.x * 4, byteCount: rect.width * 4)
        }
        add(rect)
    }

    /// Shows what was drawn since the last call.
    /// - Returns: false once the window has to close.
    package func present() -> Bool {
        if !updates.isEmpty { SDL_UpdateWindowSurfaceRects(window, updates, Int32(updates.count)) }
        updates.removeAll(keepingCapacity: true)
        var event = SDL_Event()
        while SDL_PollEvent(&event) != 0 {
            if SDL_EventType(event.type) == SDL_QUIT { return false }
        }
        return !SDLLibrary.isDisplayGone.load(ordering: .acquiring)
    }

    private func add(_ rect: PixelRect) {
        let rect = rect.clipped(to: size)
        guard !rect.isEmpty else { return }
        updates.append(SDL_Rect(x: Int32(rect.x), y: Int32(rect.y), w: Int32(rect.width), h: Int32(rect.height)))
    }
}
