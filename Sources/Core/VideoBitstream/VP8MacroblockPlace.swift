import MediaCore

/// One plane of a macroblock: what it is to show, and what decoders show there.
struct VP8PlanePlace {
    let source: UnsafePointer<UInt8>
    let sourceStride: Int
    let target: UnsafeMutablePointer<UInt8>
    let stride: Int

    /// A block of 4 x 4 pixels, by its place in blocks.
    func source(_ x: Int, _ y: Int) -> VP8Block {
        VP8Block(source + (y &* 4 &* sourceStride &+ x &* 4), sourceStride)
    }

    func target(_ x: Int, _ y: Int) -> UnsafeMutablePointer<UInt8> { target + (y &* 4 &* stride &+ x &* 4) }

    /// Shows a prediction of `side` lines of as many pixels.
    func show(_ prediction: UnsafePointer<UInt8>, stride predictionStride: Int, side: Int) {
        for line in 0..<side {
            (target + line &* stride).update(from: prediction + line &* predictionStride, count: side)
        }
    }
}

/// A macroblock in its picture. What lies above and on the left of it is done.
struct VP8MacroblockPlace {
    let row: Int
    let column: Int
    let isLastColumn: Bool
    /// How many columns and rows of 4 x 4 blocks of luma can be seen, 1...4.
    let visible: (columns: Int, rows: Int)
    let y: VP8PlanePlace
    let u: VP8PlanePlace
    let v: VP8PlanePlace

    /// - Parameters:
    ///   - source: the pixels to code begin at its planes.
    ///   - picture: what decoders show.
    init(_ source: I420Frame, _ picture: VP8Picture, row: Int, column: Int, columns: Int) {
        (self.row, self.column) = (row, column)
        isLastColumn = column == columns - 1
        visible = (
            min((source.size.width &- column &* 16 &+ 3) / 4, 4), min((source.size.height &- row &* 16 &+ 3) / 4, 4)
        )
        y = VP8PlanePlace(
            source: source.y, sourceStride: source.strideY,
            target: picture.y + (row &* 16 &* picture.strideY &+ column &* 16), stride: picture.strideY)
        let start = row &* 8 &* picture.strideC &+ column &* 8
        u = VP8PlanePlace(
            source: source.u, sourceStride: source.strideC, target: picture.u + start, stride: picture.strideC)
        v = VP8PlanePlace(
            source: source.v, sourceStride: source.strideC, target: picture.v + start, stride: picture.strideC)
    }

    func isVisible(_ x: Int, _ y: Int) -> Bool { x < visible.columns && y < visible.rows }

    /// The mean of the pixels above and on the left (RFC 6386 section 12.2, DC_PRED).
    func mean(_ plane: VP8PlanePlace, side: Int) -> UInt8 {
        var (sum, count) = (0, 0)
        if row > 0 {
            for index in 0..<side { sum &+= Int(plane.target[index &- plane.stride]) }
            count &+= side
        }
        if column > 0 {
            for index in 0..<side { sum &+= Int(plane.target[index &* plane.stride &- 1]) }
            count &+= side
        }
        return count == 0 ? 128 : UInt8(truncatingIfNeeded: (sum &+ count / 2) / count)
    }

    /// The pixel above on the left; what lies outside of the picture has fixed values.
    func corner(_ plane: VP8PlanePlace) -> UInt8 {
        row == 0 ? 127 : column == 0 ? 129 : plane.target[-plane.stride &- 1]
    }

    func left(_ plane: VP8PlanePlace, _ line: Int) -> UInt8 {
        column == 0 ? 129 : plane.target[line &* plane.stride &- 1]
    }

    /// 16 pixels of luma above.
    var above: SIMD16<UInt8> {
        row == 0
            ? SIMD16(repeating: 127) : UnsafeRawPointer(y.target - y.stride).loadUnaligned(as: SIMD16<UInt8>.self)
    }

    /// Eight pixels of chroma above.
    func above(_ plane: VP8PlanePlace) -> SIMD8<UInt8> {
        row == 0
            ? SIMD8(repeating: 127)
            : UnsafeRawPointer(plane.target - plane.stride).loadUnaligned(as: SIMD8<UInt8>.self)
    }

    /// Copies luma's neighbours around a plane of 16 x 16 pixels, and four pixels further on the right: also beside
    /// each fourth line, where blocks take them from above the macroblock (section 12.3).
    func copyEdges(to plane: UnsafeMutablePointer<UInt8>, stride: Int) {
        plane[-stride &- 1] = corner(y)
        UnsafeMutableRawPointer(plane - stride).storeBytes(of: above, as: SIMD16<UInt8>.self)
        for line in 0..<16 { plane[line &* stride &- 1] = left(y, line) }
        let right: UInt32 =
            row == 0
            ? 0x7F7F_7F7F
            : isLastColumn
                ? UInt32(y.target[15 &- y.stride]) &* 0x0101_0101
                : UnsafeRawPointer(y.target + (16 &- y.stride)).loadUnaligned(as: UInt32.self)
        for line in [-1, 3, 7, 11] {
            UnsafeMutableRawPointer(plane + (line &* stride &+ 16)).storeBytes(of: right, as: UInt32.self)
        }
    }
}
