import MediaCore

/// The hold that is in effect, as JSON: `{}` for a pause, or `{"hold":"blank"}`.
struct HoldDocument: Codable {
    private var hold: String?

    init(_ hold: BroadcastHold) { self.hold = hold == .pause ? nil : hold.rawValue }

    /// A hold of a later version is a pause to this one.
    var known: BroadcastHold { hold.flatMap { BroadcastHold(rawValue: $0) } ?? .pause }
}
