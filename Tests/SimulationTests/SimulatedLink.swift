import MediaCore
import TestSupport

/// One direction of a network, in virtual time: a drop-tail queue of limited rate, then a way with delay, jitter, loss, reordering
/// and duplicates.
struct SimulatedLink {
    struct Conditions {
        var delay = MediaDuration.milliseconds(25)
        /// Added at random; packets keep their order.
        var jitter = MediaDuration.zero
        /// nil: as fast as you like.
        var rate: Bitrate?
        /// Packets that would wait for longer are dropped.
        var queue = MediaDuration.milliseconds(300)
        var lossPercent = 0.0
        /// Lost packets come in runs of so many on average (Gilbert-Elliott); 0: each on its own.
        var burstLength = 0.0
        /// So many are overtaken by what leaves in the next `reorderDelay`.
        var reorderPercent = 0.0
        var reorderDelay = MediaDuration.milliseconds(8)
        var duplicatePercent = 0.0
        var isDown = false
    }

    private struct Flight {
        var arrival: MediaInstant
        var order: Int
        var bytes: [UInt8]
    }

    var conditions: Conditions
    /// Shared with others; `conditions` then have no rate.
    var bottleneck: (place: SimulatedBottleneck, flow: Int)?
    private var changes: [(at: MediaInstant, conditions: Conditions)]
    private var random: SeededGenerator
    private var flights: [Flight] = []
    private var order = 0
    private var isBad = false
    private var freeAt = MediaInstant(nanoseconds: 0)
    private var lastArrival = MediaInstant(nanoseconds: 0)
    private(set) var carried = 0
    private(set) var carriedBytes = 0
    private(set) var longestQueue = MediaDuration.zero
    /// How long each packet waited in the queue, and when.
    private(set) var waits: [(at: MediaInstant, wait: MediaDuration)] = []

    init(_ conditions: Conditions, changes: [(at: MediaInstant, conditions: Conditions)] = [], seed: UInt64) {
        self.conditions = conditions
        self.changes = changes.sorted { $0.at < $1.at }
        random = SeededGenerator(seed: seed)
    }

    mutating func send(_ bytes: UnsafeRawBufferPointer, now: MediaInstant) {
        while let change = changes.first, change.at <= now {
            conditions = change.conditions
            changes.removeFirst()
        }
        guard !conditions.isDown, !isLost() else { return }
        var leaves = now
        if let (place, flow) = bottleneck {
            guard let free = place.pass(bytes: bytes.count + 28, flow: flow, now: now) else { return }
            leaves = free
        } else if let rate = conditions.rate {
            let wait = max(freeAt - now, .zero)
            guard wait <= conditions.queue else { return }
            longestQueue = max(longestQueue, wait)
            waits.append((now, wait))
            leaves = max(now, freeAt) + rate.duration(ofBytes: bytes.count + 28)
            freeAt = leaves
        }
        carried += 1
        carriedBytes += bytes.count
        var arrival = leaves + conditions.delay
        if conditions.jitter > .zero {
            arrival =
                arrival
                + MediaDuration(nanoseconds: Int64.random(in: 0...conditions.jitter.nanoseconds, using: &random))
        }
        if random.chance(conditions.reorderPercent) {
            arrival = arrival + conditions.reorderDelay
        } else {
            arrival = max(arrival, lastArrival)
            lastArrival = arrival
        }
        insert(bytes, arrival)
        if random.chance(conditions.duplicatePercent) { insert(bytes, arrival + .microseconds(300)) }
    }

    /// Two states: in the bad one everything is lost, and it is left after `burstLength` packets on average.
    private mutating func isLost() -> Bool {
        guard conditions.burstLength > 1, conditions.lossPercent > 0 else {
            return random.chance(conditions.lossPercent)
        }
        let leave = 100 / conditions.burstLength
        let share = min(conditions.lossPercent / 100, 0.9)
        isBad = isBad ? !random.chance(leave) : random.chance(leave * share / (1 - share))
        return isBad
    }

    private mutating func insert(_ bytes: UnsafeRawBufferPointer, _ arrival: MediaInstant) {
        order += 1
        let flight = Flight(arrival: arrival, order: order, bytes: Array(bytes))
        var place = flights.count
        while place > 0, flights[place - 1].arrival > arrival { place -= 1 }
        flights.insert(flight, at: place)
    }

    var nextArrival: MediaInstant { flights.first?.arrival ?? .distantFuture }

    mutating func receive(now: MediaInstant) -> [UInt8]? {
        guard let first = flights.first, first.arrival <= now else { return nil }
        flights.removeFirst()
        return first.bytes
    }
}
