internal import Glibc
internal import MediaCore
internal import VideoBitstream

/// The captured picture as the viewers have it, without what encoding lost: blocks that are not coded yet are as they
/// were.
struct CodedPicture {
    let picture: I420Buffer
    /// nil until there is a copy frame.
    private var scratch: I420Buffer?

    init(_ size: PixelSize) { picture = I420Buffer(size) }

    /// These blocks were coded as they are on the canvas; all, if there is no map.
    mutating func note(_ canvas: I420Frame, _ map: BlockMap?) {
        let (columns, rows) = ((canvas.size.width + 15) / 16, (canvas.size.height + 15) / 16)
        for row in 0..<rows {
            var column = 0
            while column < columns {
                let first = column
                while column < columns, map.map({ $0.blocks[row * columns + column] != 0 }) ?? true { column += 1 }
                if column > first { copy(canvas, row, first * 16, min(column * 16, canvas.size.width) - first * 16) }
                column += 1
            }
        }
    }

    private func copy(_ canvas: I420Frame, _ row: Int, _ x: Int, _ width: Int) {
        for y in row * 16..<min(row * 16 + 16, canvas.size.height) {
            memcpy(picture.y + y * picture.strideY + x, canvas.y + y * canvas.strideY + x, width)
        }
        for y in row * 8..<min(row * 8 + 8, canvas.size.height / 2) {
            memcpy(picture.u + y * picture.strideC + x / 2, canvas.u + y * canvas.strideC + x / 2, width / 2)
            memcpy(picture.v + y * picture.strideC + x / 2, canvas.v + y * canvas.strideC + x / 2, width / 2)
        }
    }

    /// The viewers got this frame.
    mutating func apply(_ frame: VP8CopyFrame) {
        let scratch = scratch ?? I420Buffer(picture.size)
        self.scratch = scratch
        frame.apply(to: picture.whole, scratch: scratch.whole)
    }

    /// Whether a block of the canvas has the luma that lies at `vector` from it, inside the picture.
    func hasLuma(of canvas: I420Frame, row: Int, column: Int, at vector: VP8MotionVector) -> Bool {
        let size = picture.size
        let (x, y) = (column * 16, row * 16)
        let (width, height) = (min(16, size.width - x), min(16, size.height - y))
        let (sourceX, sourceY) = (x + Int(vector.x), y + Int(vector.y))
        // A whole macroblock is moved, and what lies outside the picture is not known.
        guard sourceX >= 0, sourceY >= 0, sourceX + 16 <= size.width || vector.x == 0, sourceY + height <= size.height,
            sourceY + 16 <= (size.height + 15) & ~15
        else { return false }
        var here = UnsafeRawPointer(canvas.y + y * canvas.strideY + x)
        var there = UnsafeRawPointer(picture.y + sourceY * picture.strideY + sourceX)
        for _ in 0..<height {
            guard width == 16 ? Self.areEqual(here, there) : memcmp(here, there, width) == 0 else { return false }
            here += canvas.strideY
            there += picture.strideY
        }
        return true
    }

    /// Compares 16 pixels.
    private static func areEqual(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer) -> Bool {
        let low = a.loadUnaligned(as: UInt64.self) ^ b.loadUnaligned(as: UInt64.self)
        let high =
            a.loadUnaligned(fromByteOffset: 8, as: UInt64.self) ^ b.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        return low | high == 0
    }

    /// Whether a block's luma differs less from what lies at `vector` from it than from what is there. Up to 15 lines
    /// may lie above or below the picture.
    func isCloser(_ canvas: I420Frame, row: Int, column: Int, _ vector: VP8MotionVector) -> Bool {
        let size = picture.size
        let (x, y) = (column * 16, row * 16)
        let (sourceX, sourceY) = (x + Int(vector.x), y + Int(vector.y))
        guard x + 16 <= size.width, sourceX >= 0, sourceX + 16 <= size.width, sourceY > -16, sourceY < size.height
        else { return false }
        var (moved, still) = (0, 0)
        for line in 0..<min(16, size.height - y) {
            let here = canvas.y + (y + line) * canvas.strideY + x
            let source = min(max(sourceY + line, 0), size.height - 1)
            moved += Self.difference(here, picture.y + source * picture.strideY + sourceX)
            still += Self.difference(here, picture.y + (y + line) * picture.strideY + x)
        }
        return moved < still
    }

    /// The sum of the absolute differences of 16 pixels.
    private static func difference(_ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>) -> Int {
        let left = UnsafeRawPointer(a).loadUnaligned(as: SIMD16<UInt8>.self)
        let right = UnsafeRawPointer(b).loadUnaligned(as: SIMD16<UInt8>.self)
        let difference = pointwiseMax(left, right) &- pointwiseMin(left, right)
        return Int(SIMD16<UInt16>(truncatingIfNeeded: difference).wrappedSum())
    }

    /// The sum of the squared differences between a block's chroma on the canvas and here.
    func chromaError(_ canvas: I420Frame, row: Int, column: Int) -> Int {
        let (x, y) = (column * 8, row * 8)
        let (width, height) = (min(8, canvas.size.width / 2 - x), min(8, canvas.size.height / 2 - y))
        var sum = 0
        for (a, b) in [(canvas.u, picture.u), (canvas.v, picture.v)] {
            for line in 0..<height {
                let (mine, other) = (b + (y + line) * picture.strideC + x, a + (y + line) * canvas.strideC + x)
                if width == 8,
                    UnsafeRawPointer(mine).loadUnaligned(as: UInt64.self)
                        == UnsafeRawPointer(other).loadUnaligned(as: UInt64.self)
                {
                    continue
                }
                for index in 0..<width {
                    let difference = Int(mine[index]) - Int(other[index])
                    sum += difference * difference
                }
            }
        }
        return sum
    }
}

extension I420Buffer {
    /// With the padding to whole macroblocks.
    fileprivate var whole: VP8Picture { VP8Picture(y: y, u: u, v: v, strideY: strideY, strideC: strideC) }
}
