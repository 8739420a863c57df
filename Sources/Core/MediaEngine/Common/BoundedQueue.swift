/// A first-in, first-out queue of fixed capacity. Allocates once, at the first element, as most senders of a relay
/// never use most of theirs.
struct BoundedQueue<Element> {
    private let capacity: Int
    private let filler: Element
    private var elements: [Element] = []
    private var head = 0
    private(set) var count = 0

    /// - Parameter filler: the value of unused places.
    init(capacity: Int, filler: Element) {
        self.capacity = capacity
        self.filler = filler
    }

    var isEmpty: Bool { count == 0 }
    var isFull: Bool { count == capacity }
    var first: Element? { isEmpty ? nil : elements[head] }

    /// - Returns: false if the ring is full; it is then unchanged.
    @discardableResult
    mutating func append(_ element: Element) -> Bool {
        guard !isFull else { return false }
        if elements.isEmpty { elements = Array(repeating: filler, count: capacity) }
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
