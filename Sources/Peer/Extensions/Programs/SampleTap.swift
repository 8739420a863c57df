import Host
import LinuxRuntime
import MediaCore
import Synchronization

/// Encodes the samples that a program gets raw once more, for sinks of this process.
final class SampleTap: Sendable {
    let screen: TappedScreen
    /// In the order of the tracks.
    let audio: [TappedAudio]
    let encoding: LocalEncoding

    /// - Parameter sources: those whose samples are passed on; they are captured by their owner.
    init(_ sources: SampleSources, _ configuration: ExtensionBroadcast.Configuration) throws(CodecFailure) {
        screen = TappedScreen(sources.screenSize)
        audio = sources.audio.map { TappedAudio(summary: $0.source.summary) }
        let inputs = zip(sources.audio, audio).map { input, tapped in
            AudioInput(
                kind: input.kind, source: tapped, hasSilenceSuppression: input.hasSilenceSuppression,
                makeEncoder: input.makeEncoder)
        }
        encoding = try SampleSources(screen: screen, makeEncoder: sources.makeEncoder, audio: inputs)
            .makeEncoding(configuration)
    }

    /// Begins or ends a hold. A blank frame takes the place of the last one for good: the next one after the hold is
    /// another one.
    /// - Parameter hold: nil: none.
    func set(_ hold: BroadcastHold?, _ now: MediaInstant) {
        if hold == .blank { screen.pushBlank(now) }
        encoding.set(hold)
    }
}

/// The frames of a screen that another thread captures.
// SAFETY: `state` is used with its lock held, and the canvas in it by whoever holds it; `size` is used by the thread
// that reads.
final class TappedScreen: ScreenSource, @unchecked Sendable {
    private struct State {
        var canvas: I420Buffer
        /// Since the last read.
        var changed: BlockMap
        var captured = MediaInstant(nanoseconds: 0)
        var isDamaged = false
        /// The canvas is blank in the place of the last frame.
        var isBlank = false
        var isWoken = false
    }

    private(set) var size: PixelSize
    var summary: String { "tap" }
    var limitations: [String] { [] }
    private let state: Monitor<State>

    init(_ size: PixelSize) {
        self.size = size
        state = Monitor(State(canvas: I420Buffer(size), changed: BlockMap(size)))
    }

    /// Takes a frame. From any thread.
    /// - Parameter changed: the blocks that are not as in the last one; nil: all may differ.
    func push(_ canvas: I420Buffer, changed: BlockMap?, _ captured: MediaInstant) {
        state.change { state in
            if state.canvas.size != canvas.size {
                state.canvas = I420Buffer(canvas.size)
                state.changed = BlockMap(canvas.size, filled: true)
            } else if let changed, !state.isBlank {
                state.changed.formUnion(changed)
            } else {
                state.changed.fill()
            }
            canvas.copy(to: state.canvas)
            state.isBlank = false
            state.captured = captured
            state.isDamaged = true
        }
    }

    /// Puts a blank frame in the place of the last one. From any thread.
    func pushBlank(_ captured: MediaInstant) {
        state.change { state in
            state.canvas.fillWithBlank()
            state.isBlank = true
            state.changed.fill()
            state.captured = captured
            state.isDamaged = true
        }
    }

    var isBlank: Bool { state.with { $0.isBlank } }

    func wait(until deadline: MediaInstant?) -> ScreenEvent {
        let event = state.wait(until: deadline ?? .distantFuture) { state -> ScreenEvent? in
            if state.isWoken {
                state.isWoken = false
                return .woken
            }
            guard state.isDamaged else { return nil }
            return state.canvas.size == size ? .damaged : .resized(state.canvas.size)
        }
        if case .resized(let new) = event { size = new }
        return event ?? .woken
    }

    func read(into canvas: I420Buffer, changed: inout BlockMap) -> MediaInstant {
        state.with { state in
            // A frame of another size follows the next `wait`.
            guard state.canvas.size == canvas.size else { return state.captured }
            state.canvas.copy(to: canvas)
            changed.formUnion(state.changed)
            state.changed.clear()
            state.isDamaged = false
            return state.captured
        }
    }

    func damageEverything() {
        state.change { state in
            state.changed.fill()
            state.isDamaged = true
        }
    }

    func wake() { state.change { $0.isWoken = true } }

    func resume() { damageEverything() }

    func close() {}
}

/// The samples of an audio source that another one captures.
final class TappedAudio: AudioSource {
    typealias Handler = @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void

    let summary: String
    private let handler = Mutex<Handler?>(nil)

    init(summary: String) { self.summary = summary }

    /// Takes 10 ms.
    func pass(_ samples: UnsafeBufferPointer<Int16>, _ time: MediaInstant) {
        // With the lock held: no handler runs after `stop`.
        handler.withLock { $0?(samples, time) }
    }

    func start(handler: @escaping Handler, ended: @escaping @Sendable (SourceFailure) -> Void) {
        self.handler.withLock { $0 = handler }
    }

    func stop() { handler.withLock { $0 = nil } }
}

extension I420Buffer {
    /// - Parameter other: of the same size.
    fileprivate func copy(to other: I420Buffer) {
        precondition(size == other.size, "buffers of different sizes")
        let rows = size.height
        other.y.update(from: y, count: strideY * rows)
        other.u.update(from: u, count: strideC * rows / 2)
        other.v.update(from: v, count: strideC * rows / 2)
    }
}
