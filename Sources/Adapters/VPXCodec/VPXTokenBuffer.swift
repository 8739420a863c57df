internal import Glibc
internal import MediaCore

/// Returns most of libvpx's token buffer to the system with `madvise(MADV_DONTNEED)`.
///
/// libvpx reserves 384 tokens of 16 bytes for each macroblock, 50 MB at 1920 x 1080, and zeroes them when an encoder
/// opens, so all pages are resident. Frames use about a tenth of them.
/// Released pages of zeros read as zeros when they are touched again, so no version of libvpx notices. libvpx does not
/// expose the buffer's address: it is found among the mappings of this process by the size in glibc's chunk header. If
/// it is not found, nothing is released.
enum VPXTokenBuffer {
    private static let tokensPerMacroblock = 384
    private static let tokenSize = 16

    /// - Isolation: the thread that has just opened an encoder for frames of `size`, before its first use.
    /// - Returns: the number of bytes released.
    @discardableResult
    static func release(for size: PixelSize) -> Int {
        let page = Int(getpagesize())
        let tokens = ((size.width + 15) / 16) * ((size.height + 15) / 16) * tokensPerMacroblock * tokenSize
        // A buffer below 32 MB may share a mapping (glibc: DEFAULT_MMAP_THRESHOLD_MAX).
        guard tokens >= 1 << 25, let chunk = chunk(holding: tokens, page: page) else { return 0 }
        // The first page holds glibc's chunk header.
        let first = chunk.lowerBound + page
        let whole = (chunk.upperBound - first) / page * page
        guard let start = UnsafeMutableRawPointer(bitPattern: first),
            stride(from: 0, to: whole, by: page).allSatisfy({ start.load(fromByteOffset: $0, as: UInt.self) == 0 }),
            madvise(start, whole, MADV_DONTNEED) == 0
        else { return 0 }
        return whole
    }

    /// Returns the malloc mapping that holds `bytes` and at most two pages more; nil if there is none or more than one.
    private static func chunk(holding bytes: Int, page: Int) -> Range<Int>? {
        // /proc/self/mem is read because another thread may unmap the memory meanwhile, which must not crash.
        let memory = open("/proc/self/mem", O_RDONLY)
        guard memory >= 0 else { return nil }
        defer { close(memory) }
        var found: Range<Int>?
        for mapping in mappings() where mapping.count > bytes {
            for start in stride(from: mapping.lowerBound, through: mapping.upperBound - bytes, by: page) {
                // malloc's chunk header: the previous size (0 for a mapping), and the size with IS_MMAPPED (2).
                var header = (0, 0)
                guard pread(memory, &header, MemoryLayout.size(ofValue: header), start) == 16 else { break }
                let count = header.1 & ~7
                guard header.0 == 0, header.1 & 7 == 2, count % page == 0, count > bytes, count <= bytes + 2 * page
                else { continue }
                guard found == nil else { return nil }
                found = start..<start + count
            }
        }
        return found
    }

    /// Returns the private, anonymous, writable mappings.
    private static func mappings() -> [Range<Int>] {
        guard let file = fopen("/proc/self/maps", "r") else { return [] }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var room = 0
        defer { free(line) }
        var mappings: [Range<Int>] = []
        while getline(&line, &room, file) > 0, let line {
            // A line reads: 7f0000000000-7f0003000000 rw-p 00000000 00:00 0
            let words = String(cString: line).utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
            guard words.count == 5, words[1].elementsEqual("rw-p".utf8), words[4].elementsEqual("0".utf8) else {
                continue
            }
            let ends = words[0].split(separator: UInt8(ascii: "-")).compactMap { Int(Substring($0), radix: 16) }
            if ends.count == 2, ends[0] < ends[1] { mappings.append(ends[0]..<ends[1]) }
        }
        return mappings
    }
}
