internal import MediaCore

/// What an encoder knows of the base of two temporal layers: which blocks it lacks, and what it may still spend.
///
/// Frames of layer 1 refer to the base alone, so each of them codes all that the base lacks, and so does the base's next frame, or
/// the next slices do.
struct TemporalBaseLayer {
    var bucket = FrameByteBudget()
    /// The blocks that have changed since the base's last frame.
    private(set) var lacks = BlockMap(PixelSize(width: 0, height: 0))
    /// A frame of layer 1 has shown them, or their slices are still to come.
    private(set) var isBehind = false

    mutating func restart(_ size: PixelSize) {
        lacks = BlockMap(size)
        isBehind = false
    }

    mutating func note(_ changed: BlockMap) { lacks.formUnion(changed) }

    mutating func noteBeside() { isBehind = true }

    /// A frame of the base was made with these blocks.
    mutating func noteEncoded(_ blocks: BlockMap) {
        lacks.subtract(blocks)
        isBehind = !lacks.isEmpty
    }

    mutating func noteKeyframe() {
        lacks.clear()
        isBehind = false
    }
}
