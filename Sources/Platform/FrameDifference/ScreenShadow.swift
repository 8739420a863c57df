internal import Glibc
package import MediaCore

/// A copy of a captured frame as last read, without the cursor. It finds the blocks that really differ, as terminals
/// and browsers redraw much without a change.
package final class ScreenShadow {
    package let size: PixelSize
    /// Bytes from one row to the next; a multiple of 64.
    package let stride: Int
    package let pixels: UnsafeMutableRawPointer
    private let differs: UnsafeMutablePointer<UInt8>

    /// Creates a black frame.
    package init(_ size: PixelSize) {
        self.size = size
        stride = (size.width * 4 + 63) & ~63
        pixels = .allocate(byteCount: stride * size.height, alignment: 64)
        pixels.initializeMemory(as: UInt8.self, repeating: 0, count: stride * size.height)
        differs = .allocate(capacity: (size.width + 15) / 16)
    }

    deinit {
        pixels.deallocate()
        differs.deallocate()
    }

    package func pixel(x: Int, y: Int) -> UnsafeMutableRawPointer { pixels + y * stride + x * 4 }

    /// Compares the pixels that were read, and copies the blocks that differ into the shadow, the canvas and the map.
    /// Allocates nothing.
    /// - Parameters:
    ///   - bgra: the pixels of `rect`, which begins on the block grid and ends there or at the screen's edge.
    ///   - isForced: treats every block as changed.
    package func copyDifferences(
        _ bgra: UnsafeRawPointer, stride source: Int, rect: PixelRect, isForced: Bool, canvas: I420Buffer,
        converter: any PixelConverter, changed: inout BlockMap
    ) {
        let columns = (rect.width + 15) / 16
        let mapColumns = changed.columns
        changed.blocks.withUnsafeMutableBufferPointer { map in
            for top in Swift.stride(from: rect.y, to: rect.maxY, by: 16) {
                let height = min(16, rect.maxY - top)
                let rows = bgra + (top - rect.y) * source
                let target = pixel(x: rect.x, y: top)
                if isForced {
                    differs.update(repeating: 1, count: columns)
                } else if !compare(rows, source, target, width: rect.width, height: height) {
                    continue
                }
                var first = 0
                while first < columns {
                    if differs[first] == 0 {
                        first += 1
                        continue
                    }
                    var end = first
                    while end < columns && differs[end] != 0 {
                        map[top / 16 * mapColumns + rect.x / 16 + end] = 1
                        end += 1
                    }
                    let width = min(end * 16, rect.width) - first * 16
                    for row in 0..<height {
                        memcpy(target + row * stride + first * 64, rows + row * source + first * 64, width * 4)
                    }
                    // From the copy, as another process may draw into shared memory meanwhile.
                    converter.convert(
                        bgra: target + first * 64, stride: stride,
                        to: PixelRect(x: rect.x + first * 16, y: top, width: width, height: height), of: canvas)
                    first = end
                }
            }
        }
    }

    /// Sets `differs` for one row of blocks.
    /// - Returns: whether any block differs.
    private func compare(
        _ a: UnsafeRawPointer, _ strideA: Int, _ b: UnsafeRawPointer, width: Int, height: Int
    ) -> Bool {
        let columns = (width + 15) / 16
        let bytes = width * 4
        var found = 0
        for row in 0..<height {
            let lineA = a + row * strideA
            let lineB = b + row * stride
            // Most rows are equal, and `memcmp` finds that at the speed of memory.
            if memcmp(lineA, lineB, bytes) == 0 { continue }
            if found == 0 { differs.update(repeating: 0, count: columns) }
            for column in 0..<columns where differs[column] == 0 {
                let offset = column * 64
                if memcmp(lineA + offset, lineB + offset, min(64, bytes - offset)) != 0 {
                    differs[column] = 1
                    found += 1
                }
            }
            if found == columns { return true }
        }
        return found > 0
    }
}
