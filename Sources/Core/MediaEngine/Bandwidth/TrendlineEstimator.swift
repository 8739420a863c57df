import MediaCore

/// Detects overuse from the trend of the one-way delay variation between packet groups (draft-ietf-rmcat-gcc-02
/// sections 5.2 to 5.4). Differs from the draft as libwebrtc's `trendline_estimator.cc` does: a line is fitted through
/// the last 20 groups in place of the Kalman filter.
struct TrendlineEstimator {
    /// The state of the overuse detector (draft-ietf-rmcat-gcc-02 section 5.4).
    enum Signal { case normal, overuse, underuse }

    private static let groupLength = MediaDuration.milliseconds(5)
    private static let window = 20
    private static let smoothing = 0.9
    private static let gain = 4.0
    /// In milliseconds.
    private static let overuseTime = 10.0

    /// Packets that were sent within `groupLength`, or arrived as a burst.
    private struct Group {
        var firstSent: MediaInstant
        var lastSent: MediaInstant
        var firstArrival: MediaInstant
        var lastArrival: MediaInstant
    }

    private(set) var signal = Signal.normal
    private var current: Group?
    private var previous: Group?
    private var points = BoundedQueue<(time: Double, delay: Double)>(capacity: window, filler: (0, 0))
    private var groups = 0
    private var accumulated = 0.0
    private var smoothed = 0.0
    private var start = MediaInstant(nanoseconds: 0)
    private var threshold = 12.5
    private var lastTrend = 0.0
    private var lastUpdate: MediaInstant?
    private var timeOver: Double?

    /// Takes in one packet, in the order of sending.
    /// - Parameter arrival: on the receiver's clock; any epoch.
    mutating func note(sent: MediaInstant, arrival: MediaInstant) {
        guard var group = current else {
            current = Group(firstSent: sent, lastSent: sent, firstArrival: arrival, lastArrival: arrival)
            start = arrival
            return
        }
        guard sent >= group.firstSent else { return }
        if belongs(sent, arrival, to: group) {
            group.lastSent = max(group.lastSent, sent)
            group.lastArrival = max(group.lastArrival, arrival)
            current = group
            return
        }
        if let previous { close(group, after: previous) }
        // After 1 s without packets the filter restarts, as old groups say nothing about the queue now.
        if sent - group.lastSent > .seconds(1) { reset() }
        previous = group
        current = Group(firstSent: sent, lastSent: sent, firstArrival: arrival, lastArrival: arrival)
    }

    private func belongs(_ sent: MediaInstant, _ arrival: MediaInstant, to group: Group) -> Bool {
        if sent - group.firstSent <= Self.groupLength { return true }
        // A burst: packets that a link held back and released together belong to one group.
        let spread = (arrival - group.lastArrival) - (sent - group.lastSent)
        return spread < .zero && arrival - group.lastArrival <= .milliseconds(5)
            && arrival - group.firstArrival < .milliseconds(100)
    }

    private mutating func close(_ group: Group, after previous: Group) {
        let sending = (group.lastSent - previous.lastSent).inMilliseconds
        let arriving = (group.lastArrival - previous.lastArrival).inMilliseconds
        guard arriving >= 0 else { return }
        groups = min(groups + 1, 60)
        accumulated += arriving - sending
        smoothed = Self.smoothing * smoothed + (1 - Self.smoothing) * accumulated
        if points.isFull { points.popFirst() }
        points.append(((group.lastArrival - start).inMilliseconds, smoothed))
        let trend = points.isFull ? slope ?? lastTrend : lastTrend
        detect(trend, sending, group.lastArrival)
    }

    private var slope: Double? {
        var timeSum = 0.0
        var delaySum = 0.0
        for i in 0..<points.count {
            timeSum += points[i].time
            delaySum += points[i].delay
        }
        let meanTime = timeSum / Double(points.count)
        let meanDelay = delaySum / Double(points.count)
        var numerator = 0.0
        var denominator = 0.0
        for i in 0..<points.count {
            let time = points[i].time - meanTime
            numerator += time * (points[i].delay - meanDelay)
            denominator += time * time
        }
        return denominator == 0 ? nil : numerator / denominator
    }

    private mutating func detect(_ trend: Double, _ sending: Double, _ now: MediaInstant) {
        let modified = Double(groups) * trend * Self.gain
        if modified > threshold {
            let time = (timeOver ?? -sending / 2) + sending
            timeOver = time
            if time > Self.overuseTime, trend >= lastTrend {
                timeOver = 0
                signal = .overuse
            }
        } else {
            timeOver = nil
            signal = modified < -threshold ? .underuse : .normal
        }
        lastTrend = trend
        adapt(abs(modified), now)
    }

    /// Adapts the overuse threshold (draft-ietf-rmcat-gcc-02 section 5.4) with the gains of libwebrtc.
    private mutating func adapt(_ magnitude: Double, _ now: MediaInstant) {
        defer { lastUpdate = now }
        guard magnitude <= threshold + 15, let lastUpdate else { return }
        let gain = magnitude < threshold ? 0.039 : 0.0087
        let elapsed = min(max((now - lastUpdate).inMilliseconds, 0), 100)
        threshold = min(max(threshold + gain * (magnitude - threshold) * elapsed, 6), 600)
    }

    private mutating func reset() {
        points.removeAll()
        groups = 0
        accumulated = 0
        smoothed = 0
        lastTrend = 0
        timeOver = nil
        signal = .normal
    }
}
