/// Why a sender cannot send more; compare `qualityLimitationReason` of W3C's webrtc-stats.
public enum QualityLimitationReason: Equatable, Sendable {
    case nothing, bandwidth, loss

    /// For the user interface; nil if nothing limits.
    public var words: String? {
        switch self {
        case .nothing: nil
        case .bandwidth: "bandwidth"
        case .loss: "packet loss"
        }
    }
}
