import MediaCore

/// The texts that the window shows over the frame.
struct WindowOverlay: Equatable {
    /// The text in the centre.
    var status: String?
    /// Whether all keys are shown, in the centre, in the place of the status.
    var hasHelp = false
    /// The text at the top left.
    var statistics: String?
    /// The comments, at the bottom left.
    var comments: String?
    /// Whether audio is muted, which is shown at the top right where there is audio.
    var isMute = false
    var hasAudio = true
    /// The bar's buttons, at the lower edge; none: there is no bar.
    var bar: [BarButton] = []
    /// The comment that is being written, above the bar.
    var line: String?
    /// A sentence above that.
    var notice: String?
    /// What the host lets the user do, which the help tells.
    var rights = ViewerRights.none
    /// Where the window says that the host has the keyboard; nil: it has not.
    var controlHint: Edge?

    enum Edge: Equatable {
        case top, bottom
    }
}
