import MediaCore

/// Covers the set blocks of a map with few rectangles.
struct BlockRectangles {
    /// Runs that are at most this many clean blocks apart form one rectangle, as that is cheaper than two.
    static let gap = 2

    /// The array's memory is reused, so that the steady state allocates nothing.
    private(set) var rectangles: [PixelRect] = []

    init() { rectangles.reserveCapacity(256) }

    /// Replaces `rectangles`; they are in pixels, do not overlap, and are clipped to the map's size.
    mutating func update(covering map: borrowing BlockMap) {
        rectangles.removeAll(keepingCapacity: true)
        let columns = map.columns
        let size = map.size
        map.blocks.withUnsafeBufferPointer { blocks in
            // The rectangles that end at the upper edge of the current row, so that they can be extended.
            var open = 0..<0
            for row in 0..<map.rows {
                let first = rectangles.count
                var extended = 0
                var column = 0
                let base = row * columns
                while column < columns {
                    guard blocks[base + column] != 0 else {
                        column += 1
                        continue
                    }
                    let start = column
                    var end = column + 1
                    column = end
                    while column < columns, column - end <= Self.gap {
                        if blocks[base + column] != 0 { end = column + 1 }
                        column += 1
                    }
                    column = end
                    let y = row * 16
                    let rect = PixelRect(
                        x: start * 16, y: y, width: min(end * 16, size.width) - start * 16,
                        height: min(16, size.height - y))
                    if let above = open.first(where: {
                        rectangles[$0].x == rect.x && rectangles[$0].width == rect.width && rectangles[$0].maxY == y
                    }) {
                        rectangles[above].height += rect.height
                        extended += 1
                    } else {
                        rectangles.append(rect)
                    }
                }
                // If this row extended a rectangle, all open ones stay candidates; otherwise only the new ones.
                open = extended > 0 ? open.lowerBound..<rectangles.count : first..<rectangles.count
            }
        }
    }
}
