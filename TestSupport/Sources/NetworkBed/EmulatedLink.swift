import Foundation

/// The properties of a link in one direction.
public struct LinkConditions: Sendable, Equatable {
    /// The rate of IP packets; 0 for no limit.
    public var kilobits: Double
    /// The queue of a limited rate; when it is full, the newest packet is dropped.
    public var queueMilliseconds: Double
    public var delayMilliseconds: Double
    /// The largest addition to the delay, uniformly distributed.
    public var jitterMilliseconds: Double
    /// Whether jitter lets packets overtake each other.
    public var reorders: Bool
    /// The mean loss.
    public var lossPercent: Double
    /// The mean number of packets lost in a row; 1 for independent losses.
    public var burstPackets: Double
    public var isDown: Bool

    /// - Parameter delayMilliseconds: one way.
    public init(
        kilobits: Double = 0, queueMilliseconds: Double = 200, delayMilliseconds: Double = 0,
        jitterMilliseconds: Double = 0, reorders: Bool = false, lossPercent: Double = 0, burstPackets: Double = 1,
        isDown: Bool = false
    ) {
        self.kilobits = kilobits
        self.queueMilliseconds = queueMilliseconds
        self.delayMilliseconds = delayMilliseconds
        self.jitterMilliseconds = jitterMilliseconds
        self.reorders = reorders
        self.lossPercent = lossPercent
        self.burstPackets = burstPackets
        self.isDown = isDown
    }

    fileprivate var words: String {
        "rate=\(kilobits) queue=\(queueMilliseconds) delay=\(delayMilliseconds) jitter=\(jitterMilliseconds) "
            + "reorder=\(reorders ? 1 : 0) loss=\(lossPercent) burst=\(burstPackets) down=\(isDown ? 1 : 0)"
    }
}

/// A link of a `NetworkBed`, which it keeps alive. Its conditions stay until they are changed.
public struct EmulatedLink: Sendable {
    /// From the first node to the second, back, or both.
    public enum Direction: String, Sendable { case forward = "ab", backward = "ba", both }

    /// The counters of a link since the start.
    public struct Figures: Sendable, Equatable {
        public var packetsIn = 0
        public var bytesIn = 0
        public var packetsOut = 0
        public var bytesOut = 0
        /// Packets lost by chance, or because the link was down.
        public var lost = 0
        /// Packets dropped by the full queue.
        public var overflowed = 0
        /// The longest queueing time of a packet since these figures were last read.
        public var longestQueueMilliseconds = 0.0
    }

    let number: String
    let bed: NetworkBed

    /// - Parameter milliseconds: the time from now until the change; nil for at once.
    public func set(
        _ conditions: LinkConditions, _ direction: Direction = .both, afterMilliseconds milliseconds: Double? = nil
    ) throws {
        let change = "\(number) \(direction.rawValue) \(conditions.words)"
        _ = try bed.command(milliseconds.map { "at \($0) \(change)" } ?? "set \(change)")
    }

    /// Returns the figures of one direction; not for `both`.
    public func figures(_ direction: Direction) throws -> Figures {
        var values: [Substring: Double] = [:]
        for word in try bed.command("figures \(number) \(direction.rawValue)").split(separator: " ") {
            let parts = word.split(separator: "=")
            if parts.count == 2, let value = Double(parts[1]) { values[parts[0]] = value }
        }
        func count(_ key: Substring) -> Int { Int(values[key] ?? 0) }
        return Figures(
            packetsIn: count("inPackets"), bytesIn: count("inBytes"), packetsOut: count("outPackets"),
            bytesOut: count("outBytes"), lost: count("lost"), overflowed: count("overflowed"),
            longestQueueMilliseconds: values["longestQueue"] ?? 0)
    }
}
