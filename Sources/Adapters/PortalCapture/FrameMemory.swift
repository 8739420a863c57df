internal import CPipeWire
internal import LinuxRuntime

/// The memory of a buffer, which the compositor lends.
final class FrameMemory {
    /// The format that the buffer was made for.
    let format: StreamFormat
    private let memory: LentMemory

    /// The bytes that the buffer says it has. Valid where `load` has succeeded.
    var bytes: UnsafeMutableRawBufferPointer { memory.bytes }
    var isDMABuf: Bool { memory.kind == .dmaBuf }

    /// - Returns: nil if the memory is of a kind that is not asked for, is smaller than it says, or cannot be mapped.
    init?(_ data: spa_data, _ format: StreamFormat) {
        let isDMABuf = data.type == SPA_DATA_DmaBuf.rawValue
        guard isDMABuf || data.type == SPA_DATA_MemFd.rawValue, let file = Int32(exactly: data.fd),
            // Some senders of DMA-BUFs leave the size to the kernel.
            isDMABuf || data.maxsize > 0,
            let memory = LentMemory(
                isDMABuf ? .dmaBuf : .file, descriptor: file, offset: Int(data.mapoffset), byteCount: Int(data.maxsize))
        else { return nil }
        self.format = format
        self.memory = memory
    }

    /// Makes a part of `bytes` as it is now.
    /// - Returns: false if the memory has become too small.
    func load(_ part: Range<Int>) -> Bool { memory.load(part) }

    /// Ends what `load` has begun.
    func unload() { memory.unload() }
}
