/// Scales a plane of 8 bits down to between half of its size and the whole, with the cubic filter of Keys (1981,
/// a = -1/2; Catmull and Rom's spline), stretched to the scale as libswscale and zimg do. Interpolation between two
/// pixels loses strokes of small text there.
struct BicubicScaler {
    /// The weights of one axis in 1/64, `count` for each pixel of the target, and the first source pixel of each.
    private struct Taps {
        let count: Int
        let firsts: [Int]
        let weights: [Int16]

        init(_ source: Int, _ target: Int) {
            let ratio = Double(source) / Double(target)
            count = min(Int((4 * ratio).rounded(.up)), source)
            var (firsts, weights) = ([Int](), [Int16]())
            for pixel in 0..<target {
                let centre = (Double(pixel) + 0.5) * ratio - 0.5
                let leftmost = Int((centre - 2 * ratio).rounded(.down)) + 1
                let first = min(max(leftmost, 0), source - count)
                firsts.append(first)
                weights += Self.weights(count, first: first, leftmost: leftmost, source, centre, ratio)
            }
            (self.firsts, self.weights) = (firsts, weights)
        }

        /// Pixels beside the source count as those of its edge.
        private static func weights(
            _ count: Int, first: Int, leftmost: Int, _ source: Int, _ centre: Double, _ ratio: Double
        ) -> [Int16] {
            var exact = [Double](repeating: 0, count: count)
            for pixel in leftmost..<(leftmost + count) {
                let nearest = min(max(pixel, 0), source - 1) - first
                exact[min(max(nearest, 0), count - 1)] += cubic((Double(pixel) - centre) / ratio)
            }
            let sum = exact.reduce(0, +)
            var rounded = exact.map { Int16((64 * $0 / sum).rounded()) }
            // A plain area keeps its value.
            let largest = exact.indices.max { exact[$0] < exact[$1] } ?? 0
            rounded[largest] += 64 - rounded.reduce(0, +)
            return rounded
        }

        private static func cubic(_ distance: Double) -> Double {
            let x = abs(distance)
            if x < 1 { return (1.5 * x - 2.5) * x * x + 1 }
            return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0
        }
    }

    private let width: Int
    private let columns: Taps
    private let lines: Taps

    /// The least width of a source, in pixels.
    static let minimalWidth = 32

    /// - Precondition: the target has between half of the source's width and height and the whole.
    init(from source: (width: Int, height: Int), to target: (width: Int, height: Int)) {
        precondition(source.width >= Self.minimalWidth && source.width <= 2 * target.width)
        precondition(source.height <= 2 * target.height && target.height <= source.height)
        width = source.width
        columns = Taps(source.width, target.width)
        lines = Taps(source.height, target.height)
    }

    /// - Parameter rows: of the target.
    func scale(
        _ source: UnsafePointer<UInt8>, stride: Int, to target: UnsafeMutablePointer<UInt8>, stride targetStride: Int,
        rows: Range<Int>
    ) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: width) { line in
            guard let line = line.baseAddress else { return }
            columns.weights.withUnsafeBufferPointer { weights in
                columns.firsts.withUnsafeBufferPointer { firsts in
                    for row in rows {
                        reduceRows(source + lines.firsts[row] * stride, stride, row, into: line)
                        reduceColumns(line, firsts, weights, into: target + row * targetStride)
                    }
                }
            }
        }
    }

    /// Makes a row of the target's height, with the source's width.
    private func reduceRows(
        _ source: UnsafePointer<UInt8>, _ stride: Int, _ row: Int, into line: UnsafeMutablePointer<UInt8>
    ) {
        let first = row * lines.count
        lines.weights.withUnsafeBufferPointer { weights in
            var x = 0
            while x < width {
                // The last step overlaps the one before.
                let at = min(x, width - 16)
                var sum = SIMD16<Int16>(repeating: 32)
                for tap in 0..<lines.count {
                    let pixels = UnsafeRawPointer(source + tap * stride + at).loadUnaligned(as: SIMD16<UInt8>.self)
                    sum &+= SIMD16<Int16>(truncatingIfNeeded: pixels) &* weights[first + tap]
                }
                let value = (sum &>> 6).clamped(lowerBound: .zero, upperBound: SIMD16(repeating: 255))
                UnsafeMutableRawPointer(line + at).storeBytes(
                    of: SIMD16<UInt8>(truncatingIfNeeded: value), as: SIMD16<UInt8>.self)
                x += 16
            }
        }
    }

    private func reduceColumns(
        _ line: UnsafePointer<UInt8>, _ firsts: UnsafeBufferPointer<Int>, _ weights: UnsafeBufferPointer<Int16>,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        let count = columns.count
        var weight = 0
        for pixel in 0..<firsts.count {
            let pixels = line + firsts[pixel]
            var sum = Int32(32)
            for tap in 0..<count { sum &+= Int32(pixels[tap]) &* Int32(weights[weight &+ tap]) }
            target[pixel] = UInt8(truncatingIfNeeded: min(max(sum &>> 6, 0), 255))
            weight &+= count
        }
    }
}
