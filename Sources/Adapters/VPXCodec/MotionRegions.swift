internal import MediaCore

/// Finds the blocks of natural video that plays: those that change many times a second, are not drawn, and lie side by
/// side.
///
/// Each block has a leaky bucket of its changes, and a vote that each change of its content casts: content that scrolls
/// through a block looks natural now and then, and must not be taken for video because of that.
struct MotionRegions {
    /// The blocks of video, those in which it ends included.
    private(set) var blocks = BlockMap(PixelSize(width: 0, height: 0))
    private(set) var count = 0
    /// The blocks that change often and are natural, wherever they lie, and those in which such ones end.
    private var candidates = BlockMap(PixelSize(width: 0, height: 0))
    /// Those of them that are natural as a whole.
    private var whole = BlockMap(PixelSize(width: 0, height: 0))
    /// False: `candidates` is empty.
    private var hasCandidates = false
    /// Changes of each block, in 1/16.
    private var levels: [UInt8] = []
    /// The votes for each block: natural content adds two, other content takes one away.
    private var votes: [UInt8] = []
    private var last: MediaInstant?

    private static let change: UInt8 = 16
    /// Changes a second that leak away: a block that changes less often is no video.
    private static let leak = 7.0
    /// A block becomes one of video above this level.
    private static let entry: UInt8 = 6 * 16
    /// A block stops being one of video below this level.
    private static let exit: UInt8 = 2 * 16
    private static let most: UInt8 = 9 * 16
    /// A block needs this many votes to become one of video, and loses its place without any.
    private static let neededVotes: UInt8 = 8
    private static let mostVotes: UInt8 = 16
    /// A smaller video is not worth segments; without its edges.
    private static let leastCount = 24

    mutating func restart(_ size: PixelSize) {
        blocks = BlockMap(size)
        candidates = BlockMap(size)
        whole = BlockMap(size)
        hasCandidates = false
        count = 0
        levels = [UInt8](repeating: 0, count: blocks.blocks.count)
        votes = levels
        last = nil
    }

    /// Takes in the blocks that changed since the last call.
    mutating func note(_ changed: BlockMap, _ frame: I420Frame, at instant: MediaInstant) {
        precondition(changed.blocks.count == levels.count, "a map of another size")
        let elapsed = last.map { min((instant - $0).inSeconds, 2) } ?? 0
        last = instant
        let leaked = UInt8(clamping: Int(elapsed * Self.leak * Double(Self.change) + 0.5))
        // Most blocks of a screen rest: eight at a time are looked at.
        for start in stride(from: 0, to: levels.count, by: 8) {
            let range = start..<min(start + 8, levels.count)
            if range.count == 8, Self.isZero(levels, start), Self.isZero(changed.blocks, start) { continue }
            for index in range { note(index, isChanged: changed.blocks[index] != 0, leaked, frame) }
        }
        findRegions()
    }

    private static func isZero(_ values: [UInt8], _ start: Int) -> Bool {
        values.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start, as: UInt64.self) == 0 }
    }

    private mutating func note(_ index: Int, isChanged: Bool, _ leaked: UInt8, _ frame: I420Frame) {
        var level = levels[index] > leaked ? levels[index] - leaked : 0
        if isChanged { level = min(level + Self.change, Self.most) }
        levels[index] = level
        if level < Self.exit {
            leaveOut(index)
            votes[index] = 0
        } else if level > Self.entry, isChanged {
            vote(index, frame)
        }
    }

    private mutating func vote(_ index: Int, _ frame: I420Frame) {
        let isNatural = ContentClassifier.isNatural(frame, block: index)
        if isNatural || isEdge(index, frame) {
            votes[index] = min(votes[index] + 2, Self.mostVotes)
            guard votes[index] >= Self.neededVotes else { return }
            candidates.blocks[index] = 1
            hasCandidates = true
            if isNatural { whole.blocks[index] = 1 }
        } else if votes[index] > 0 {
            votes[index] -= 1
            if votes[index] == 0 { leaveOut(index) }
        }
    }

    private mutating func leaveOut(_ index: Int) {
        candidates.blocks[index] = 0
        whole.blocks[index] = 0
    }

    /// Whether a video ends in a block: what lies at the side of a block of the video is natural, too.
    private func isEdge(_ index: Int, _ frame: I420Frame) -> Bool {
        guard count > 0 else { return false }
        let (row, column) = (index / blocks.columns, index % blocks.columns)
        let (x, y, strip) = (column * 16, row * 16, Self.strip)
        func isVideo(_ index: Int) -> Bool { blocks.blocks[index] & whole.blocks[index] != 0 }
        return column > 0 && isVideo(index - 1)
            && ContentClassifier.isNatural(frame, PixelRect(x: x, y: y, width: strip, height: 16))
            || column + 1 < blocks.columns && isVideo(index + 1)
                && ContentClassifier.isNatural(frame, PixelRect(x: x + 16 - strip, y: y, width: strip, height: 16))
            || row > 0 && isVideo(index - blocks.columns)
                && ContentClassifier.isNatural(frame, PixelRect(x: x, y: y, width: 16, height: strip))
            || row + 1 < blocks.rows && isVideo(index + blocks.columns)
                && ContentClassifier.isNatural(frame, PixelRect(x: x, y: y + 16 - strip, width: 16, height: strip))
    }

    /// The pixels of a block's side: a video that ends within them is not worth it.
    private static let strip = 4

    /// Leaves out blocks that lie alone, such as those of text that scrolls.
    private mutating func findRegions() {
        guard hasCandidates else { return }
        hasCandidates = !candidates.isEmpty
        count = 0
        var wholeCount = 0
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
                wholeCount += Int(whole.blocks[index])
            }
        }
        if wholeCount < Self.leastCount {
            count = 0
            blocks.clear()
        }
    }
}
