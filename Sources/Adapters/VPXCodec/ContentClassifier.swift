internal import MediaCore

/// What kind of pixels a frame's changed blocks hold, from four lines of each.
struct ContentClassifier: Equatable {
    private(set) var blocks = 0
    /// The sum of differences between neighbours in a line, per block about 0...15,000.
    private(set) var activity = 0
    /// Neighbours that are exactly equal.
    private(set) var flat = 0

    /// Text and drawings: most neighbours are equal, and where they are not they differ much. Film is never quite flat, and mostly smooth.
    var isDrawn: Bool {
        let pairs = blocks * 4 * 16
        return flat * 20 >= pairs * 19 || (flat * 2 >= pairs && activity >= 16 * (pairs - flat))
    }

    var search: MotionSearch { isDrawn ? .wide : .near }

    /// Of no blocks.
    init() {}

    /// - Parameters:
    ///   - map: nil for all blocks.
    ///   - rows: of blocks; nil for all.
    init(_ picture: I420Frame, _ map: BlockMap?, rows: Range<Int>? = nil) {
        let columns = (picture.size.width + 15) / 16
        for row in rows ?? 0..<(picture.size.height + 15) / 16 {
            let lines = min(16, picture.size.height - row * 16)
            for column in 0..<columns {
                if let map, map.blocks[row * columns + column] == 0 { continue }
                blocks += 1
                // The last column would read one pixel past its own; shift it left by one.
                let left = min(column * 16, picture.size.width - 17)
                guard left >= 0 else { continue }
                var line = 1
                while line < lines {
                    let start = UnsafeRawPointer(picture.y + (row * 16 + line) * picture.strideY + left)
                    let here = start.loadUnaligned(as: SIMD16<UInt8>.self)
                    let next = start.loadUnaligned(fromByteOffset: 1, as: SIMD16<UInt8>.self)
                    let difference = pointwiseMax(here, next) &- pointwiseMin(here, next)
                    activity &+= Int(SIMD16<UInt16>(truncatingIfNeeded: difference).wrappedSum())
                    let equal = SIMD16<UInt8>(repeating: 0).replacing(with: 1, where: here .== next)
                    flat &+= Int(equal.wrappedSum())
                    line += 4
                }
            }
        }
    }

    static func += (sum: inout ContentClassifier, other: ContentClassifier) {
        sum.blocks += other.blocks
        sum.activity += other.activity
        sum.flat += other.flat
    }
}
