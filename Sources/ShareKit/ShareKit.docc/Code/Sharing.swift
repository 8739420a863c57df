import ShareKit

/// Shares a sheet with whoever has the link and is accepted.
/// - Returns: the broadcast and its link, for browsers, `share join` and other instances of the app.
func share(
    _ sheet: Sheet, accept: @escaping @Sendable (PeerBroadcast.ViewerRequest) async -> Bool
) async throws(ShareKitError) -> (PeerBroadcast, link: String) {
    let broadcast = try PeerBroadcast(sheet.source, accept: accept)
    return (broadcast, try await broadcast.start())
}
