import Publishing

extension BroadcastEvent {
    /// How many watch from now on; nil if the event does not change that.
    var viewers: Int? {
        switch self {
        case .viewerJoined(_, let viewers), .viewerLeft(_, _, let viewers): viewers
        default: nil
        }
    }
}
