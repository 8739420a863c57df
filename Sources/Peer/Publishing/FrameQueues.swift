import LinuxRuntime
import MediaCore
import MediaEngine

struct FrameInfo: Sendable {
    var isKeyframe: Bool
    var encoding: EncodingID
    var layer: UInt8
    var captured: MediaInstant
    /// When the first of the changes that the frame shows was reported; nil if it shows no new change.
    var changedSince: MediaInstant?
    var references = FrameReferences()
}

/// One queue for each encoding, so that frames of one encoding never displace those of the other.
package struct FrameQueues: Sendable {
    package init() {}

    let main = FrameQueue<FrameInfo>(capacity: 3, bytes: 65_536)
    let low = FrameQueue<FrameInfo>(capacity: 3, bytes: 65_536)

    subscript(encoding: EncodingID) -> FrameQueue<FrameInfo> { encoding == .main ? main : low }
}
