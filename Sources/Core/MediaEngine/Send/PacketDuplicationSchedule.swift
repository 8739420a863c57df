import MediaCore

/// Packets that are to be sent again unasked, some milliseconds after one another, so that one bad moment of the path does not take all.
///
/// Capacity: 256 packets for each pause. Overflow: not repeated.
struct PacketDuplicationSchedule {
    static let pauses: [MediaDuration] = [.milliseconds(15), .milliseconds(40), .milliseconds(80)]

    private struct Item {
        var sequence: Int64 = 0
        var due = MediaInstant(nanoseconds: 0)
    }

    /// One for each pause: what is due in each comes in order.
    private var queues = pauses.map { _ in RingBuffer<Item>(capacity: 256, filler: Item()) }

    /// - Parameter count: 0...3.
    mutating func add(_ sequence: Int64, count: Int, now: MediaInstant) {
        for index in 0..<min(count, queues.count) {
            queues[index].append(Item(sequence: sequence, due: now + Self.pauses[index]))
        }
    }

    var deadline: MediaInstant {
        var earliest = MediaInstant.distantFuture
        for index in queues.indices { earliest = min(earliest, queues[index].first?.due ?? .distantFuture) }
        return earliest
    }

    /// The next that is due.
    mutating func takeDue(now: MediaInstant) -> Int64? {
        for index in queues.indices {
            if let first = queues[index].first, first.due <= now {
                queues[index].popFirst()
                return first.sequence
            }
        }
        return nil
    }

    mutating func removeAll() { for index in queues.indices { queues[index].removeAll() } }
}
