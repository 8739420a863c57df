import Foundation

/// Saves the window's picture.
extension Window {
    /// Writes the picture as PNG (RFC 2083), without compression: the file replaces an older one as a whole.
    public func save(to path: String) throws {
        var rows: [UInt8] = []
        for y in 0..<Self.height {
            rows.append(0)  // no filter
            let row = UnsafeRawBufferPointer(start: pixels + y * stride, count: Self.width * 4)
            for x in 0..<Self.width { rows += [row[x * 4 + 2], row[x * 4 + 1], row[x * 4]] }
        }
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        file += Self.chunk("IHDR", Self.bytes(Self.width) + Self.bytes(Self.height) + [8, 2, 0, 0, 0])
        file += Self.chunk("IDAT", Self.stored(rows))
        file += Self.chunk("IEND", [])
        try Data(file).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    private static func bytes(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(value >> (24 - $0 * 8) & 0xFF) } }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + content
        var check: UInt32 = .max
        for byte in body { check = check >> 8 ^ remainders[Int(UInt8(truncatingIfNeeded: check) ^ byte)] }
        return bytes(content.count) + body + bytes(Int(~check))
    }

    /// Of the CRC (ISO 3309), for each byte.
    private static let remainders: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { rest, _ in rest >> 1 ^ (rest & 1 == 1 ? 0xEDB8_8320 : 0) }
    }

    /// Stored blocks of a zlib stream (RFC 1950, RFC 1951).
    private static func stored(_ content: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = [0x78, 0x01]
        for start in Swift.stride(from: 0, to: content.count, by: 65_535) {
            let block = content[start..<min(start + 65_535, content.count)]
            let (low, high) = (UInt8(block.count & 0xFF), UInt8(block.count >> 8))
            stream += [start + block.count == content.count ? 1 : 0, low, high, ~low, ~high] + block
        }
        var (a, b) = (1, 0)
        for byte in content {
            a = (a + Int(byte)) % 65_521
            b = (b + a) % 65_521
        }
        return stream + bytes(b << 16 | a)
    }
}
