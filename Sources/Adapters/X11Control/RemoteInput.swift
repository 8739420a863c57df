internal import CXCB
internal import Glibc
internal import LinuxRuntime
public import MediaCore

/// Puts viewers' input onto an X display, by XTEST. Only what concerns the shared area passes. Whoever uses the machine
/// itself goes before: input of its own devices releases what viewers hold, and drops their input for a second.
///
/// Safe from any thread. The display is used on the thread `remote-input`, with a connection of its own.
public final class RemoteInput: Sendable {
    /// What viewers control.
    public enum Area: Sendable, Equatable {
        /// All of the root window, whatever its size is.
        case display
        /// A part of the root window, or all of it.
        case screen(PixelRect)
        case window(UInt32)
    }

    public enum Event: Sendable, Equatable {
        /// Somebody began to use this machine's own devices; viewers' input is dropped until a second has passed
        /// without.
        case localInput
        /// Somebody pressed Escape on this machine's own keyboard, which takes the control back.
        case takenBack
        /// The server has gone: no input passes any more.
        case displayGone
    }

    private let queue: Monitor<RemoteInputQueue>
    private let thread: StoppableThread

    /// - Parameters:
    ///   - display: nil uses `$DISPLAY`.
    ///   - onEvent: called on the thread `remote-input`; it must not call `close`.
    /// - Throws: `.noDisplay`; `.unsupported` if the server lacks XTEST or XKB.
    public init(
        display: String? = nil, area: Area, onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) throws(SourceFailure) {
        let queue = Monitor(RemoteInputQueue())
        self.queue = queue
        // SAFETY: the thread alone uses it.
        nonisolated(unsafe) let own = try ControlConnection(display)
        thread = try StoppableThread("remote-input") { wakeup, isClosed in
            RemoteInputLoop(own, area, queue, onEvent).run(wakeup, isClosed)
            own.close()
        }
    }

    deinit { close() }

    /// Passes an input on, and returns at once. What comes faster than the display takes it is dropped, and all is
    /// released then.
    public func apply(_ input: ControlInput) {
        queue.with { $0.append(.input(input)) }
        thread.wake()
    }

    /// Releases every key and button that viewers hold, after the inputs so far; returns at once.
    public func releaseAll() {
        queue.with { $0.append(.releaseAll) }
        thread.wake()
    }

    /// Drops what waits, releases everything, gives borrowed keycodes back and ends the thread. Blocks for up to 0.3 s
    /// if characters were typed that the layout lacks. May be called twice.
    public func close() { thread.close() }
}

/// Inputs on their way to the thread.
struct RemoteInputQueue: Sendable {
    static let capacity = 512

    enum Item: Sendable {
        case input(ControlInput)
        case releaseAll
    }

    private var items: [Item] = []

    /// A move replaces the move before it. A full queue is emptied, and all is released, as releases may be among what
    /// is dropped.
    mutating func append(_ item: Item) {
        if case .input(.move) = item, case .input(.move)? = items.last { items.removeLast() }
        if items.count >= Self.capacity {
            items = [.releaseAll]
        } else {
            items.append(item)
        }
    }

    var isEmpty: Bool { items.isEmpty }

    mutating func next() -> Item? { items.isEmpty ? nil : items.removeFirst() }
}
