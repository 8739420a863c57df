internal import MediaCore
internal import VideoBitstream

/// Finds by how many lines content has moved up or down: segments of lines that are equal vote for the distance between
/// them.
struct ScrollDetector {
    /// In pixels; a multiple of the size of a block.
    private static let segment = 64
    /// So many columns of segments are compared.
    private static let mostColumns = 8
    /// So many are compared first, and the others only if most of their segments do not agree.
    private static let firstColumns = 2
    /// A distance needs so many votes, and an eighth of those possible.
    private static let leastVotes = 32
    /// Equal segments that are looked at: lines of tables and logs repeat.
    private static let mostRepeats = 32

    private var old: [UInt64] = []
    private var new: [UInt64] = []
    private var votes: [Int32] = []
    /// Chains of the old lines by their hash.
    private var heads: [Int16] = []
    private var next: [Int16] = []

    /// - Parameters:
    ///   - coded: what the viewers have.
    ///   - map: the blocks that are to be explained.
    /// - Returns: the vector that most of the changed segments in the blocks agree on; nil if there is none.
    mutating func vector(from coded: I420Frame, to canvas: I420Frame, in map: BlockMap) -> VP8MotionVector? {
        let height = canvas.size.height
        if votes.count != 2 * height {
            votes = [Int32](repeating: 0, count: 2 * height)
            old = [UInt64](repeating: 0, count: height)
            new = old
            next = [Int16](repeating: -1, count: height)
            heads = [Int16](repeating: -1, count: 1 << 12)
        }
        for index in votes.indices { votes[index] = 0 }
        var changed = 0
        for (index, (column, rows)) in columns(of: map).enumerated() {
            if index == Self.firstColumns, let vector = agreed(share: 2, of: changed) { return vector }
            changed += vote(coded, canvas, column, rows.lowerBound * 16..<min(rows.upperBound * 16, height))
        }
        return agreed(share: 8, of: changed)
    }

    /// The vector with most votes; nil if it has fewer than one in `share` of the changed segments, or is zero.
    private func agreed(share: Int, of changed: Int) -> VP8MotionVector? {
        var best = 0
        for index in votes.indices where votes[index] > votes[best] { best = index }
        let found = Int(votes[best])
        guard found >= Self.leastVotes, found * share >= changed, best != votes.count / 2 else { return nil }
        return VP8MotionVector(x: 0, y: best - votes.count / 2)
    }

    /// The columns of segments with most blocks of the map, and their rows of blocks from the first to the last of
    /// them.
    private func columns(of map: BlockMap) -> [(column: Int, rows: Range<Int>)] {
        let width = Self.segment / 16
        var found: [(column: Int, rows: Range<Int>, blocks: Int)] = []
        for column in 0..<map.size.width / Self.segment {
            var (first, last, blocks) = (map.rows, -1, 0)
            for row in 0..<map.rows {
                let start = row * map.columns + column * width
                var count = 0
                for index in start..<start + width where map.blocks[index] != 0 { count += 1 }
                guard count > 0 else { continue }
                blocks += count
                first = min(first, row)
                last = row
            }
            if last > first { found.append((column, first..<last + 1, blocks)) }
        }
        found.sort { $0.blocks > $1.blocks }
        return found.prefix(Self.mostColumns).map { ($0.column, $0.rows) }
    }

    /// - Returns: how many segments changed.
    private mutating func vote(_ coded: I420Frame, _ canvas: I420Frame, _ column: Int, _ lines: Range<Int>) -> Int {
        let x = column * Self.segment
        var changed = 0
        for line in lines {
            old[line] = Self.hash(coded.y + line * coded.strideY + x)
            new[line] = Self.hash(canvas.y + line * canvas.strideY + x)
            if new[line] != 0, new[line] != old[line] { changed += 1 }
        }
        guard changed > 0 else { return 0 }
        for index in heads.indices { heads[index] = -1 }
        for line in lines.reversed() where old[line] != 0 {
            let key = Int(old[line] >> 52)
            next[line] = heads[key]
            heads[key] = Int16(line)
        }
        let height = old.count
        for line in lines where new[line] != 0 && new[line] != old[line] {
            var candidate = Int(heads[Int(new[line] >> 52)])
            var left = Self.mostRepeats
            while candidate >= 0, left > 0 {
                if old[candidate] == new[line] { votes[candidate - line + height] += 1 }
                candidate = Int(next[candidate])
                left -= 1
            }
        }
        return changed
    }

    /// Of a segment; 0 for one of a single value, which says nothing.
    private static func hash(_ pixels: UnsafePointer<UInt8>) -> UInt64 {
        let words = UnsafeRawPointer(pixels)
        let first = words.loadUnaligned(as: UInt64.self)
        var difference = first ^ (first << 8 | first >> 56)
        var sum = first &* 0x9E37_79B9_7F4A_7C15
        var offset = 8
        while offset < segment {
            let word = words.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            difference |= word ^ first
            sum = (sum ^ sum >> 29 ^ word) &* 0x9E37_79B9_7F4A_7C15
            offset &+= 8
        }
        return difference == 0 ? 0 : (sum ^ sum >> 32) | 1
    }
}
