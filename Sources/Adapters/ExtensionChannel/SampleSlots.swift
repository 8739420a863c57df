internal import LinuxRuntime

/// The slots of one shared memory on the host's side. Confined to whoever holds the lock of its process.
struct SampleSlots {
    let description: SampleMemoryDescription
    let memory: SharedMemory
    private var free: [Int]
    private var isLent: [Bool]

    init(id: Int, kind: SampleKind, slots: Int, slotSize: Int) throws(SharedMemory.Failure) {
        description = SampleMemoryDescription(id: id, kind: kind, slots: slots, slotSize: slotSize)
        memory = try SharedMemory(byteCount: slots * slotSize)
        free = Array((0..<slots).reversed())
        isLent = Array(repeating: false, count: slots)
    }

    /// Nil while the program has all of them.
    mutating func take() -> Int? {
        guard let slot = free.popLast() else { return nil }
        isLent[slot] = true
        return slot
    }

    /// - Returns: false if the program does not have that slot.
    mutating func giveBack(_ slot: Int) -> Bool {
        guard isLent.indices.contains(slot), isLent[slot] else { return false }
        isLent[slot] = false
        free.append(slot)
        return true
    }

    var lent: Int { isLent.count - free.count }

    func bytes(of slot: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(
            start: memory.base + slot * description.slotSize, count: description.slotSize)
    }
}
