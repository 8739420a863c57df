/// A set of 16 x 16 blocks of a frame, one byte for each, row by row. Blocks at the right and lower edge may be
/// partial. A byte other than 0 means that the block is in the set. The layout is that of libvpx's active map.
public struct BlockMap: Equatable, Sendable {
    public static let side = 16

    public let size: PixelSize
    public let columns: Int
    public let rows: Int
    /// `columns * rows` bytes, 0 or 1.
    public var blocks: [UInt8]

    public init(_ size: PixelSize, filled: Bool = false) {
        self.size = size
        columns = (size.width + 15) / 16
        rows = (size.height + 15) / 16
        blocks = [UInt8](repeating: filled ? 1 : 0, count: columns * rows)
    }

    public var isEmpty: Bool { !blocks.contains { $0 != 0 } }
    public var count: Int { blocks.reduce(0) { $0 &+ ($1 == 0 ? 0 : 1) } }

    public mutating func fill() { for i in blocks.indices { blocks[i] = 1 } }
    public mutating func clear() { for i in blocks.indices { blocks[i] = 0 } }

    /// Inserts every block that the rectangle touches.
    public mutating func insert(_ rect: PixelRect) {
        let rect = rect.clipped(to: size)
        guard !rect.isEmpty else { return }
        for row in (rect.y / 16)...((rect.maxY - 1) / 16) {
            for column in (rect.x / 16)...((rect.maxX - 1) / 16) { blocks[row * columns + column] = 1 }
        }
    }

    public mutating func formUnion(_ other: BlockMap) {
        precondition(other.blocks.count == blocks.count, "maps of different sizes")
        for i in blocks.indices { blocks[i] |= other.blocks[i] }
    }

    public mutating func subtract(_ other: BlockMap) {
        precondition(other.blocks.count == blocks.count, "maps of different sizes")
        for i in blocks.indices where other.blocks[i] != 0 { blocks[i] = 0 }
    }

    /// Whether it has all blocks of the other set.
    public func isSuperset(of other: BlockMap) -> Bool {
        precondition(other.blocks.count == blocks.count, "maps of different sizes")
        return !blocks.indices.contains { other.blocks[$0] & ~blocks[$0] != 0 }
    }

    public mutating func formIntersection(_ other: BlockMap) {
        precondition(other.blocks.count == blocks.count, "maps of different sizes")
        for i in blocks.indices { blocks[i] &= other.blocks[i] }
    }

    /// Removes all blocks of a row of blocks.
    public mutating func remove(row: Int) {
        for i in row * columns..<(row + 1) * columns { blocks[i] = 0 }
    }

    /// The smallest rectangle in pixels around all blocks of the set, clipped to the frame; empty if the set is empty.
    public var bounds: PixelRect {
        var left = columns
        var right = -1
        var top = rows
        var bottom = -1
        for row in 0..<rows {
            for column in 0..<columns where blocks[row * columns + column] != 0 {
                left = min(left, column)
                right = max(right, column)
                top = min(top, row)
                bottom = row
            }
        }
        guard right >= 0 else { return PixelRect(x: 0, y: 0, width: 0, height: 0) }
        return PixelRect(x: left * 16, y: top * 16, width: (right - left + 1) * 16, height: (bottom - top + 1) * 16)
            .clipped(to: size)
    }
}
