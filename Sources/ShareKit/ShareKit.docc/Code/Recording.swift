import ShareKit

/// Records a sheet until `isDone` returns, and keeps the last second of it.
func record(
    _ sheet: Sheet, to path: String, confirm: @escaping ScreenRecorder.Confirmation, until isDone: () async -> Void
) async throws -> Recording {
    let recorder = ScreenRecorder(sheet.source, confirm: confirm)
    try await recorder.startRecording()
    await isDone()
    let recording = try await recorder.stopRecording()
    let start = max(recording.duration - .seconds(1), .zero)
    let end = try await recording.trim(from: start, path: path)
    recording.discard()
    return end
}
