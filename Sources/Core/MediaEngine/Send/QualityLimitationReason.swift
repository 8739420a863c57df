/// Why a sender cannot send more.
public enum QualityLimitationReason: Equatable, Sendable {
    case nothing, bandwidth, loss

    /// For a person; nil if nothing limits.
    public var words: String? {
        switch self {
        case .nothing: nil
        case .bandwidth: "bandwidth"
        case .loss: "packet loss"
        }
    }
}
