import ShareKit

/// Broadcasts a sheet to one service, after the alert that `ask` shows each time.
func broadcast(
    _ sheet: Sheet, to service: String, ask: @escaping BroadcastActivity.Confirmation
) async throws(ShareKitError) {
    let controller = try await BroadcastActivity.load(
        preferredExtension: service, source: sheet.source, applicationID: "com.example.sheet", confirm: ask)
    try await controller.startBroadcast()
    for await event in controller.events {
        if case .finished(let reason?) = event { throw reason }
    }
}
