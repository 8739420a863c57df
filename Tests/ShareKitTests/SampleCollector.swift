import LinuxRuntime
import MediaCore
import Testing

@testable import ShareKit

/// Keeps what a capture delivers, and lets a test wait for it.
final class SampleCollector: Sendable {
    struct Video: Equatable {
        var width: Int
        var height: Int
        /// Of the upper left and the lower right corner.
        var luma: [UInt8]
        var time: Duration
    }

    struct Audio: Equatable {
        var samples: [Int16]
        var time: Duration
    }

    struct Content {
        var video: [Video] = []
        var application: [Audio] = []
        var microphone: [Audio] = []
    }

    let content = Monitor(Content())

    func add(_ sample: SampleBuffer) {
        content.change { content in
            switch sample.content {
            case .video(let planes):
                let last = (planes.height - 1) * planes.strideY + planes.width - 1
                content.video.append(
                    Video(
                        width: planes.width, height: planes.height, luma: [planes.y[0], planes.y[last]],
                        time: sample.time))
            case .applicationAudio(let samples):
                content.application.append(Audio(samples: Array(samples), time: sample.time))
            case .microphoneAudio(let samples):
                content.microphone.append(Audio(samples: Array(samples), time: sample.time))
            case .encoded: Issue.record("a capture has no encoded samples")
            }
        }
    }

    /// Waits until the claim holds, 30 s at most, on a thread of its own.
    func wait(_ claim: @escaping @Sendable (Content) -> Bool) async -> Bool {
        await isTrue(content, claim)
    }
}

/// Waits until the claim about a monitored value holds, 30 s at most, on a thread of its own.
func isTrue<Value>(_ monitor: Monitor<Value>, _ claim: @escaping @Sendable (Value) -> Bool) async -> Bool {
    await withCheckedContinuation { continuation in
        _ = NamedThread("wait") {
            continuation.resume(
                returning: monitor.wait(until: MonotonicClock.now + .seconds(30)) { claim($0) ? true : nil } ?? false)
        }
    }
}

/// Waits until a recorder is in a state; the tests' time limit applies.
func state(
    of recorder: ScreenRecorder, _ claim: (ScreenRecorder.State) -> Bool
) async -> ScreenRecorder.State? {
    for await state in recorder.changes where claim(state) { return state }
    return nil
}

/// A microphone that delivers what a test gives it.
final class FakeMicrophone: AudioSource {
    private struct State {
        var handler: (@Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void)?
        var ended: (@Sendable (SourceFailure) -> Void)?
        var starts = 0
    }

    private let state = Monitor(State())
    let summary = "a microphone"

    func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void
    ) throws(SourceFailure) {
        state.change { state in
            state.handler = handler
            state.ended = ended
            state.starts += 1
        }
    }

    func stop() { state.change { $0.handler = nil } }

    var isRunning: Bool { state.with { $0.handler != nil } }
    var starts: Int { state.with { $0.starts } }

    /// Delivers 10 ms; nothing while it is stopped.
    func emit(_ level: Int16) {
        let handler = state.with { $0.handler }
        [Int16](repeating: level, count: 960).withUnsafeBufferPointer { handler?($0, MonotonicClock.now) }
    }

    func unplug() { state.with { $0.ended }?(SourceFailure(.deviceGone, "the microphone has gone")) }
}

extension ApplicationSource {
    /// Draws a frame of one grey level.
    func fill(_ level: UInt8, width: Int = 64, height: Int = 48) throws {
        try draw(width: width, height: height) { pixels, stride in
            pixels.initializeMemory(as: UInt8.self, repeating: level, count: stride * height)
            return nil
        }
    }

    func submitAudio(_ level: Int16, packets: Int) {
        [Int16](repeating: level, count: 960 * packets).withUnsafeBufferPointer { submitAudio($0) }
    }
}
