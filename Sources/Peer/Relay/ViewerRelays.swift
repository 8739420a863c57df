/// At which relays of a cluster each viewer of a broadcast watches, as these tell the one that it is published to. A
/// value. Viewers are SHA-256 of their certificates, 32 bytes.
struct ViewerRelays: Sendable {
    private var relays: [[UInt8]: Set<String>] = [:]

    /// Viewers beyond that are taken for such that watch at one relay.
    static let limit = 8_192

    /// - Returns: whether the viewer watched at no relay.
    mutating func add(_ viewer: [UInt8], at relay: String) -> Bool {
        let isNew = relays[viewer] == nil
        if !isNew || relays.count < Self.limit { relays[viewer, default: []].insert(relay) }
        return isNew
    }

    /// - Returns: whether the viewer watches at no relay any more.
    mutating func remove(_ viewer: [UInt8], at relay: String) -> Bool {
        relays[viewer]?.remove(relay)
        guard relays[viewer]?.isEmpty ?? true else { return false }
        relays[viewer] = nil
        return true
    }

    /// A relay is gone.
    /// - Returns: the viewers that watch at no other one.
    mutating func remove(relay: String) -> [[UInt8]] {
        relays.filter { $0.value.contains(relay) }.keys.filter { remove($0, at: relay) }
    }
}
