/// A part of a running broadcast that its host's user holds back. Several can hold at a time; each ends by itself.
public enum BroadcastHold: String, Codable, Sendable, CaseIterable {
    /// Nothing is captured or sent; the viewers keep the last frame.
    case pause
    /// The screen is not captured; the viewers keep the last frame, and audio goes on.
    case freeze
    /// Nothing is captured; the viewers get a frame of one colour.
    case blank

    /// "The broadcast is paused."
    public var participle: String {
        switch self {
        case .pause: "paused"
        case .freeze: "frozen"
        case .blank: "blanked"
        }
    }

    /// The verb that ends it.
    public var ending: String {
        switch self {
        case .pause: "resume"
        case .freeze: "unfreeze"
        case .blank: "unblank"
        }
    }

    /// "The broadcast was resumed."
    public var endingParticiple: String {
        switch self {
        case .pause: "resumed"
        case .freeze: "unfrozen"
        case .blank: "unblanked"
        }
    }

    /// Whether audio is held back, too.
    public var includesAudio: Bool { self != .freeze }
}

extension Set<BroadcastHold> {
    /// The one that decides what viewers get; nil: none holds.
    public var effective: BroadcastHold? { [.blank, .pause, .freeze].first { contains($0) } }
}
