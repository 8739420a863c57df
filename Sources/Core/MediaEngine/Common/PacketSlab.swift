/// Memory for packets: slots of equal size in one allocation. Untouched pages take no physical memory.
final class PacketSlab {
    let capacity: Int
    let slotBytes: Int
    private let memory: UnsafeMutableRawPointer

    /// - Parameter slotBytes: rounded up to a multiple of 16.
    init(capacity: Int, slotBytes: Int) {
        self.capacity = capacity
        self.slotBytes = (slotBytes + 15) & ~15
        memory = .allocate(byteCount: capacity * self.slotBytes, alignment: 64)
    }

    deinit { memory.deallocate() }

    /// The whole slot.
    subscript(index: Int) -> UnsafeMutableRawBufferPointer {
        precondition(index >= 0 && index < capacity, "slot \(index) of \(capacity)")
        return UnsafeMutableRawBufferPointer(start: memory + index * slotBytes, count: slotBytes)
    }
}
