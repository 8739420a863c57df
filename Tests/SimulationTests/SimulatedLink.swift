import Glibc
import MediaCore
import TestSupport

/// One direction of a simulated path, in virtual time: a drop-tail queue of limited rate, then delay, jitter, loss,
/// reordering and duplication.
struct SimulatedLink {
    /// The properties of the path.
    struct Conditions {
        var delay = MediaDuration.milliseconds(25)
        /// Largest random extra delay; packets keep their order.
        var jitter = MediaDuration.zero
        /// nil: unlimited.
        var rate: Bitrate?
        /// Packets that would wait for longer are dropped.
        var queue = MediaDuration.milliseconds(300)
        var lossPercent = 0.0
        /// Mean duration of the bad state, in which all packets are lost (Gilbert-Elliott in continuous time); 0:
        /// independent losses.
        var burst = MediaDuration.zero
        /// Mean number of packets lost in a row, however far apart they are (Gilbert's model); 1: independent losses.
        var run = 1.0
        /// Share of the packets that are delayed by `reorderDelay`, so that later ones overtake them.
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
    /// A bottleneck shared with other flows; `conditions` then have no rate.
    var bottleneck: (place: SimulatedBottleneck, flow: Int)?
    private var changes: [(at: MediaInstant, conditions: Conditions)]
    private var random: SeededGenerator
    private var flights: [Flight] = []
    private var order = 0
    private var isBad = false
    private var stateEnds: MediaInstant?
    /// Called with each packet that the path loses.
    var onLoss: ((UnsafeRawBufferPointer, MediaInstant) -> Void)?
    private var freeAt = MediaInstant(nanoseconds: 0)
    private var lastArrival = MediaInstant(nanoseconds: 0)
    private(set) var carried = 0
    private(set) var carriedBytes = 0
    private(set) var longestQueue = MediaDuration.zero
    /// How long each packet waited in the queue, and when it entered.
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
        guard !conditions.isDown, !isLost(now) else {
            onLoss?(bytes, now)
            return
        }
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

    private mutating func isLost(_ now: MediaInstant) -> Bool {
        if conditions.run > 1 { return isInRun() }
        guard conditions.burst > .zero, conditions.lossPercent > 0 else { return random.chance(conditions.lossPercent) }
        let share = min(conditions.lossPercent / 100, 0.9)
        // Starts in the good state, so that the call can begin.
        var ends = stateEnds ?? now + stay(isBad: false, share)
        while ends <= now {
            isBad.toggle()
            ends = ends + stay(isBad: isBad, share)
        }
        stateEnds = ends
        return isBad
    }

    private mutating func isInRun() -> Bool {
        let share = min(conditions.lossPercent / 100, 0.9)
        let leave = 1 / conditions.run
        let enter = leave * share / (1 - share)
        let chance = Double.random(in: 0..<1, using: &random)
        isBad = isBad ? chance >= leave : chance < enter
        return isBad
    }

    /// How long a state lasts; exponentially distributed.
    private mutating func stay(isBad: Bool, _ share: Double) -> MediaDuration {
        let mean = Double(conditions.burst.nanoseconds) * (isBad ? 1 : (1 - share) / share)
        return MediaDuration(nanoseconds: Int64(-log(Double.random(in: 1e-9..<1, using: &random)) * mean) + 1)
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
