import LinuxRuntime
import MediaCore
import MediaEngine

struct FrameInfo: Sendable {
    var isKeyframe: Bool
    var encoding: EncodingID
    var layer: UInt8
    var captured: MediaInstant
    /// When the first of the changes that it shows was reported; nil if it shows nothing new.
    var changedSince: MediaInstant?
    var references = FrameReferences()
}

/// A queue for each encoding, so that frames of one never take the place of the other's.
package struct FrameQueues: Sendable {
    package init() {}

    let main = FrameQueue<FrameInfo>(capacity: 3, bytes: 65_536)
    let low = FrameQueue<FrameInfo>(capacity: 3, bytes: 65_536)

    subscript(encoding: EncodingID) -> FrameQueue<FrameInfo> { encoding == .main ? main : low }
}
