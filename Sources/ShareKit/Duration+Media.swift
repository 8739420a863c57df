internal import MediaCore

extension Duration {
    init(_ duration: MediaDuration) { self = .nanoseconds(duration.nanoseconds) }
}

extension MediaDuration {
    /// Limited to a hundred years, each way.
    init(_ duration: Duration) {
        let limit: Int64 = 3_153_600_000
        let (seconds, attoseconds) = duration.components
        let whole = min(max(seconds, -limit), limit)
        self.init(nanoseconds: whole * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
