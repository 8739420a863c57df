extension BroadcastEvent {
    /// How many watch from now on; nil if the event does not change that.
    package var viewers: Int? {
        switch self {
        case .viewerJoined(_, let viewers), .viewerLeft(_, _, let viewers): viewers
        default: nil
        }
    }

    /// The event with those counted who watch at a relay.
    func adding(_ elsewhere: RelayViewerCount) -> BroadcastEvent {
        switch self {
        case .viewerJoined(let viewer, let viewers): .viewerJoined(viewer, viewers: elsewhere.total(viewers))
        case .viewerLeft(let viewer, let reason, let viewers):
            .viewerLeft(viewer, reason: reason, viewers: elsewhere.total(viewers))
        default: self
        }
    }
}
