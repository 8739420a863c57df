import LinuxRuntime

/// Inputs on their way to the portal. It handles each call on a thread of its own, so that the next one is made when it
/// has answered the one before. A value.
struct DesktopInputQueue: Sendable {
    static let capacity = 256

    private var inputs: [DesktopInput] = []
    /// Whether the portal has not answered yet.
    private(set) var isWaiting = false

    var isIdle: Bool { inputs.isEmpty && !isWaiting }

    /// A move replaces the move before it. Of a full queue the releases alone stay, as what they release may be
    /// pressed.
    mutating func append(_ input: DesktopInput) {
        if case .move = input, case .move? = inputs.last { inputs.removeLast() }
        if inputs.count >= Self.capacity {
            inputs = inputs.enumerated().filter { index, input in
                input.isRelease && !inputs[..<index].contains(input)
            }.map(\.element)
        }
        inputs.append(input)
    }

    /// - Returns: the next one to be sent; nil while another one is under way, and if there is none.
    mutating func next() -> DesktopInput? {
        guard !isWaiting, !inputs.isEmpty else { return nil }
        isWaiting = true
        return inputs.removeFirst()
    }

    /// The portal has answered, or cannot be called.
    mutating func answered() { isWaiting = false }
}

extension DesktopInput {
    fileprivate var isRelease: Bool {
        switch self {
        case .button(_, let isPressed), .key(_, let isPressed): !isPressed
        case .move, .wheel: false
        }
    }
}
