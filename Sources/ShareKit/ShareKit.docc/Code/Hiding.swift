import ShareKit

/// Hides the secret in the sheet's corner while anybody receives its frames.
func hideSecret(of sheet: Sheet) async throws(ShareKitError) {
    for await isCaptured in sheet.source.captureChanges {
        try sheet.fill(.init(x: 0, y: 0, width: 200, height: 40), grey: isCaptured ? 0 : 255)
    }
}
