/// The planes of a picture that extends to whole macroblocks.
public struct VP8Picture {
    public let y: UnsafeMutablePointer<UInt8>
    public let u: UnsafeMutablePointer<UInt8>
    public let v: UnsafeMutablePointer<UInt8>
    public let strideY: Int
    public let strideC: Int

    public init(
        y: UnsafeMutablePointer<UInt8>, u: UnsafeMutablePointer<UInt8>, v: UnsafeMutablePointer<UInt8>, strideY: Int,
        strideC: Int
    ) {
        self.y = y
        self.u = u
        self.v = v
        self.strideY = strideY
        self.strideC = strideC
    }
}

extension VP8CopyFrame {
    /// Makes what a decoder shows after the frame of what it showed before, bit for bit, in a stream of version 1 or 2
    /// (bilinear interpolation of chroma, RFC 6386 section 18.3). A block may come from
    /// up to 15 lines above or below the picture, and not from beside it.
    /// - Parameter scratch: a picture of the same size, with any content.
    public func apply(to picture: VP8Picture, scratch: VP8Picture) {
        if let vector = onlyVector, vector.x == 0 {
            // Lines move within the picture, in the order in which none is read after it was written.
            let bottomUp = vector.y < 0
            return forEachRun(bottomUp: bottomUp) { row, run, vector in
                predict(picture, picture, row: row, columns: run, vector, bottomUp: bottomUp)
            }
        }
        forEachRun { row, run, vector in predict(picture, scratch, row: row, columns: run, vector) }
        forEachRun { row, run, _ in copy(scratch, picture, row: row, columns: run) }
    }

    /// What all blocks that move have in common; nil if they have not.
    private var onlyVector: VP8MotionVector? {
        var found = VP8MotionVector.zero
        for vector in vectors where vector != .zero {
            if found == .zero { found = vector }
            guard vector == found else { return nil }
        }
        return found
    }

    /// Neighbours in a row with the same vector, unless that is zero.
    private func forEachRun(bottomUp: Bool = false, _ body: (Int, Range<Int>, VP8MotionVector) -> Void) {
        for index in 0..<rows {
            let row = bottomUp ? rows - 1 - index : index
            var column = 0
            while column < columns {
                let vector = vectors[row * columns + column]
                var end = column + 1
                while end < columns, vectors[row * columns + end] == vector { end += 1 }
                if vector != .zero { body(row, column..<end, vector) }
                column = end
            }
        }
    }

    private func copy(_ source: VP8Picture, _ target: VP8Picture, row: Int, columns run: Range<Int>) {
        for line in row * 16..<row * 16 + 16 {
            let x = run.lowerBound * 16
            (target.y + line * target.strideY + x).update(
                from: source.y + line * source.strideY + x, count: run.count * 16)
        }
        for line in row * 8..<row * 8 + 8 {
            let x = run.lowerBound * 8
            (target.u + line * target.strideC + x).update(
                from: source.u + line * source.strideC + x, count: run.count * 8)
            (target.v + line * target.strideC + x).update(
                from: source.v + line * source.strideC + x, count: run.count * 8)
        }
    }

    private func predict(
        _ source: VP8Picture, _ target: VP8Picture, row: Int, columns run: Range<Int>, _ vector: VP8MotionVector,
        bottomUp: Bool = false
    ) {
        let (x, y) = (run.lowerBound * 16 + Int(vector.x), row * 16 + Int(vector.y))
        precondition(
            x >= 0 && x + run.count * 16 <= columns * 16 && y > -16 && y < rows * 16,
            "a vector leads out of the picture")
        // What lies above and below the picture is like its first and last lines.
        func luma(_ line: Int) -> Int { min(max(y &+ line, 0), rows &* 16 &- 1) &* source.strideY }
        func chroma(_ line: Int) -> Int { min(max(y >> 1 &+ line, 0), rows &* 8 &- 1) &* source.strideC }
        for index in 0..<16 {
            let line = bottomUp ? 15 - index : index
            (target.y + (row * 16 + line) * target.strideY + run.lowerBound * 16).update(
                from: source.y + luma(line) + x, count: run.count * 16)
        }
        for (from, to) in [(source.u, target.u), (source.v, target.v)] {
            let start = to + row * 8 * target.strideC + run.lowerBound * 8
            for index in 0..<8 {
                let line = bottomUp ? 7 - index : index
                // An odd component leads a pixel away from the edge at least, so the right neighbour is inside the
                // picture.
                let above = from + chroma(line) + x / 2
                let below = vector.y & 1 == 0 ? above : from + chroma(line + 1) + x / 2
                let out = start + line * target.strideC
                switch (vector.x & 1, vector.y & 1) {
                case (0, 0): out.update(from: above, count: run.count * 8)
                case (0, _): Self.average(above, below, out, run.count * 8)
                default: Self.averageAcross(above, below, out, run.count * 8)
                }
            }
        }
    }

    private static func average(_ a: UInt8, _ b: UInt8) -> UInt8 { UInt8((UInt16(a) &+ UInt16(b) &+ 1) >> 1) }

    private static func average(
        _ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ out: UnsafeMutablePointer<UInt8>, _ count: Int
    ) {
        for index in 0..<count { out[index] = average(a[index], b[index]) }
    }

    /// The average of right neighbours, and then of the two lines.
    private static func averageAcross(
        _ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ out: UnsafeMutablePointer<UInt8>, _ count: Int
    ) {
        for index in 0..<count {
            out[index] = average(average(a[index], a[index + 1]), average(b[index], b[index + 1]))
        }
    }
}
