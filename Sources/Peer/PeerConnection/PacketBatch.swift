import EventLoop
import MediaCore

/// The packets of one round of sending, in fixed slots with room for the SRTP trailer. Confined to one thread.
package final class PacketBatch {
    /// What is forwarded may fill an Ethernet packet, and get a longer header.
    static let slotBytes = 1_728
    /// Longer RTP packets are not read. Jumbo frames are, so that a sender of packets that are too large is told of.
    static let largestReceived = 9_216
    let capacity: Int
    let memory: UnsafeMutableRawPointer
    private(set) var count = 0
    /// Whose packets it holds. A transport that is closed gives it up.
    unowned(unsafe) var owner: SecureTransport?
    /// For a received packet that is not aligned.
    let scratch = UnsafeMutableRawPointer.allocate(byteCount: largestReceived, alignment: 64)
    private let lengths: UnsafeMutablePointer<Int>

    package init(capacity: Int) {
        self.capacity = capacity
        memory = .allocate(byteCount: capacity * Self.slotBytes, alignment: 64)
        lengths = .allocate(capacity: capacity)
    }

    deinit {
        memory.deallocate()
        lengths.deallocate()
        scratch.deallocate()
    }

    var isFull: Bool { count == capacity }

    /// The next free slot, excluding the room for the trailer.
    var slot: UnsafeMutableRawBufferPointer {
        precondition(!isFull, "the batch is full")
        return UnsafeMutableRawBufferPointer(start: memory + count * Self.slotBytes, count: Self.slotBytes - 64)
    }

    /// All free slots.
    var slots: PacketSlots {
        PacketSlots(
            base: memory + count * Self.slotBytes, stride: Self.slotBytes, size: Self.slotBytes - 64,
            count: capacity - count, lengths: lengths + count)
    }

    func commit(_ length: Int) {
        lengths[count] = length
        count += 1
    }

    var committed: UnsafeBufferPointer<Int> { UnsafeBufferPointer(start: lengths, count: count) }
    func clear() { count = 0 }
}
