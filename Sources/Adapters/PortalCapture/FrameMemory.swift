internal import CPipeWire
internal import Glibc

/// The memory of a buffer, mapped for reading until it is released.
final class FrameMemory {
    /// What the buffer says it has, in bytes.
    let bytes: UnsafeRawBufferPointer
    let isDMABuf: Bool
    let descriptor: Int32
    private let mapping: UnsafeMutableRawPointer
    private let length: Int
    /// Where `bytes` end in the file.
    private let end: Int
    private let isSealed: Bool

    /// - Returns: nil if the memory is of a kind that is not asked for, is smaller than it says, or cannot be mapped.
    init?(_ data: spa_data) {
        isDMABuf = data.type == SPA_DATA_DmaBuf.rawValue
        guard isDMABuf || data.type == SPA_DATA_MemFd.rawValue, let file = Int32(exactly: data.fd), file >= 0 else {
            return nil
        }
        descriptor = file
        let fileSize = Self.size(of: file)
        let start = Int(data.mapoffset)
        // Some senders of DMA-BUFs leave the size to the kernel.
        let size = isDMABuf && data.maxsize == 0 ? max(fileSize - start, 0) : Int(data.maxsize)
        end = start + size
        guard size > 0, end <= fileSize else { return nil }
        let lead = start % Int(getpagesize())
        length = size + lead
        guard let mapping = mmap(nil, length, PROT_READ, MAP_SHARED, file, start - lead), mapping != MAP_FAILED else {
            return nil
        }
        self.mapping = mapping
        bytes = UnsafeRawBufferPointer(start: mapping + lead, count: size)
        isSealed = isDMABuf || cpw_is_sealed(file)
    }

    deinit { munmap(mapping, length) }

    /// Whether the file still has the bytes. A sender that shrinks its memory later, while it is read, is not survived; memory
    /// with a seal cannot shrink.
    var isIntact: Bool { isSealed || Self.size(of: descriptor) >= end }

    private static func size(of file: Int32) -> Int { lseek(file, 0, SEEK_END) }
}

extension FrameMemory {
    /// Makes what a device has drawn visible to the processor (DMA_BUF_IOCTL_SYNC).
    func willRead() { if isDMABuf { cpw_sync(descriptor, true) } }

    func didRead() { if isDMABuf { cpw_sync(descriptor, false) } }
}

enum PixelOrder {
    /// Copies pixels with the first and the third byte exchanged.
    static func exchange(_ source: UnsafeRawPointer, to target: UnsafeMutablePointer<UInt32>, count: Int) {
        cpw_swap(target, source.assumingMemoryBound(to: UInt32.self), count)
    }
}
