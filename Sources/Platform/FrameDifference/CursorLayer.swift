package import MediaCore

/// Draws the mouse cursor on the canvas. The `ScreenShadow` never contains it, so the area under it can be restored.
package final class CursorLayer {
    package struct Shape: Equatable {
        package var width: Int
        package var height: Int
        /// The pixel at the pointer's position (hot spot).
        package var hotX: Int
        package var hotY: Int

        package init(width: Int = 0, height: Int = 0, hotX: Int = 0, hotY: Int = 0) {
            (self.width, self.height, self.hotX, self.hotY) = (width, height, hotX, hotY)
        }
    }

    private struct Drawing: Equatable {
        var x = 0
        var y = 0
        /// Number of shapes so far.
        var shape = 0
        var isVisible = false
    }

    private var shape = Shape()
    /// Premultiplied ARGB in rows, without padding.
    private var pixels: [UInt32] = []
    private var wanted = Drawing()
    private var drawn = Drawing()
    /// The rectangle of the canvas that holds the cursor, on even coordinates.
    private var drawnRect = PixelRect(x: 0, y: 0, width: 0, height: 0)
    private var scratch: [UInt32] = []

    package init() {}

    /// - Parameter pixels: premultiplied ARGB, `width * height` of them, row by row; copied.
    package func setShape(_ shape: Shape, _ pixels: UnsafeBufferPointer<UInt32>) {
        guard shape != self.shape || !pixels.elementsEqual(self.pixels) else { return }
        self.shape = shape
        self.pixels.removeAll(keepingCapacity: true)
        self.pixels.append(contentsOf: pixels)
        wanted.shape &+= 1
    }

    package func setPosition(x: Int, y: Int, isVisible: Bool) {
        wanted.x = x
        wanted.y = y
        wanted.isVisible = isVisible
    }

    /// Whether `draw` has something to do of its own.
    package var isStale: Bool { wanted != drawn }

    /// Records that the canvas was redrawn from the shadow and holds no cursor.
    package func forget() {
        drawn = Drawing()
        drawnRect = PixelRect(x: 0, y: 0, width: 0, height: 0)
    }

    /// Erases the cursor at its old position and draws it at its new one.
    /// - Parameter changed: on entry the blocks that screen changes overwrote in the canvas; gets the cursor's blocks.
    package func draw(
        on canvas: I420Buffer, over shadow: ScreenShadow, converter: any PixelConverter, changed: inout BlockMap
    ) {
        let rect = Self.even(exactRect, inside: canvas.size)
        if wanted != drawn {
            restore(canvas, shadow, converter)
            changed.insert(drawnRect)
            changed.insert(rect)
        } else if !changed.touches(rect) {
            return
        }
        drawn = wanted
        drawnRect = rect
        guard !rect.isEmpty else { return }
        if scratch.count < rect.width * rect.height {
            scratch = [UInt32](repeating: 0, count: rect.width * rect.height)
        }
        blend(rect, shadow)
        scratch.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            converter.convert(bgra: base, stride: rect.width * 4, to: rect, of: canvas)
        }
    }

    private var exactRect: PixelRect {
        guard wanted.isVisible else { return PixelRect(x: 0, y: 0, width: 0, height: 0) }
        return PixelRect(
            x: wanted.x - shape.hotX, y: wanted.y - shape.hotY, width: shape.width, height: shape.height)
    }

    private func restore(_ canvas: I420Buffer, _ shadow: ScreenShadow, _ converter: any PixelConverter) {
        guard !drawnRect.isEmpty else { return }
        converter.convert(
            bgra: shadow.pixel(x: drawnRect.x, y: drawnRect.y), stride: shadow.stride, to: drawnRect, of: canvas)
    }

    private func blend(_ rect: PixelRect, _ shadow: ScreenShadow) {
        let exact = exactRect
        for row in 0..<rect.height {
            let under = shadow.pixel(x: rect.x, y: rect.y + row).assumingMemoryBound(to: UInt32.self)
            let cursorRow = rect.y + row - exact.y
            for column in 0..<rect.width {
                let cursorColumn = rect.x + column - exact.x
                let isInside =
                    cursorRow >= 0 && cursorRow < shape.height && cursorColumn >= 0 && cursorColumn < shape.width
                let over = isInside ? pixels[cursorRow * shape.width + cursorColumn] : 0
                scratch[row * rect.width + column] = Self.over(over, under[column])
            }
        }
    }

    /// Blends premultiplied `top` over opaque `bottom`.
    private static func over(_ top: UInt32, _ bottom: UInt32) -> UInt32 {
        let alpha = top >> 24
        if alpha == 0 { return bottom }
        if alpha == 255 { return top }
        var result: UInt32 = 0xff00_0000
        for shift: UInt32 in [0, 8, 16] {
            let value = (top >> shift & 255) + ((bottom >> shift & 255) * (255 - alpha) + 127) / 255
            result |= min(value, 255) << shift
        }
        return result
    }

    private static func even(_ rect: PixelRect, inside size: PixelSize) -> PixelRect {
        if rect.isEmpty { return PixelRect(x: 0, y: 0, width: 0, height: 0) }
        let left = rect.x & ~1
        let top = rect.y & ~1
        let clipped = PixelRect(
            x: left, y: top, width: ((rect.maxX + 1) & ~1) - left, height: ((rect.maxY + 1) & ~1) - top
        ).clipped(to: size)
        return clipped.isEmpty ? PixelRect(x: 0, y: 0, width: 0, height: 0) : clipped
    }
}

extension BlockMap {
    /// Whether a block of the rectangle is in the set.
    fileprivate func touches(_ rect: PixelRect) -> Bool {
        let rect = rect.clipped(to: size)
        guard !rect.isEmpty else { return false }
        for row in (rect.y / 16)...((rect.maxY - 1) / 16) {
            for column in (rect.x / 16)...((rect.maxX - 1) / 16) where blocks[row * columns + column] != 0 {
                return true
            }
        }
        return false
    }
}
