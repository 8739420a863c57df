internal import MediaCore

/// The work of a screen's next read.
struct PendingFrame {
    /// The blocks that were drawn on since the last read.
    var blocks: BlockMap
    /// A picture has come that was not read.
    var isPictureNew: Bool
    /// The cursor has moved, or looks different.
    var isCursorNew: Bool
    /// The canvas holds nothing of this screen, so every block must be converted.
    var isForced = true
    /// The damage of the next picture is relative to one that was taken.
    var isContinuous = false
    /// The screen has another size, which was not reported yet.
    var isResized = false

    init(_ size: PixelSize, isPictureNew: Bool = false, isCursorNew: Bool = false) {
        blocks = BlockMap(size, filled: true)
        self.isPictureNew = isPictureNew
        self.isCursorNew = isCursorNew
    }

    var hasWork: Bool { isPictureNew || isCursorNew || isForced }

    mutating func clear() {
        blocks.clear()
        (isPictureNew, isCursorNew, isForced) = (false, false, false)
    }
}

extension BlockMap {
    /// The next blocks of a row that are in the set, side by side.
    func nextRun(inRow row: Int, from start: Int) -> Range<Int>? {
        blocks.withUnsafeBufferPointer { blocks in
            let line = blocks[row * columns..<(row + 1) * columns]
            guard let first = line.dropFirst(start).firstIndex(where: { $0 != 0 }) else { return nil }
            let end = line[first...].firstIndex(of: 0) ?? line.endIndex
            return first - line.startIndex..<end - line.startIndex
        }
    }
}
