public import MediaCore

/// Decides when a viewer opens the host's event stream again after it broke.
public struct EventStreamBackoff: Sendable {
    private var failures = 0
    private var refusals = 0

    public init() {}

    /// The time limit for an answer; nil for the first attempt, which has no limit of its own.
    public var timeout: MediaDuration? { failures == 0 ? nil : .seconds(2) }

    public mutating func noteOpen() {
        failures = 0
        refusals = 0
    }

    /// - Parameter isRefusal: no process listens at the host's address, or the broadcast is gone.
    /// - Returns: whether the number of refusals in a row shows that the host's program has ended, if no media arrives
    ///   either.
    public mutating func noteFailure(isRefusal: Bool) -> Bool {
        failures += 1
        refusals = isRefusal ? refusals + 1 : 0
        return refusals >= ReconnectionPolicy.refusalLimit
    }

    /// The pause before the next attempt: 400 ms while a host may be ending, else 200 ms, doubling up to 2 s.
    public var pause: MediaDuration {
        if refusals > 0, refusals <= ReconnectionPolicy.refusalLimit { return ReconnectionPolicy.retryInterval }
        return .milliseconds(min(200 << min(failures, 4), 2_000))
    }
}
