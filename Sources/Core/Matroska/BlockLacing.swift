/// Several frames in one block: RFC 9559 section 10.3.
enum BlockLacing: UInt8 {
    case none = 0
    case xiph = 1
    case fixed = 2
    case ebml = 3

    /// The flags' bits of a block.
    init(flags: UInt8) { self = Self(rawValue: flags >> 1 & 3) ?? .none }

    /// Splits a block's payload into its frames.
    /// - Returns: nil if the sizes do not fit.
    func frames(in payload: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
        guard self != .none else { return [payload] }
        guard let head = payload.first else { return nil }
        let count = Int(head) + 1
        var rest = payload.dropFirst()
        guard var sizes = sizes(count: count, &rest) else { return nil }
        // The last frame takes what is left.
        let known = sizes.reduce(0, +)
        guard known <= rest.count else { return nil }
        if sizes.count < count { sizes.append(rest.count - known) }
        guard sizes.reduce(0, +) == rest.count else { return nil }
        return sizes.map { size in
            defer { rest = rest.dropFirst(size) }
            return rest.prefix(size)
        }
    }

    /// The sizes that the payload gives: of all frames but the last one, or of all.
    private func sizes(count: Int, _ rest: inout ArraySlice<UInt8>) -> [Int]? {
        var sizes: [Int] = []
        switch self {
        case .none: return nil
        case .fixed:
            guard rest.count % count == 0 else { return nil }
            return Array(repeating: rest.count / count, count: count)
        case .xiph:
            for _ in 1..<max(count, 1) {
                var size = 0
                while true {
                    guard let byte = rest.popFirst() else { return nil }
                    size += Int(byte)
                    if byte < 255 { break }
                }
                sizes.append(size)
            }
        case .ebml:
            for index in 1..<max(count, 1) {
                guard let number = Self.number(&rest) else { return nil }
                // The first size; then differences, with half of the range below zero.
                let size = index == 1 ? number.value : (sizes.last ?? 0) + number.value - number.bias
                guard size >= 0, size <= rest.count else { return nil }
                sizes.append(size)
            }
        }
        return sizes
    }

    /// A variable-size integer (RFC 8794 section 4) of at most four bytes, and the middle of its range.
    private static func number(_ bytes: inout ArraySlice<UInt8>) -> (value: Int, bias: Int)? {
        guard let first = bytes.first, first >= 0x10 else { return nil }
        let length = first.leadingZeroBitCount + 1
        guard bytes.count >= length else { return nil }
        let field = bytes.prefix(length).reduce(0) { $0 << 8 | Int($1) }
        bytes = bytes.dropFirst(length)
        return (field & (1 << (7 * length) - 1), 1 << (7 * length - 1) - 1)
    }
}
