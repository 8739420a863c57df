internal import MediaCore

/// The work of a screen's next read.
struct PendingDamage {
    /// The blocks that were drawn on since the last read.
    var blocks: BlockMap
    /// The blocks of the read that runs.
    private(set) var reading: BlockMap
    /// Their areas, as they are read.
    private(set) var rectangles = DamageRectangles()
    var isDamaged = true
    /// The canvas holds nothing of this screen, so every block must be converted.
    var isForced = true
    var isPointerMoved = false
    var isCursorImageStale = true
    /// The screen has another size, which was not reported yet.
    var isResized = false

    init(_ size: PixelSize) {
        blocks = BlockMap(size, filled: true)
        reading = BlockMap(size)
    }

    var isCursorStale: Bool { isPointerMoved || isCursorImageStale }

    mutating func fill() {
        blocks.fill()
        isDamaged = true
    }

    mutating func resize(to size: PixelSize) {
        self = PendingDamage(size)
    }

    mutating func insert(_ rect: PixelRect) {
        blocks.insert(rect)
        isDamaged = true
    }

    /// Takes all blocks for a read. Damage that is reported meanwhile is of the next one.
    mutating func beginReading() {
        if isDamaged { rectangles.make(for: blocks) } else { rectangles.clear() }
        swap(&blocks, &reading)
        blocks.clear()
        isDamaged = false
    }

    /// Puts the blocks of a read that did not succeed back.
    mutating func restore() {
        blocks.formUnion(reading)
        isDamaged = true
    }
}
