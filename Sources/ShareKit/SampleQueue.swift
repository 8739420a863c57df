internal import LinuxRuntime
internal import MediaCore

/// The samples that wait for the app, and the frames that it uses.
///
/// Capacity: one frame waits, and the app may use three, with that one; audio waits for 10 s a track. Overflow: no
/// frame is read while there is no room for it, so that the next one shows what has changed meanwhile; audio beyond its
/// limit ends the capture, because it is never dropped.
final class SampleQueue: Sendable {
    /// How many frames the app may use at once.
    static let frames = 3
    /// Packets of 10 ms.
    static let audioPackets = 1_000

    private struct State {
        var samples: [SampleBuffer] = []
        var hasVideo = false
        var waitingAudio: [MediaKind: Int] = [:]
        /// The numbers of the frames that the app uses.
        var lent: Set<Int> = []
        var isEnded = false
        var failure: ShareKitError?
        /// A reader that sleeps.
        var reader: CheckedContinuation<SampleBuffer?, Never>?

        mutating func take() -> SampleBuffer? {
            guard !samples.isEmpty else { return nil }
            let sample = samples.removeFirst()
            if sample.kind == .video { hasVideo = false } else { waitingAudio[sample.kind, default: 1] -= 1 }
            return sample
        }

        /// - Returns: false if it would exceed the limit.
        mutating func append(_ sample: SampleBuffer) -> Bool {
            if sample.kind == .video {
                hasVideo = true
            } else {
                guard waitingAudio[sample.kind, default: 0] < SampleQueue.audioPackets else { return false }
                waitingAudio[sample.kind, default: 0] += 1
            }
            samples.append(sample)
            return true
        }
    }

    private let state = Monitor(State())
    private let onEnd: @Sendable (ShareKitError?) -> Void

    /// - Parameter onEnd: called once, on the thread that ends the queue.
    init(onEnd: @escaping @Sendable (ShareKitError?) -> Void) { self.onEnd = onEnd }

    // MARK: The capture

    /// Sleeps until the app can take another frame.
    /// - Returns: false when the capture has ended.
    func waitForRoom(notBefore instant: MediaInstant) -> Bool {
        if instant > MonotonicClock.now, state.wait(until: instant, { $0.isEnded ? () : nil }) != nil { return false }
        return state.wait { state in
            if state.isEnded { return false }
            return !state.hasVideo && state.lent.count < Self.frames ? true : nil
        }
    }

    func isLent(_ frame: Int) -> Bool { state.with { $0.lent.contains(frame) } }

    func lend(_ frame: Int) { state.with { _ = $0.lent.insert(frame) } }

    func takeBack(_ frame: Int) { state.change { _ = $0.lent.remove(frame) } }

    /// Appends a sample; drops it after the end.
    func push(_ sample: SampleBuffer) {
        var reader: CheckedContinuation<SampleBuffer?, Never>?
        let hasRoom = state.change { state in
            if state.isEnded { return true }
            reader = state.reader
            state.reader = nil
            return reader != nil || state.append(sample)
        }
        reader?.resume(returning: sample)
        if !hasRoom {
            end(
                ShareKitError(
                    .overrun, "the app has taken no audio for \(Self.audioPackets / 100) s",
                    remedy: "Take samples faster, or hand them on to a thread of your own."), isDiscarding: true)
        }
    }

    /// Ends the queue; a second call can still discard what waits.
    func end(_ failure: ShareKitError? = nil, isDiscarding: Bool) {
        var reader: CheckedContinuation<SampleBuffer?, Never>?
        var isFirst = false
        // Samples are released outside of the lock, as that takes frames back.
        let dropped = state.change { state -> [SampleBuffer] in
            isFirst = !state.isEnded
            state.isEnded = true
            if isFirst { state.failure = failure }
            reader = state.reader
            state.reader = nil
            guard isDiscarding else { return [] }
            defer { state.samples = [] }
            return state.samples
        }
        reader?.resume(returning: nil)
        withExtendedLifetime(dropped) {}
        if isFirst { onEnd(failure) }
    }

    var isEnded: Bool { state.with { $0.isEnded } }

    /// Why the queue has ended; nil if the app has ended it.
    var failure: ShareKitError? { state.with { $0.failure } }

    // MARK: The app

    /// Sleeps until there is a sample.
    /// - Returns: nil after the last one.
    func waitAndPop() -> SampleBuffer? {
        let sample = state.wait { state -> SampleBuffer?? in
            if let sample = state.take() { return .some(sample) }
            return state.isEnded ? .some(nil) : nil
        }
        // Wakes the capture, which waits for room.
        if sample?.kind == .video { state.change { _ in } }
        return sample
    }

    /// As `waitAndPop`, without blocking a thread. One call at a time. Ends the queue if the task is cancelled.
    func pop() async -> SampleBuffer? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = state.change { state -> SampleBuffer?? in
                    if let sample = state.take() { return .some(sample) }
                    if state.isEnded { return .some(nil) }
                    precondition(state.reader == nil, "samples are read by one task at a time")
                    state.reader = continuation
                    return nil
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            end(isDiscarding: true)
        }
    }
}

/// Which track a sample belongs to.
enum MediaKind: Hashable {
    case video, applicationAudio, microphoneAudio
}

extension SampleBuffer {
    var kind: MediaKind {
        switch content {
        case .video: .video
        case .applicationAudio: .applicationAudio
        case .microphoneAudio: .microphoneAudio
        case .encoded(let sample):
            switch sample.media {
            case .video: .video
            case .applicationAudio: .applicationAudio
            case .microphoneAudio: .microphoneAudio
            }
        }
    }
}
