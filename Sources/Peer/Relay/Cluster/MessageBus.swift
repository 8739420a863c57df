/// A message between the relays of a cluster.
public struct BusMessage: Sendable {
    public let subject: String
    public let bytes: [UInt8]
    /// Where the answer goes; nil if none is wanted.
    public let reply: String?
    /// Nobody takes what was sent with this subject for its answer.
    public let hasNoResponder: Bool

    public init(subject: String, bytes: [UInt8], reply: String?, hasNoResponder: Bool = false) {
        self.subject = subject
        self.bytes = bytes
        self.reply = reply
        self.hasNoResponder = hasNoResponder
    }
}

/// Delivers messages between the relays of a cluster: what is sent to a subject reaches all others that have subscribed
/// to it. Messages may be lost; those of one sender to one subject keep their order. Safe from any thread.
///
/// Who can send is trusted: only relays are on it.
public protocol MessageBus: Sendable {
    /// Sends at once, or not at all.
    /// - Returns: false if it cannot be sent now.
    @discardableResult
    func publish(_ bytes: [UInt8], to subject: String, reply: String?) -> Bool

    /// - Parameters:
    ///   - subject: its last part may be `*`, which stands for any.
    ///   - receive: called for one message after the other.
    func subscribe(to subject: String, _ receive: @escaping @Sendable (BusMessage) -> Void)
}
