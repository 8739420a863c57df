import LinuxRuntime
import Testing

@testable import SessionBus

struct DesktopInputQueueTests {
    private var queue = DesktopInputQueue()

    /// All that is sent, as each is answered.
    private mutating func sent() -> [DesktopInput] {
        var sent: [DesktopInput] = []
        while let next = queue.next() {
            sent.append(next)
            queue.answered()
        }
        return sent
    }

    @Test mutating func oneIsUnderWayAtATime() {
        queue.append(.button(1, isPressed: true))
        queue.append(.button(1, isPressed: false))
        #expect(queue.next() == .button(1, isPressed: true) && queue.next() == nil && queue.isWaiting)
        queue.answered()
        #expect(sent() == [.button(1, isPressed: false)])
    }

    @Test mutating func theLastOfSeveralMovesIsSent() {
        for x in 0..<5 { queue.append(.move(x: Double(x), y: 0)) }
        queue.append(.key(97, isPressed: true))
        queue.append(.move(x: 9, y: 9))
        #expect(sent() == [.move(x: 4, y: 0), .key(97, isPressed: true), .move(x: 9, y: 9)])
    }

    @Test mutating func aFullQueueKeepsReleases() {
        for _ in 0..<10_000 {
            queue.append(.key(97, isPressed: true))
            queue.append(.key(97, isPressed: false))
            queue.append(.wheel(isHorizontal: false, 1))
        }
        queue.append(.button(1, isPressed: false))
        let sent = sent()
        #expect(sent.count <= DesktopInputQueue.capacity + 1)
        #expect(sent.last == .button(1, isPressed: false) && sent.contains(.key(97, isPressed: false)))
        let last = sent.last { if case .key = $0 { true } else { false } }
        #expect(last == .key(97, isPressed: false))
    }
}
