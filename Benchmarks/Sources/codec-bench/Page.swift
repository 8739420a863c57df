import Glibc
import MediaCore

/// A tall picture of which a screen shows a part.
struct Page {
    static let size = PixelSize(width: 1_920, height: 8_192)

    var luma = [UInt8](repeating: 235, count: size.width * size.height)
    /// Blue and red differences of two columns and the two rows from each row on, as a part may begin at any row; empty
    /// in a grey page.
    private var chroma: [[UInt8]] = []

    init() {}

    /// Reads a binary PGM (luma) or PPM (BT.601, limited range).
    init?(file path: String) {
        guard let file = fopen(path, "rb") else { return nil }
        defer { fclose(file) }
        let isColored = fgetc(file) == 0x50 && fgetc(file) == 0x36
        let count = luma.count * (isColored ? 3 : 1)
        var bytes = [UInt8](repeating: 0, count: count)
        guard fseek(file, -count, SEEK_END) == 0, fread(&bytes, 1, count, file) == count else { return nil }
        guard isColored else {
            luma = bytes
            return
        }
        for index in luma.indices { luma[index] = Self.component(bytes, at: [index], by: (66, 129, 25), from: 16) }
        chroma = [(-38, -74, 112), (112, -94, -18)].map { factors in
            var plane = [UInt8](repeating: 128, count: luma.count / 2)
            for index in plane.indices {
                let next = min(2 * index + Self.size.width, luma.count - 2)
                plane[index] = Self.component(
                    bytes, at: [2 * index, 2 * index + 1, next, next + 1], by: factors, from: 128)
            }
            return plane
        }
    }

    private static func component(
        _ bytes: [UInt8], at pixels: [Int], by factors: (red: Int, green: Int, blue: Int), from origin: Int
    ) -> UInt8 {
        let sum = pixels.reduce(0) {
            $0 + Int(bytes[3 * $1]) * factors.red + Int(bytes[3 * $1 + 1]) * factors.green
                + Int(bytes[3 * $1 + 2]) * factors.blue
        }
        return UInt8(origin + (sum / pixels.count + 128) >> 8)
    }

    /// Copies the part that begins at a row and column into a rectangle of a canvas. The rectangle and the column are
    /// even in a page of colors.
    func show(row top: Int, column: Int = 0, in rect: PixelRect, of canvas: I420Buffer) {
        luma.withUnsafeBufferPointer { luma in
            guard let base = luma.baseAddress else { return }
            for row in 0..<rect.height {
                (canvas.y + (rect.y + row) * canvas.strideY + rect.x)
                    .update(from: base + (top + row) * Self.size.width + column, count: rect.width)
            }
        }
        for (source, target) in zip(chroma, [canvas.u, canvas.v]) {
            for row in 0..<rect.height / 2 {
                for x in 0..<rect.width / 2 {
                    target[(rect.y / 2 + row) * canvas.strideC + rect.x / 2 + x] =
                        source[(top + 2 * row) * (Self.size.width / 2) + column / 2 + x]
                }
            }
        }
    }
}
