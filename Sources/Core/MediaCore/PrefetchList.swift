/// The memory that a call is about to use, such as the state of the next viewer. A processor that is told of it
/// beforehand fetches it while it does something else, instead of waiting for one cache line after the other.
///
/// Addresses are hints: those of memory that has been freed or has moved do no harm. Regions beyond `capacity` are left
/// out, and so is what a region has beyond 64 KB. A relay keeps thousands of viewers' lists: 248 bytes each.
public struct PrefetchList {
    public static let capacity = 24

    private var starts = InlineArray<24, UnsafeRawPointer?>(repeating: nil)
    private var sizes = InlineArray<24, UInt16>(repeating: 0)
    public private(set) var count = 0

    public init() {}

    /// The address and the bytes of a region.
    public subscript(index: Int) -> (start: UnsafeRawPointer?, bytes: Int) { (starts[index], Int(sizes[index])) }

    public mutating func removeAll() { count = 0 }

    /// - Parameter start: nil: no region.
    public mutating func add(_ start: UnsafeRawPointer?, bytes: Int) {
        guard let start, bytes > 0, count < Self.capacity else { return }
        starts[count] = start
        sizes[count] = UInt16(clamping: bytes)
        count &+= 1
    }

    /// Adds the first bytes of an object, with its header. More than it has do no harm.
    public mutating func add(_ object: some AnyObject, bytes: Int) {
        add(UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()), bytes: bytes)
    }

    /// Adds `count` elements of an array from an index on, or those up to its end, and the array's header.
    public mutating func add<Element>(_ array: [Element], from first: Int, count: Int) {
        array.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            add(base - Self.arrayHeader, bytes: Self.arrayHeader)
            let start = first &* MemoryLayout<Element>.stride
            add(base + start, bytes: min(count &* MemoryLayout<Element>.stride, bytes.count &- start))
        }
    }

    private static let arrayHeader = 32
}
