internal import CPipeWire
internal import Glibc

/// The memory of a buffer. It is mapped if it cannot shrink, and read with `pread` otherwise: whoever has its descriptor may
/// shorten it at any time, and reading a mapping behind the end is a SIGBUS.
final class FrameMemory {
    /// What the buffer says it has. Valid where `load` has succeeded.
    let bytes: UnsafeMutableRawBufferPointer
    let isDMABuf: Bool
    /// The format that the buffer was made for.
    let format: StreamFormat
    private let descriptor: Int32
    /// Where `bytes` begin in the file.
    private let start: Int
    /// Where the mapping begins, a page border; nil if `bytes` are memory of our own.
    private let mapping: UnsafeMutableRawPointer?

    /// - Returns: nil if the memory is of a kind that is not asked for, is smaller than it says, or cannot be mapped.
    init?(_ data: spa_data, _ format: StreamFormat) {
        self.format = format
        isDMABuf = data.type == SPA_DATA_DmaBuf.rawValue
        guard isDMABuf || data.type == SPA_DATA_MemFd.rawValue, let file = Int32(exactly: data.fd), file >= 0 else {
            return nil
        }
        descriptor = file
        start = Int(data.mapoffset)
        let left = lseek(file, 0, SEEK_END) - start
        // Some senders of DMA-BUFs leave the size to the kernel.
        let size = isDMABuf && data.maxsize == 0 ? left : Int(data.maxsize)
        guard size > 0, size <= left else { return nil }
        guard isDMABuf || cpw_is_sealed(file) else {
            mapping = nil
            bytes = .allocate(byteCount: size, alignment: 64)
            return
        }
        let lead = start % Int(getpagesize())
        guard let mapping = mmap(nil, size + lead, PROT_READ, MAP_SHARED, file, start - lead), mapping != MAP_FAILED
        else { return nil }
        self.mapping = mapping
        bytes = UnsafeMutableRawBufferPointer(start: mapping + lead, count: size)
    }

    deinit {
        if let mapping {
            munmap(mapping, bytes.count + start % Int(getpagesize()))
        } else {
            bytes.deallocate()
        }
    }

    /// Makes a part of `bytes` as it is now. DMA_BUF_IOCTL_SYNC makes what a device has drawn visible to the processor.
    /// - Returns: false if the memory has become too small.
    func load(_ part: Range<Int>) -> Bool {
        if isDMABuf { cpw_sync(descriptor, true) }
        guard mapping == nil else { return true }
        var done = part.lowerBound
        while done < part.upperBound {
            let count = pread(descriptor, bytes.baseAddress.map { $0 + done }, part.upperBound - done, start + done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    /// Ends what `load` has begun.
    func unload() { if isDMABuf { cpw_sync(descriptor, false) } }
}
