internal import MediaCore

/// Chooses the rectangles that cover all damaged blocks at the least cost: each request has a fixed cost, and so has
/// each block, damaged or not.
/// Allocates nothing once its arrays have grown.
struct DamageRectangles {
    /// The cost of a request, in blocks that are copied and compared: about 30 us against 0.5 us a block, as measured.
    static let requestCostInBlocks = 40
    /// Rows of blocks in one request. The server copies one band while the one before is being compared.
    static let bandRows = 8

    /// The rectangles to read in pixels: disjoint, aligned to blocks, clipped to the map's size, from top to bottom.
    private(set) var rects: [PixelRect] = []
    /// The rectangles in blocks, before they are split into bands.
    private var areas: [PixelRect] = []

    mutating func clear() { rects.removeAll(keepingCapacity: true) }

    /// Replaces the rectangles by those for `damage`.
    mutating func make(for damage: BlockMap) {
        findAreas(damage)
        rects.removeAll(keepingCapacity: true)
        for area in areas {
            for y in stride(from: area.y, to: area.maxY, by: Self.bandRows) {
                let height = min(Self.bandRows, area.maxY - y)
                rects.append(
                    PixelRect(x: area.x * 16, y: y * 16, width: area.width * 16, height: height * 16)
                        .clipped(to: damage.size))
            }
        }
    }

    private mutating func findAreas(_ damage: BlockMap) {
        areas.removeAll(keepingCapacity: true)
        // Open areas end in the row above, so that they can be extended.
        damage.blocks.withUnsafeBufferPointer { blocks in
            var firstOpen = 0
            for row in 0..<damage.rows {
                let line = UnsafeBufferPointer(rebasing: blocks[row * damage.columns..<(row + 1) * damage.columns])
                let firstOfRow = areas.count
                var column = 0
                while let run = Self.nextRun(in: line, from: column) {
                    column = run.upperBound
                    if !extend(firstOpen..<firstOfRow, by: run, row: row) {
                        areas.append(PixelRect(x: run.lowerBound, y: row, width: run.count, height: 1))
                    }
                }
                while firstOpen < areas.count && areas[firstOpen].maxY < row + 1 { firstOpen += 1 }
            }
        }
        guard !areDisjoint else { return }
        let around = areas.reduce(PixelRect(x: 0, y: 0, width: 0, height: 0)) { $0.union($1) }
        areas.removeAll(keepingCapacity: true)
        areas.append(around)
    }

    /// Returns the next damaged columns of a row. Gaps that are cheaper to read than to skip are included.
    private static func nextRun(in line: UnsafeBufferPointer<UInt8>, from start: Int) -> Range<Int>? {
        var column = start
        while column < line.count && line[column] == 0 { column += 1 }
        guard column < line.count else { return nil }
        let first = column
        var end = column + 1
        while column < line.count && column - end < requestCostInBlocks {
            if line[column] != 0 { end = column + 1 }
            column += 1
        }
        return first..<end
    }

    /// Extends one of the open areas down over the run, if that costs less than a request.
    private mutating func extend(_ open: Range<Int>, by run: Range<Int>, row: Int) -> Bool {
        for index in open where areas[index].maxY == row || areas[index].maxY == row + 1 {
            let old = areas[index]
            let union = old.union(PixelRect(x: run.lowerBound, y: row, width: run.count, height: 1))
            let extra = union.width * union.height - old.width * old.height - run.count
            if extra < Self.requestCostInBlocks {
                areas[index] = union
                return true
            }
        }
        return false
    }

    private var areDisjoint: Bool {
        for (index, a) in areas.enumerated() {
            for b in areas[(index + 1)...]
            where a.x < b.maxX && b.x < a.maxX && a.y < b.maxY && b.y < a.maxY { return false }
        }
        return true
    }
}
