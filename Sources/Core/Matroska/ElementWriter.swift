/// Appends EBML elements (RFC 8794) to an array of bytes.
public struct ElementWriter {
    public private(set) var bytes: [UInt8] = []

    public init() {}

    /// Empties the array, and keeps its memory.
    public mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    public mutating func unsigned(_ id: ElementID, _ value: UInt64) {
        let length = max(1, 8 - value.leadingZeroBitCount / 8)
        start(id, size: UInt64(length))
        bigEndian(value, length: length)
    }

    /// A signed integer of 8 bytes.
    mutating func signed(_ id: ElementID, _ value: Int64) {
        start(id, size: 8)
        bigEndian(UInt64(bitPattern: value), length: 8)
    }

    /// A float of 8 bytes.
    public mutating func float(_ id: ElementID, _ value: Double) {
        start(id, size: 8)
        bigEndian(value.bitPattern, length: 8)
    }

    public mutating func text(_ id: ElementID, _ value: String) {
        start(id, size: UInt64(value.utf8.count))
        bytes.append(contentsOf: value.utf8)
    }

    /// Appends whole elements.
    mutating func append(_ elements: [UInt8]) { bytes += elements }

    mutating func binary(_ id: ElementID, _ value: [UInt8]) {
        start(id, size: UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    /// An element whose content `body` writes: less than 2^28 - 1 bytes.
    public mutating func master(_ id: ElementID, _ body: (inout Self) -> Void) {
        idBytes(id)
        let place = bytes.count
        bigEndian(0, length: 4)
        body(&self)
        let size = bytes.count - place - 4
        precondition(size < 0x0FFF_FFFF, "an element of \(size) bytes")
        let field = UInt32(size) | 0x1000_0000
        for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: field >> UInt32(24 - index * 8)) }
    }

    /// A Void element that takes `total` bytes with its header, at least 2.
    public mutating func void(total: Int) {
        precondition(total >= 2, "a Void element of \(total) bytes")
        idBytes(.void)
        // A size of 8 bytes if there is room, so that any total can be had.
        let length = total >= 9 ? 8 : 1
        size(UInt64(total - 1 - length), length: length)
        bytes.append(contentsOf: repeatElement(0, count: total - 1 - length))
    }

    /// The start of an element of unknown size (RFC 8794 section 6.2), with a size field of 8 bytes.
    mutating func startUnknown(_ id: ElementID) {
        idBytes(id)
        bytes.append(contentsOf: Self.unknownSize)
    }

    /// The start of an element, with a size field of 8 bytes.
    mutating func startSized(_ id: ElementID, size value: UInt64) {
        idBytes(id)
        size(value, length: 8)
    }

    static let unknownSize: [UInt8] = [0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]

    /// A size field of 8 bytes.
    static func sizeField(_ value: UInt64) -> [UInt8] {
        var writer = Self()
        writer.size(value, length: 8)
        return writer.bytes
    }

    /// A SimpleBlock (RFC 9559 section 10.2).
    /// - Parameters:
    ///   - track: 1...126.
    ///   - time: relative to the cluster.
    mutating func simpleBlock(
        track: UInt8, time: Int16, isKeyframe: Bool, isDiscardable: Bool, _ payload: UnsafeRawBufferPointer
    ) {
        start(.simpleBlock, size: UInt64(payload.count) + 4)
        bytes.append(0x80 | track)
        bigEndian(UInt64(UInt16(bitPattern: time)), length: 2)
        bytes.append((isKeyframe ? 0x80 : 0) | (isDiscardable ? 0x01 : 0))
        bytes.append(contentsOf: payload)
    }

    private mutating func start(_ id: ElementID, size value: UInt64) {
        idBytes(id)
        size(value, length: Self.sizeLength(value))
    }

    private mutating func idBytes(_ id: ElementID) { bigEndian(UInt64(id.rawValue), length: id.length) }

    private static func sizeLength(_ value: UInt64) -> Int {
        // The largest value of each length means an unknown size.
        var length = 1
        while length < 8, value >= (1 << UInt64(7 * length)) - 1 { length += 1 }
        return length
    }

    private mutating func size(_ value: UInt64, length: Int) {
        precondition(value < (1 << UInt64(7 * length)) - 1, "a size of \(value) in \(length) bytes")
        bigEndian(value | 1 << UInt64(7 * length), length: length)
    }

    private mutating func bigEndian(_ value: UInt64, length: Int) {
        for index in (0..<length).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index))) }
    }
}
