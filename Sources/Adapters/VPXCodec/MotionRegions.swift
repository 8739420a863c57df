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
    /// The blocks that change often and are natural, wherever they lie.
    private var natural = Votes(PixelSize(width: 0, height: 0))
    /// The blocks that change often, of which only the side at a video is natural.
    private var edges = Votes(PixelSize(width: 0, height: 0))
    /// Changes of each block, in 1/16.
    private var levels: [UInt8] = []
    private var last: MediaInstant?

    private static let change: UInt8 = 16
    /// Changes a second that leak away: a block that changes less often is no video.
    private static let leak = 7.0
    /// A block becomes one of video above this level.
    private static let entry: UInt8 = 6 * 16
    /// A block stops being one of video below this level.
    private static let exit: UInt8 = 2 * 16
    private static let most: UInt8 = 9 * 16
    /// A smaller video is not worth segments; without its edges.
    private static let leastCount = 24

    /// Blocks that are chosen by votes.
    private struct Votes {
        private(set) var blocks: BlockMap
        /// False: `blocks` is empty.
        var isPossible = false
        /// For each block: a change that is in favor adds two, another one takes one away.
        private var votes: [UInt8]

        /// A block needs this many votes to be chosen, and loses its place without any.
        private static let needed: UInt8 = 8
        private static let most: UInt8 = 16

        init(_ size: PixelSize) {
            blocks = BlockMap(size)
            votes = [UInt8](repeating: 0, count: blocks.blocks.count)
        }

        mutating func vote(_ index: Int, _ isInFavor: Bool) {
            if isInFavor {
                votes[index] = min(votes[index] + 2, Self.most)
                guard votes[index] >= Self.needed else { return }
                blocks.blocks[index] = 1
                isPossible = true
            } else if votes[index] > 0 {
                votes[index] -= 1
                if votes[index] == 0 { blocks.blocks[index] = 0 }
            }
        }

        mutating func leaveOut(_ index: Int) {
            blocks.blocks[index] = 0
            votes[index] = 0
        }
    }

    mutating func restart(_ size: PixelSize) {
        blocks = BlockMap(size)
        natural = Votes(size)
        edges = Votes(size)
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
        // Most blocks of a screen rest: eight at a time are looked at.
        for start in stride(from: 0, to: levels.count, by: 8) {
            let range = start..<min(start + 8, levels.count)
            if range.count == 8, Self.isZero(levels, start), Self.isZero(changed.blocks, start) { continue }
            for index in range { note(index, isChanged: changed.blocks[index] != 0, leaked, frame) }
        }
        guard natural.isPossible else { return }
        natural.isPossible = !natural.blocks.isEmpty
        findRegions()
        if count > 0 { addEdges() }
    }

    private static func isZero(_ values: [UInt8], _ start: Int) -> Bool {
        values.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start, as: UInt64.self) == 0 }
    }

    private mutating func note(_ index: Int, isChanged: Bool, _ leaked: UInt8, _ frame: I420Frame) {
        var level = levels[index] > leaked ? levels[index] - leaked : 0
        if isChanged { level = min(level + Self.change, Self.most) }
        levels[index] = level
        if level < Self.exit {
            natural.leaveOut(index)
            edges.leaveOut(index)
        } else if level > Self.entry, isChanged {
            let isNatural = ContentClassifier.isNatural(frame, block: index)
            natural.vote(index, isNatural)
            if count > 0 { edges.vote(index, !isNatural && isNaturalAtVideo(index, frame)) }
        }
    }

    /// Leaves out blocks that lie alone, such as those of text that scrolls.
    private mutating func findRegions() {
        count = 0
        for index in blocks.blocks.indices {
            let isVideo = natural.blocks.blocks[index] != 0 && naturalSides(of: index).rawValue.nonzeroBitCount >= 2
            blocks.blocks[index] = isVideo ? 1 : 0
            if isVideo { count += 1 }
        }
        if count < Self.leastCount {
            count = 0
            blocks.clear()
        }
    }

    /// Adds the blocks in which a video ends: the rest of them is what lies beside it.
    private mutating func addEdges() {
        for index in blocks.blocks.indices where edges.blocks.blocks[index] != 0 && blocks.blocks[index] == 0 {
            guard !naturalSides(of: index).isEmpty else { continue }
            blocks.blocks[index] = 1
            count += 1
        }
    }

    /// Sides of a block.
    private struct Sides: OptionSet {
        var rawValue: UInt8
        static let (left, right) = (Sides(rawValue: 1), Sides(rawValue: 2))
        static let (top, bottom) = (Sides(rawValue: 4), Sides(rawValue: 8))
    }

    /// The sides of a block at which natural blocks lie.
    private func naturalSides(of index: Int) -> Sides {
        let (column, columns) = (index % blocks.columns, blocks.columns)
        let map = natural.blocks.blocks
        var sides: Sides = []
        if column > 0, map[index - 1] != 0 { sides.insert(.left) }
        if column + 1 < columns, map[index + 1] != 0 { sides.insert(.right) }
        if index >= columns, map[index - columns] != 0 { sides.insert(.top) }
        if index + columns < map.count, map[index + columns] != 0 { sides.insert(.bottom) }
        return sides
    }

    /// Whether a side of a block is natural at which a natural block lies.
    private func isNaturalAtVideo(_ index: Int, _ frame: I420Frame) -> Bool {
        let sides = naturalSides(of: index)
        let (x, y, strip) = (index % blocks.columns * 16, index / blocks.columns * 16, Self.strip)
        func isNatural(_ side: Sides, _ rect: PixelRect) -> Bool {
            sides.contains(side) && ContentClassifier.isNatural(frame, rect)
        }
        return isNatural(.left, PixelRect(x: x, y: y, width: strip, height: 16))
            || isNatural(.right, PixelRect(x: x + 16 - strip, y: y, width: strip, height: 16))
            || isNatural(.top, PixelRect(x: x, y: y, width: 16, height: strip))
            || isNatural(.bottom, PixelRect(x: x, y: y + 16 - strip, width: 16, height: strip))
    }

    /// The pixels of a block's side: a video that ends within them is not worth it.
    private static let strip = 4
}
