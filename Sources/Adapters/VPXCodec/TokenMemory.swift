internal import Glibc
internal import MediaCore

/// Gives back what libvpx keeps for the tokens of the worst frame there could be: 384 of 16 bytes for each macroblock, 50 MB
/// at 1920 x 1080, all resident because libvpx zeroes them when an encoder opens. Frames need a tenth of it.
///
/// A page of zeros that was given back reads as zeros when it is next touched, so nothing changes for libvpx, on any
/// version of it. But it does not tell where the buffer is: it is looked for among this process's mappings by the size that
/// glibc notes in front of it. If it is not found, nothing happens.
enum TokenMemory {
    private static let tokensPerMacroblock = 384
    private static let tokenSize = 16

    /// Call it on the thread that has just opened an encoder for pictures of `size` and has not used it yet.
    /// - Returns: bytes given back.
    @discardableResult
    static func release(for size: PixelSize) -> Int {
        let page = Int(getpagesize())
        let tokens = ((size.width + 15) / 16) * ((size.height + 15) / 16) * tokensPerMacroblock * tokenSize
        // Below 32 MB a buffer need not be a mapping of its own.
        guard tokens >= 1 << 25, let chunk = chunk(holding: tokens, page: page) else { return 0 }
        // The first page has glibc's header.
        let first = chunk.lowerBound + page
        let whole = (chunk.upperBound - first) / page * page
        guard let start = UnsafeMutableRawPointer(bitPattern: first),
            stride(from: 0, to: whole, by: page).allSatisfy({ start.load(fromByteOffset: $0, as: UInt.self) == 0 }),
            madvise(start, whole, MADV_DONTNEED) == 0
        else { return 0 }
        return whole
    }

    /// The one mapping by malloc that has room for `bytes` and little more; nil if there is none or a choice.
    private static func chunk(holding bytes: Int, page: Int) -> Range<Int>? {
        // Through /proc, as another thread may unmap what is being looked at.
        let memory = open("/proc/self/mem", O_RDONLY)
        guard memory >= 0 else { return nil }
        defer { close(memory) }
        var found: Range<Int>?
        for mapping in mappings() where mapping.count > bytes {
            for start in stride(from: mapping.lowerBound, through: mapping.upperBound - bytes, by: page) {
                // malloc's header: what is in front (0 for a mapping), and the size with the bit for "a mapping".
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

    /// Private anonymous memory that can be written.
    private static func mappings() -> [Range<Int>] {
        guard let file = fopen("/proc/self/maps", "r") else { return [] }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var room = 0
        defer { free(line) }
        var mappings: [Range<Int>] = []
        while getline(&line, &room, file) > 0, let line {
            // 7f0000000000-7f0003000000 rw-p 00000000 00:00 0
            let words = String(cString: line).split(whereSeparator: \.isWhitespace)
            guard words.count == 5, words[1] == "rw-p", words[4] == "0" else { continue }
            let ends = words[0].split(separator: "-").compactMap { Int($0, radix: 16) }
            if ends.count == 2, ends[0] < ends[1] { mappings.append(ends[0]..<ends[1]) }
        }
        return mappings
    }
}
