internal import MediaCore

/// The work of a screen's next read.
struct PendingDamage {
    /// The blocks that were drawn on since the last read.
    var blocks: BlockMap
    var isDamaged = true
    /// The canvas holds nothing of this screen, so every block must be converted.
    var isForced = true
    var isPointerMoved = false
    var isCursorImageStale = true

    init(_ size: PixelSize) { blocks = BlockMap(size, filled: true) }

    var isCursorStale: Bool { isPointerMoved || isCursorImageStale }

    mutating func fill() {
        blocks.fill()
        isDamaged = true
    }

    mutating func resize(to size: PixelSize) {
        blocks = BlockMap(size, filled: true)
        isDamaged = true
        isForced = true
    }
}
