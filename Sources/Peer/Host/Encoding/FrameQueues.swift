package import LinuxRuntime
package import MediaEngine

/// One queue for each encoding, so that frames of one encoding never displace those of the other.
package struct FrameQueues: Sendable {
    package init() {}

    // Three changes, each a copy frame and its rest.
    let main = FrameQueue<FrameInfo>(capacity: 6, bytes: 65_536)
    let low = FrameQueue<FrameInfo>(capacity: 6, bytes: 65_536)

    package subscript(encoding: EncodingID) -> FrameQueue<FrameInfo> { encoding == .main ? main : low }
}
