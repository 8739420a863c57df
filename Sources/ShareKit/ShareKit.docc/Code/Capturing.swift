import ShareKit

/// Captures a sheet until it has been drawn `limit` times.
/// - Returns: the brightness of the upper left corner in each frame.
func capture(
    _ sheet: Sheet, frames limit: Int, confirm: @escaping ScreenRecorder.Confirmation
) async throws -> [UInt8] {
    let recorder = ScreenRecorder(sheet.source, confirm: confirm)
    var corners: [UInt8] = []
    for try await sample in try await recorder.samples() {
        switch sample.content {
        case .video(let planes):
            corners.append(planes.y[0])
            if corners.count == limit { await recorder.stopCapture() }
        case .applicationAudio, .microphoneAudio, .encoded:
            break
        }
    }
    return corners
}
