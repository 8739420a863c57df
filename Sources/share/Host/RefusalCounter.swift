import CommandSupport

/// Limits the messages about refused knocks: the first three are printed, and those that follow each other within 60 s
/// are counted. So knocks cannot scroll the terminal.
struct RefusalCounter {
    enum Report: Equatable, Sendable {
        case nothing
        /// A line that stays.
        case line(String)
        /// A line that the next one replaces. Where lines cannot be replaced, only counts with `isRound` (powers of
        /// two) are printed.
        case count(String, isRound: Bool)

        func report() {
            switch self {
            case .nothing: break
            case .line(let text):
                ErrorOutput.showNotice("")
                ErrorOutput.writeLine("share: " + text)
            case .count(let text, _) where ErrorOutput.hasNotices: ErrorOutput.showNotice("share: " + text)
            case .count(let text, let isRound): if isRound { ErrorOutput.writeLine("share: " + text) }
            }
        }
    }

    /// The number of refusals that are printed in full.
    static let inFull = 3
    /// After this time without a refusal, the next ones are printed in full again.
    static let quietTime = Duration.seconds(60)

    private var said = 0
    private var counted = 0
    private var last: ContinuousClock.Instant?

    /// Counts a refusal.
    /// - Parameter sentence: who was refused and why.
    mutating func add(_ sentence: String, at now: ContinuousClock.Instant) -> Report {
        if let last, now - last >= Self.quietTime { (said, counted) = (0, 0) }
        last = now
        if said < Self.inFull {
            said += 1
            return .line(sentence)
        }
        counted += 1
        return .count("\(counted) more; the last: \(sentence)", isRound: counted & (counted - 1) == 0)
    }

    /// Returns the count as a line that stays, once no refusal has come for `quietTime`, or at the end.
    mutating func settle(at now: ContinuousClock.Instant, isEnd: Bool = false) -> Report {
        guard let last, isEnd || now - last >= Self.quietTime else { return .nothing }
        defer { self = RefusalCounter() }
        return counted > 0 ? .line("\(counted) more \(counted == 1 ? "was" : "were") not let in") : .nothing
    }
}
