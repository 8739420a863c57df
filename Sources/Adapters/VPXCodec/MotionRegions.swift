internal import MediaCore

/// Finds the blocks of natural video that plays: those that change many times a second, are not drawn, and lie side by side.
///
/// Each block has a leaky bucket of its changes. Text that scrolls, or is typed, is drawn and never counts as motion.
struct MotionRegions {
    /// The blocks of video.
    private(set) var blocks = BlockMap(PixelSize(width: 0, height: 0))
    private(set) var count = 0
    /// The blocks that change often and are natural, wherever they lie.
    private var candidates = BlockMap(PixelSize(width: 0, height: 0))
    /// Changes of each block, in 1/16.
    private var levels: [UInt8] = []
    private var last: MediaInstant?

    private static let change: UInt8 = 16
    /// Changes a second that leak away: a block that changes less often is no video.
    private static let leak = 7.0
    /// A block becomes one of video above the first level, and stops being one below the second.
    private static let (entry, exit): (UInt8, UInt8) = (6 * 16, 2 * 16)
    private static let most: UInt8 = 9 * 16
    /// A smaller video is not worth segments.
    private static let leastCount = 24

    mutating func restart(_ size: PixelSize) {
        blocks = BlockMap(size)
        candidates = BlockMap(size)
        count = 0
        levels = [UInt8](repeating: 0, count: blocks.blocks.count)
        last = nil
    }

    /// Takes in the blocks that changed since the last call.
    mutating func note(_ changed: BlockMap, _ frame: I420Frame, at instant: MediaInstant) {
        precondition(changed.blocks.count == levels.count, "a map of another size")
        let elapsed = last.map { min((instant - $0).inSeconds, 2) } ?? 0
        last = instant
        let leaked = UInt8(clamping: Int(elapsed * Self.leak * Double(Self.change) + 0.5))
        for index in levels.indices {
            var level = levels[index] > leaked ? levels[index] - leaked : 0
            if changed.blocks[index] != 0 { level = min(level + Self.change, Self.most) }
            levels[index] = level
            let isNew = level > Self.entry && candidates.blocks[index] == 0
            if isNew, ContentClassifier(frame, block: index).isNatural { candidates.blocks[index] = 1 }
            if level < Self.exit { candidates.blocks[index] = 0 }
        }
        findRegions()
    }

    /// Leaves out blocks that lie alone, such as those of text that scrolls.
    private mutating func findRegions() {
        count = 0
        let (columns, rows) = (blocks.columns, blocks.rows)
        for row in 0..<rows {
            for column in 0..<columns {
                let index = row * columns + column
                blocks.blocks[index] = 0
                guard candidates.blocks[index] != 0 else { continue }
                var neighbours: UInt8 = 0
                if column > 0 { neighbours += candidates.blocks[index - 1] }
                if column + 1 < columns { neighbours += candidates.blocks[index + 1] }
                if row > 0 { neighbours += candidates.blocks[index - columns] }
                if row + 1 < rows { neighbours += candidates.blocks[index + columns] }
                guard neighbours >= 2 else { continue }
                blocks.blocks[index] = 1
                count += 1
            }
        }
        if count < Self.leastCount {
            count = 0
            blocks.clear()
        }
    }
}
