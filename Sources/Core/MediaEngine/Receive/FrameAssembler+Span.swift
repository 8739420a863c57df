import MediaCore
import RTPWire

extension FrameAssembler {
    /// The sequence numbers of a complete frame, first to last, inclusive.
    struct Span: Equatable {
        var first: Int64
        var last: Int64
        var isKeyframe: Bool
        /// It does not need the frame before it.
        var isEntryPoint: Bool
    }
}
