internal import CLinux
internal import Glibc

/// Memory that another program fills with frames and lends by its descriptor. It is mapped if it cannot shrink, and
/// read with `pread` otherwise: whoever has its descriptor may shorten it at any time, and reading a mapping behind the
/// end is a SIGBUS.
///
/// - Isolation: one thread at a time.
package final class LentMemory {
    package enum Kind: Sendable {
        /// A file of memory (memfd), or the memory of a device that has the descriptor.
        case file
        /// A DMA-BUF, which cannot shrink.
        case dmaBuf
    }

    /// What its owner says it has. Valid where `load` has succeeded.
    package let bytes: UnsafeMutableRawBufferPointer
    package let kind: Kind
    private let descriptor: Int32
    /// Where `bytes` begin in the file.
    private let start: Int
    /// Where the mapping begins, a page border; nil if `bytes` are memory of our own.
    private let mapping: UnsafeMutableRawPointer?

    /// - Parameters:
    ///   - descriptor: stays its owner's, and open while the value lives.
    ///   - offset: where the memory begins in the file.
    ///   - byteCount: 0: all of the file.
    /// - Returns: nil if the memory is smaller than that, empty, or cannot be mapped.
    package init?(_ kind: Kind, descriptor: Int32, offset: Int, byteCount: Int) {
        guard descriptor >= 0, offset >= 0 else { return nil }
        self.kind = kind
        self.descriptor = descriptor
        start = offset
        let isDevice = FileStatus(descriptor: descriptor)?.isCharacterDevice == true
        let size: Int
        if isDevice {
            // The kernel checks what is mapped of a device.
            size = byteCount
        } else {
            let left = lseek(descriptor, 0, SEEK_END) - offset
            size = byteCount == 0 ? left : byteCount
            guard size <= left else { return nil }
        }
        guard size > 0 else { return nil }
        guard kind == .dmaBuf || isDevice || Self.isSealed(descriptor) else {
            mapping = nil
            bytes = .allocate(byteCount: size, alignment: 64)
            return
        }
        let lead = offset % Int(getpagesize())
        guard let mapping = mmap(nil, size + lead, PROT_READ, MAP_SHARED, descriptor, offset - lead),
            mapping != MAP_FAILED
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
    package func load(_ part: Range<Int>) -> Bool {
        if kind == .dmaBuf { clinux_sync_dma_buf(descriptor, 1) }
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
    package func unload() { if kind == .dmaBuf { clinux_sync_dma_buf(descriptor, 0) } }

    /// Whether a memfd cannot become smaller.
    private static func isSealed(_ descriptor: Int32) -> Bool {
        let seals = clinux_seals(descriptor)
        return seals >= 0 && seals & CLINUX_SEAL_SHRINK != 0
    }
}
