/// The samples of one capture, for one reader. ``ScreenRecorder/samples()`` makes it.
///
/// It ends when the capture is stopped. The capture ends when the reader's task is cancelled, or when the sequence and
/// its iterator are released.
public struct Samples: AsyncSequence, Sendable {
    /// A frame, or a piece of audio.
    public typealias Element = SampleBuffer
    /// Why a capture ended by itself.
    public typealias Failure = ShareKitError

    private let capture: CaptureReference

    init(_ capture: SampleCapture, recorder: ScreenRecorder) {
        self.capture = CaptureReference(capture, recorder)
    }

    /// Makes the iterator of the one reader. Two tasks that wait for a sample at once are a programming error: a trap.
    public func makeAsyncIterator() -> Iterator { Iterator(capture) }

    /// Reads the samples in their order.
    public struct Iterator: AsyncIteratorProtocol {
        private let capture: CaptureReference

        fileprivate init(_ capture: CaptureReference) { self.capture = capture }

        /// Waits for the next sample.
        /// - Returns: nil when the capture was stopped, or the task cancelled.
        /// - Throws: why the capture ended by itself, for example `.overrun`.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ShareKitError) -> SampleBuffer? {
            let queue = capture.capture.queue
            if let sample = await queue.pop() { return sample }
            if let failure = queue.failure { throw failure }
            return nil
        }
    }
}

/// Ends a capture when nobody reads it any more.
private final class CaptureReference: Sendable {
    let capture: SampleCapture
    /// A recorder ends its capture when it is released.
    private let recorder: ScreenRecorder

    init(_ capture: SampleCapture, _ recorder: ScreenRecorder) {
        self.capture = capture
        self.recorder = recorder
    }

    deinit { capture.end(nil, isDiscarding: true) }
}
