/// A first-in, first-out queue of fixed capacity. Allocates only in `init`.
struct RingBuffer<Element> {
    private var elements: [Element]
    private var head = 0
    private(set) var count = 0

    /// - Parameter filler: the value of unused places.
    init(capacity: Int, filler: Element) { elements = Array(repeating: filler, count: capacity) }

    var isEmpty: Bool { count == 0 }
    var isFull: Bool { count == elements.count }
    var first: Element? { isEmpty ? nil : elements[head] }

    /// - Returns: false if the ring is full; it is then unchanged.
    @discardableResult
    mutating func append(_ element: Element) -> Bool {
        guard !isFull else { return false }
        elements[(head &+ count) % elements.count] = element
        count &+= 1
        return true
    }

    @discardableResult
    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[head]
        head = (head &+ 1) % elements.count
        count &-= 1
        return element
    }

    mutating func removeAll() {
        head = 0
        count = 0
    }

    /// - Parameter index: counted from the oldest element; below `count`.
    subscript(index: Int) -> Element {
        get { elements[(head &+ index) % elements.count] }
        set { elements[(head &+ index) % elements.count] = newValue }
    }
}
