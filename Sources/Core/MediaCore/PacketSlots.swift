/// Memory for the packets of one burst, a slot each, which lie at equal distances. Borrowed for a call.
public struct PacketSlots {
    /// The first slot.
    public let base: UnsafeMutableRawPointer
    /// From one slot to the next, in bytes.
    public let stride: Int
    /// Bytes of a slot that may be used.
    public let size: Int
    public let count: Int
    /// Gets the length of each packet.
    public let lengths: UnsafeMutablePointer<Int>

    public init(
        base: UnsafeMutableRawPointer, stride: Int, size: Int, count: Int, lengths: UnsafeMutablePointer<Int>
    ) {
        precondition(size <= stride, "slots that overlap")
        self.base = base
        self.stride = stride
        self.size = size
        self.count = count
        self.lengths = lengths
    }

    public subscript(index: Int) -> UnsafeMutableRawPointer { base + index &* stride }
}
