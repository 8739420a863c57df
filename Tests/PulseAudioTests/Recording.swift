import Foundation
import MediaCore

/// Collects the packets and failures of an audio source, and lets a test wait for them.
// SAFETY: everything is read and written under the condition's lock.
final class Recording: @unchecked Sendable {
    private let condition = NSCondition()
    private var samples: [Int16] = []
    private var moments: [MediaInstant] = []
    private var failures: [SourceFailure] = []
    private var corks: [Bool] = []
    private var changes: [AudioSourceChange] = []

    struct State {
        var samples: [Int16]
        var moments: [MediaInstant]
        var failures: [SourceFailure]
        var corks: [Bool]
        var changes: [AudioSourceChange]

        /// The times between two packets, in milliseconds, that differ from 10 by more than 5.
        var holes: [Int] {
            zip(moments, moments.dropFirst()).map { Int(($1 - $0).inMilliseconds) }.filter { abs($0 - 10) > 5 }
        }
    }

    func add(_ packet: UnsafeBufferPointer<Int16>, _ moment: MediaInstant) {
        change {
            samples += packet
            moments.append(moment)
        }
    }

    func end(_ failure: SourceFailure) { change { failures.append(failure) } }
    func note(_ change: AudioSourceChange) { self.change { changes.append(change) } }
    func cork(_ isCorked: Bool) { change { corks.append(isCorked) } }

    func forget() {
        change {
            samples = []
            moments = []
        }
    }

    private func change(_ body: () -> Void) {
        condition.lock()
        body()
        condition.broadcast()
        condition.unlock()
    }

    /// Waits until the claim holds.
    /// - Returns: the state at that time; nil after 30 s.
    func wait(_ claim: (State) -> Bool) -> State? {
        let deadline = Date(timeIntervalSinceNow: 30)
        condition.lock()
        defer { condition.unlock() }
        var hasTime = true
        while true {
            let state = State(samples: samples, moments: moments, failures: failures, corks: corks, changes: changes)
            if claim(state) { return state }
            // The last look comes after the deadline, as a change at that moment wakes nobody.
            guard hasTime else { return nil }
            hasTime = condition.wait(until: deadline)
        }
    }
}

/// The share of the left channel's energy at a frequency, 0...1 (Goertzel algorithm).
func share(of frequency: Double, in samples: [Int16]) -> Double {
    let left = stride(from: 0, to: samples.count, by: 2).map { Double(samples[$0]) }
    var real = 0.0
    var imaginary = 0.0
    var total = 0.0
    for (index, value) in left.enumerated() {
        let angle = 2 * Double.pi * frequency * Double(index) / 48_000
        real += value * cos(angle)
        imaginary += value * sin(angle)
        total += value * value
    }
    guard total > 0 else { return 0 }
    return 2 * (real * real + imaginary * imaginary) / (Double(left.count) * total)
}
