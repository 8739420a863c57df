internal import MediaCore

/// Classifies the changed blocks of a frame as drawn content (text, graphics) or natural video. It samples four lines
/// of each 16 x 16 block.
struct ContentClassifier: Equatable {
    private(set) var blocks = 0
    /// Sum of absolute differences between horizontal neighbours, about 0...15,000 per block.
    private(set) var activity = 0
    /// Number of horizontal neighbours that are equal.
    private(set) var flat = 0
    /// Number of horizontal neighbours that were sampled: fewer in the last row of blocks, which may be low.
    private var pairs = 0

    /// Whether the content is text or graphics: most neighbours are equal, and the others differ much.
    /// Natural video is mostly smooth, with small differences, and never quite flat.
    var isDrawn: Bool {
        let pairs = blocks * 4 * 16
        return flat * 20 >= pairs * 19 || (flat * 2 >= pairs && activity >= 16 * (pairs - flat))
    }

    /// Whether few neighbours are equal, or the others differ little.
    private var isSmooth: Bool {
        flat * 20 < pairs * 19 && (flat * 4 < pairs || activity < 16 * (pairs - flat))
    }

    /// Whether a block is of natural video: smooth, and without a background of one value. Text of low contrast and
    /// with antialiased edges may be as smooth, but most of its pixels are background.
    static func isNatural(_ frame: I420Frame, block: Int) -> Bool {
        ContentClassifier(frame, block: block).isSmooth && !hasBackground(frame, block: block)
    }

    /// Whether a part of a frame is of natural video.
    static func isNatural(_ frame: I420Frame, _ rect: PixelRect) -> Bool {
        let rect = rect.clipped(to: frame.size)
        guard rect.width > 1, rect.height > 1 else { return false }
        var sum = ContentClassifier()
        var counts = InlineArray<256, Int>(repeating: 0)
        var most = 0
        for row in rect.y..<rect.maxY {
            let line = frame.y + row * frame.strideY
            for column in rect.x..<rect.maxX {
                let value = line[column]
                counts[Int(value)] += 1
                most = max(most, counts[Int(value)])
                guard column > rect.x else { continue }
                sum.pairs += 1
                sum.flat += value == line[column - 1] ? 1 : 0
                sum.activity += abs(Int(value) - Int(line[column - 1]))
            }
        }
        return sum.isSmooth && most * 5 < rect.width * rect.height * 2
    }

    /// Whether two fifths of a block's sampled pixels have one value. The value is looked for among eight of the
    /// pixels.
    private static func hasBackground(_ frame: I420Frame, block: Int) -> Bool {
        let columns = (frame.size.width + 15) / 16
        let (row, column) = (block / columns, block % columns)
        let left = min(column * 16, frame.size.width - 16)
        let lines = min(16, frame.size.height - row * 16)
        guard left >= 0, lines > 1 else { return true }
        let start = frame.y + row * 16 * frame.strideY + left
        let needed = (lines + 2) / 4 * 16 * 2 / 5
        for probe in stride(from: 1, to: lines, by: 4) {
            for column in [3, 11] {
                let value = UInt64(start[probe * frame.strideY + column]) &* 0x0101_0101_0101_0101
                var count = 0
                var line = 1
                while line < lines {
                    let here = UnsafeRawPointer(start + line &* frame.strideY)
                    count &+= equalBytes(here.loadUnaligned(as: UInt64.self), value)
                    count &+= equalBytes(here.loadUnaligned(fromByteOffset: 8, as: UInt64.self), value)
                    line &+= 4
                }
                if count >= needed { return true }
            }
        }
        return false
    }

    /// Counts the equal bytes of two words. SIMD16's `replacing` and `wrappedSum` take twenty times as long.
    private static func equalBytes(_ a: UInt64, _ b: UInt64) -> Int {
        let low: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
        let other = a ^ b
        return (~(((other & low) &+ low) | other | low)).nonzeroBitCount
    }

    var search: MotionSearch { isDrawn ? .wide : .near }

    /// Creates a sum over no blocks.
    init() {}

    /// - Parameters:
    ///   - map: the blocks to sample; nil for all.
    ///   - rows: the rows of blocks to sample; nil for all.
    init(_ frame: I420Frame, _ map: BlockMap?, rows: Range<Int>? = nil) {
        let columns = (frame.size.width + 15) / 16
        for row in rows ?? 0..<(frame.size.height + 15) / 16 {
            let lines = min(16, frame.size.height - row * 16)
            for column in 0..<columns {
                if let map, map.blocks[row * columns + column] == 0 { continue }
                add(frame, row, column, lines)
            }
        }
    }

    /// A single block.
    init(_ frame: I420Frame, block: Int) {
        let columns = (frame.size.width + 15) / 16
        let row = block / columns
        add(frame, row, block % columns, min(16, frame.size.height - row * 16))
    }

    private mutating func add(_ frame: I420Frame, _ row: Int, _ column: Int, _ lines: Int) {
        blocks += 1
        // In the last column the right neighbour would lie outside the frame, so the window moves left by one.
        let left = min(column * 16, frame.size.width - 17)
        guard left >= 0 else { return }
        var line = 1
        while line < lines {
            let start = UnsafeRawPointer(frame.y + (row * 16 + line) * frame.strideY + left)
            let here = start.loadUnaligned(as: SIMD16<UInt8>.self)
            let next = start.loadUnaligned(fromByteOffset: 1, as: SIMD16<UInt8>.self)
            let difference = pointwiseMax(here, next) &- pointwiseMin(here, next)
            activity &+= Int(SIMD16<UInt16>(truncatingIfNeeded: difference).wrappedSum())
            let equal = SIMD16<UInt8>(repeating: 0).replacing(with: 1, where: here .== next)
            flat &+= Int(equal.wrappedSum())
            pairs += 16
            line += 4
        }
    }

    static func += (sum: inout ContentClassifier, other: ContentClassifier) {
        sum.blocks += other.blocks
        sum.activity += other.activity
        sum.flat += other.flat
        sum.pairs += other.pairs
    }
}
