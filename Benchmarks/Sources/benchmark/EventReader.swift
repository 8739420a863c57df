import Foundation
import Glibc

/// One line of a program's output: a JSON event, or any other line under the name "line".
struct Event: Sendable {
    var name: String
    /// When the line arrived, in seconds of the monotonic clock.
    var time: Double
    var text: String
    var numbers: [String: Double] = [:]

    init(_ text: String) {
        self.text = text
        time = monotonicSeconds()
        name = "line"
        guard text.hasPrefix("{"), let value = try? JSONSerialization.jsonObject(with: Data(text.utf8)),
            let fields = value as? [String: Any]
        else { return }
        name = fields["event"] as? String ?? "line"
        for (key, value) in fields { if let number = value as? Double { numbers[key] = number } }
    }

    subscript(field: String) -> Double { numbers[field] ?? 0 }

    /// The link in it.
    func link() throws -> String {
        guard let start = text.range(of: "https:") else { throw BenchmarkFailure("no link: \(text)") }
        return text[start.lowerBound...].prefix { $0 != "\"" }.replacingOccurrences(of: "\\/", with: "/")
    }
}

/// Reads a program's lines on a thread of its own.
// SAFETY: `events` and `isOver` are touched only while `condition` is held.
final class EventReader: @unchecked Sendable {
    private let condition = NSCondition()
    private var events: [Event] = []
    private var isOver = false

    init(_ descriptor: Int32) {
        let thread = Thread { [self] in read(descriptor) }
        thread.start()
    }

    private func read(_ descriptor: Int32) {
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            rest += buffer[..<count]
            while let end = rest.firstIndex(of: 10) {
                let event = Event(String(decoding: rest[..<end], as: UTF8.self))
                rest.removeSubrange(...end)
                condition.lock()
                events.append(event)
                condition.broadcast()
                condition.unlock()
            }
        }
        condition.lock()
        isOver = true
        condition.broadcast()
        condition.unlock()
    }

    /// The number of events so far.
    var count: Int {
        condition.lock()
        defer { condition.unlock() }
        return events.count
    }

    /// Returns the newest event of that name.
    func last(_ name: String) -> Event? {
        condition.lock()
        defer { condition.unlock() }
        return events.last { $0.name == name }
    }

    /// Returns the first event of that name that is not among the first `seen`.
    /// - Throws: when the program ends or the time is over before there is one.
    func wait(for name: String, after seen: Int = 0, seconds: Double = 20) throws -> Event {
        let deadline = Date(timeIntervalSinceNow: seconds)
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let event = events.dropFirst(seen).first(where: { $0.name == name }) { return event }
            guard !isOver else { throw BenchmarkFailure("it ended before it said '\(name)'") }
            guard condition.wait(until: deadline) else {
                throw BenchmarkFailure("it did not say '\(name)' in \(Int(seconds)) s")
            }
        }
    }
}

func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
