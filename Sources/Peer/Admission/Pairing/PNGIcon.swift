/// The image that stands for a service or an application: a PNG file (ISO/IEC 15948), which is not decoded here.
public struct PNGIcon: Hashable, Sendable {
    /// In bytes.
    public static let sizeLimit = 16_384
    /// In pixels, each way: who shows the image can decode it into 256 KiB at most.
    public static let sideLimit = 256

    public let bytes: [UInt8]
    public let width: Int
    public let height: Int

    /// - Throws: if the bytes are no PNG, or one that is too large.
    public init(_ bytes: [UInt8]) throws(ServiceDescriptionError) {
        guard bytes.count <= Self.sizeLimit else {
            throw ServiceDescriptionError("the icon has more than \(Self.sizeLimit / 1_024) KiB")
        }
        // The signature, and the first chunk, IHDR: length, name, width, height, bit depth, colour type, three zeros or
        // so, and a checksum.
        let head: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
        guard bytes.count >= 33, bytes.starts(with: head) else {
            throw ServiceDescriptionError("the icon is no PNG file")
        }
        func number(_ start: Int) -> Int { bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
        width = number(16)
        height = number(20)
        guard (1...Self.sideLimit).contains(width), (1...Self.sideLimit).contains(height) else {
            throw ServiceDescriptionError("the icon has more than \(Self.sideLimit) pixels each way")
        }
        self.bytes = bytes
    }
}
