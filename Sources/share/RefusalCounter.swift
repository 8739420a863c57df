/// Says the first refusals in full and counts those that follow within a minute of each other, so that knocks cannot scroll the
/// terminal.
struct RefusalCounter {
    enum Telling: Equatable, Sendable {
        case nothing
        /// In a line that stays.
        case line(String)
        /// In a line that the next one replaces; where nothing can be replaced it is said at some counts only.
        case count(String, isRound: Bool)

        func say() {
            switch self {
            case .nothing: break
            case .line(let text):
                Words.showNotice("")
                Words.say("share: " + text)
            case .count(let text, _) where Words.hasNotices: Words.showNotice("share: " + text)
            case .count(let text, let isRound): if isRound { Words.say("share: " + text) }
            }
        }
    }

    /// Refusals that are said in full.
    static let inFull = 3
    /// Without a refusal for this long, the next one is said in full again.
    static let quietTime = Duration.seconds(60)

    private var said = 0
    private var counted = 0
    private var last: ContinuousClock.Instant?

    /// - Parameter sentence: who was refused and why.
    mutating func add(_ sentence: String, at now: ContinuousClock.Instant) -> Telling {
        if let last, now - last >= Self.quietTime { (said, counted) = (0, 0) }
        last = now
        if said < Self.inFull {
            said += 1
            return .line(sentence)
        }
        counted += 1
        return .count("\(counted) more; the last: \(sentence)", isRound: counted & (counted - 1) == 0)
    }

    /// The count as a line that stays, when no refusal has come for a while.
    mutating func settle(at now: ContinuousClock.Instant, isEnd: Bool = false) -> Telling {
        guard let last, isEnd || now - last >= Self.quietTime else { return .nothing }
        defer { self = RefusalCounter() }
        return counted > 0 ? .line("\(counted) more \(counted == 1 ? "was" : "were") not let in") : .nothing
    }
}
