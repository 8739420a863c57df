/// The armed timers of a loop in a binary heap: setting one takes O(log n), however many there are. Confined to the
/// loop.
struct TimerHeap {
    private struct Entry {
        var deadline: Int64
        // Timers live until they are closed, which removes them.
        unowned(unsafe) var timer: LoopTimer
    }

    private var entries: [Entry] = []

    /// The earliest deadline; `.max` if no timer is armed.
    var earliest: Int64 { entries.first?.deadline ?? .max }

    /// Arms a timer, moves it, or disarms it.
    /// - Parameter deadline: `.max` disarms.
    mutating func set(_ timer: LoopTimer, _ deadline: Int64) {
        if let index = timer.index {
            let former = entries[index].deadline
            if deadline == .max { return remove(at: index) }
            entries[index].deadline = deadline
            if deadline < former { rise(index) } else if deadline > former { sink(index) }
        } else if deadline != .max {
            entries.append(Entry(deadline: deadline, timer: timer))
            timer.index = entries.count - 1
            rise(entries.count - 1)
        }
    }

    /// Disarms the earliest timer if it is due.
    mutating func takeDue(_ now: Int64) -> LoopTimer? {
        guard let first = entries.first, first.deadline <= now else { return nil }
        let timer = first.timer
        remove(at: 0)
        return timer
    }

    private mutating func remove(at index: Int) {
        entries[index].timer.index = nil
        let last = entries.removeLast()
        guard index < entries.count else { return }
        entries[index] = last
        last.timer.index = index
        rise(index)
        sink(index)
    }

    private mutating func rise(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard entries[index].deadline < entries[parent].deadline else { return }
            swap(index, parent)
            index = parent
        }
    }

    private mutating func sink(_ start: Int) {
        var index = start
        while true {
            var least = index
            let children = min(2 * index + 1, entries.count)..<min(2 * index + 3, entries.count)
            for child in children where entries[child].deadline < entries[least].deadline { least = child }
            guard least != index else { return }
            swap(index, least)
            index = least
        }
    }

    private mutating func swap(_ one: Int, _ other: Int) {
        entries.swapAt(one, other)
        entries[one].timer.index = one
        entries[other].timer.index = other
    }
}
