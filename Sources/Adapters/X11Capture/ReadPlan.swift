internal import MediaCore

/// Which rectangles to read so that all damaged blocks are covered at the least cost: a request has a price of its own, and so
/// has every block, damaged or not.
enum ReadPlan {
    /// What one more request costs, in blocks copied and compared: measured about 30 us against 0.5 us.
    static let requestPrice = 40
    /// Rows of blocks in one request, so that the server copies one band while we compare the one before.
    static let bandRows = 8

    /// Rectangles in pixels: disjoint, on the block grid, clipped to the map's size, from top to bottom.
    /// - Returns: in `rects`, which is emptied first (its memory is used again).
    static func make(_ damage: BlockMap, into rects: inout [PixelRect]) {
        rects.removeAll(keepingCapacity: true)
        // In blocks; `open` ones end in the row above.
        damage.blocks.withUnsafeBufferPointer { blocks in
            var firstOpen = 0
            for row in 0..<damage.rows {
                let line = UnsafeBufferPointer(rebasing: blocks[row * damage.columns..<(row + 1) * damage.columns])
                let firstOfRow = rects.count
                var column = 0
                while let run = nextRun(in: line, from: column) {
                    column = run.upperBound
                    if !extend(&rects, firstOpen..<firstOfRow, by: run, row: row) {
                        rects.append(PixelRect(x: run.lowerBound, y: row, width: run.count, height: 1))
                    }
                }
                while firstOpen < rects.count && rects[firstOpen].maxY < row + 1 { firstOpen += 1 }
            }
        }
        if !areDisjoint(rects) { rects = [rects.reduce(PixelRect(x: 0, y: 0, width: 0, height: 0)) { $0.union($1) }] }
        var bands: [PixelRect] = []
        bands.reserveCapacity(rects.count)
        for rect in rects {
            for y in stride(from: rect.y, to: rect.maxY, by: bandRows) {
                let height = min(bandRows, rect.maxY - y)
                bands.append(
                    PixelRect(x: rect.x * 16, y: y * 16, width: rect.width * 16, height: height * 16)
                        .clipped(to: damage.size))
            }
        }
        rects = bands
    }

    /// Damaged columns of one row; gaps that are cheaper to read than to skip are in it.
    private static func nextRun(in line: UnsafeBufferPointer<UInt8>, from start: Int) -> Range<Int>? {
        var column = start
        while column < line.count && line[column] == 0 { column += 1 }
        guard column < line.count else { return nil }
        let first = column
        var end = column + 1
        while column < line.count && column - end < requestPrice {
            if line[column] != 0 { end = column + 1 }
            column += 1
        }
        return first..<end
    }

    /// Makes one of the open rectangles reach down over the run, if that costs less than a request.
    private static func extend(_ rects: inout [PixelRect], _ open: Range<Int>, by run: Range<Int>, row: Int) -> Bool {
        for index in open where rects[index].maxY == row || rects[index].maxY == row + 1 {
            let old = rects[index]
            let union = old.union(PixelRect(x: run.lowerBound, y: row, width: run.count, height: 1))
            let extra = union.width * union.height - old.width * old.height - run.count
            if extra < requestPrice {
                rects[index] = union
                return true
            }
        }
        return false
    }

    private static func areDisjoint(_ rects: [PixelRect]) -> Bool {
        for (index, a) in rects.enumerated() {
            for b in rects[(index + 1)...]
            where a.x < b.maxX && b.x < a.maxX && a.y < b.maxY && b.y < a.maxY { return false }
        }
        return true
    }
}
