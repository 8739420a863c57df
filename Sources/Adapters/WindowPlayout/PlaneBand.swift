import Glibc
import MediaCore

/// One row of 16 x 16 blocks in one plane, in a new frame and in the old one.
struct PlaneBand {
    let new: UnsafePointer<UInt8>
    let newStride: Int
    let old: UnsafeMutablePointer<UInt8>
    let oldStride: Int
    let width: Int
    let rows: Int
    let blockWidth: Int

    @inline(__always)
    init(
        _ new: UnsafePointer<UInt8>, _ newStride: Int, _ old: UnsafeMutablePointer<UInt8>, _ oldStride: Int, width: Int,
        rows: Int, blockWidth: Int
    ) {
        self.new = new
        self.newStride = newStride
        self.old = old
        self.oldStride = oldStride
        self.width = width
        self.rows = rows
        self.blockWidth = blockWidth
    }

    /// The three planes of a row of blocks.
    /// - Parameters:
    ///   - old: of the new frame's even size.
    ///   - band: the row's number.
    @inline(__always)
    static func planes(of new: I420Frame, over old: I420Buffer, band: Int) -> (y: Self, u: Self, v: Self) {
        let size = old.size
        let top = band * 16
        let height = min(16, size.height - top)
        let luma = PlaneBand(
            new.y + top * new.strideY, new.strideY, old.y + top * old.strideY, old.strideY, width: size.width,
            rows: height, blockWidth: 16)
        let chroma = (top / 2) * new.strideC
        let oldChroma = (top / 2) * old.strideC
        let u = PlaneBand(
            new.u + chroma, new.strideC, old.u + oldChroma, old.strideC, width: size.width / 2, rows: height / 2,
            blockWidth: 8)
        let v = PlaneBand(
            new.v + chroma, new.strideC, old.v + oldChroma, old.strideC, width: size.width / 2, rows: height / 2,
            blockWidth: 8)
        return (luma, u, v)
    }

    /// Sets the flags of the blocks that differ.
    /// - Returns: whether any differs.
    func flag(_ flags: UnsafeMutablePointer<UInt8>) -> Bool {
        var isChanged = false
        let whole = width / blockWidth
        for row in 0..<rows {
            let a = UnsafeRawPointer(new + row * newStride)
            let b = UnsafeRawPointer(old + row * oldStride)
            guard memcmp(a, b, width) != 0 else { continue }
            isChanged = true
            if blockWidth == 16 {
                for column in 0..<whole where flags[column] == 0 {
                    let at = column * 16
                    let low =
                        a.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                        ^ b.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                    let high =
                        a.loadUnaligned(fromByteOffset: at + 8, as: UInt64.self)
                        ^ b.loadUnaligned(fromByteOffset: at + 8, as: UInt64.self)
                    if low | high != 0 { flags[column] = 1 }
                }
            } else {
                for column in 0..<whole where flags[column] == 0 {
                    let at = column * 8
                    if a.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                        != b.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                    {
                        flags[column] = 1
                    }
                }
            }
            let rest = width - whole * blockWidth
            if rest > 0, memcmp(a + whole * blockWidth, b + whole * blockWidth, rest) != 0 { flags[whole] = 1 }
        }
        return isChanged
    }

    func copy(_ columns: Range<Int>) {
        let start = columns.lowerBound * blockWidth
        let count = min(columns.upperBound * blockWidth, width) - start
        for row in 0..<rows { memcpy(old + row * oldStride + start, new + row * newStride + start, count) }
    }
}

extension I420Buffer {
    /// Copies a whole frame, of this size or one more row or column.
    func copy(_ frame: I420Frame) {
        for band in 0..<((size.height + 15) / 16) {
            let (y, u, v) = PlaneBand.planes(of: frame, over: self, band: band)
            let columns = 0..<((size.width + 15) / 16)
            y.copy(columns)
            u.copy(columns)
            v.copy(columns)
        }
    }

    /// Copies the blocks of the map to a frame of the same size.
    func copyBlocks(_ map: borrowing BlockMap, to target: I420Buffer) {
        let columns = map.columns
        map.blocks.withUnsafeBufferPointer { blocks in
            for band in 0..<map.rows {
                let (y, u, v) = PlaneBand.planes(of: frame, over: target, band: band)
                var column = 0
                while column < columns {
                    let start = column
                    while column < columns, blocks[band * columns + column] != 0 { column += 1 }
                    if column > start {
                        y.copy(start..<column)
                        u.copy(start..<column)
                        v.copy(start..<column)
                    } else {
                        column += 1
                    }
                }
            }
        }
    }
}

extension I420Frame {
    /// The upper left part of the frame.
    /// - Parameter size: not larger than the frame.
    func cropped(to size: PixelSize) -> I420Frame {
        I420Frame(size: size, y: y, u: u, v: v, strideY: strideY, strideC: strideC)
    }
}
