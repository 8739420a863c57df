import MediaCore

/// Schedules duplicates of packets that are sent without a request, at increasing delays, so that one burst of losses
/// does not hit all copies.
///
/// Capacity: 256 packets for each delay. Overflow: no duplicate is sent.
struct PacketDuplicationSchedule {
    static let pauses: [MediaDuration] = [.milliseconds(15), .milliseconds(40), .milliseconds(80)]

    private struct Item {
        var sequence: Int64 = 0
        var due = MediaInstant(nanoseconds: 0)
    }

    /// One queue for each delay, so that each is in order.
    private var queues = pauses.map { _ in BoundedQueue<Item>(capacity: 256, filler: Item()) }

    /// - Parameter count: 0...3 duplicates.
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

    /// The sequence number of the next duplicate that is due; nil if none is.
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
