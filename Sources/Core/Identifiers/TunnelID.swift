/// What is reached over a relay: a broadcast, by its viewers, or a service, by its hosts.
public enum TunnelID: Hashable, Sendable, CustomStringConvertible {
    case broadcast(BroadcastID)
    case service(ServiceID)

    /// Reads either of them. A service's identifier has a dot, and a broadcast's has none.
    public init?(_ text: some StringProtocol) {
        if let id = BroadcastID(text) {
            self = .broadcast(id)
        } else if let id = ServiceID(text) {
            self = .service(id)
        } else {
            return nil
        }
    }

    public var text: String {
        switch self {
        case .broadcast(let id): id.text
        case .service(let id): id.text
        }
    }

    public var description: String { text }

    /// The path of its resources, without a slash at the end.
    package var path: String {
        switch self {
        case .broadcast(let id): "/\(id.text)"
        case .service(let id): "/services/\(id.text)"
        }
    }

    /// The path as it is split at slashes.
    package var pathParts: [String] {
        switch self {
        case .broadcast(let id): [id.text]
        case .service(let id): ["services", id.text]
        }
    }
}
