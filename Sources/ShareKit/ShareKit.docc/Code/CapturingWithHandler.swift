import ShareKit

/// Captures a sheet with the user's voice, and says why the microphone is missing.
func captureWithCommentary(
    _ recorder: ScreenRecorder, write: @escaping @Sendable (SampleBuffer) -> Void
) async throws(ShareKitError) {
    try await recorder.setMicrophoneEnabled(true)
    try await recorder.startCapture { sample in write(sample) }
    var changes = recorder.changes.makeAsyncIterator()
    if let failure = await changes.next()?.failure { print("without the microphone: \(failure)") }
}
