import MediaCore
import RTPWire

/// Where the packets of one frame lie.
final class FrameSegments {
    let memory: UnsafeMutableBufferPointer<UnsafeRawBufferPointer>

    init(capacity: Int) {
        memory = .allocate(capacity: capacity)
        memory.initialize(repeating: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    deinit { memory.deallocate() }
}
