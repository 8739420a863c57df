/// Which temporal layers a receiver that was sent fewer can take up at a frame, because neither it nor what follows
/// refers to a frame that was left out.
public enum LayerSwitch: Hashable, Sendable {
    case none
    /// The frame's own layer: it refers to the base layer alone (VP8's Y bit, RFC 7741 section 4.2).
    case own
    /// The layers above the frame's own (VP9's U bit, RFC 9628 section 4.2).
    case higher
}
