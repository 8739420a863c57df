/// The result of a check of a STUN or TURN server.
public enum ServerFinding: Sendable, Equatable {
    /// STUN: `mapped` is the address from which the server sees this machine.
    case answers(mapped: String, after: Duration)
    /// TURN: the server allocated the relayed address `from`, which was released at once.
    case relays(from: String, after: Duration)
    case unknownHost
    /// Its address is not one that the peer that has named it may name; it was not asked.
    case forbidden
    /// No response arrived in time.
    case silent
    /// No process listens, or there is no route. The value is the system's message.
    case unreachable(String)
    /// The TLS handshake failed.
    case untrusted(String)
    /// STUN's error code with the server's reason phrase (RFC 8489 section 14.8, RFC 8656 section 18).
    case refused(code: Int, reason: String)
    /// The response is not STUN.
    case strange

    public var isGood: Bool {
        switch self {
        case .answers, .relays: true
        default: false
        }
    }

    /// The predicate of a sentence whose subject is the server's name.
    public var words: String {
        switch self {
        case .answers(let mapped, let time):
            "answers after \(Int(time / .milliseconds(1))) ms and sees you at \(mapped)"
        case .relays(let place, let time):
            "relays from \(place), asked for within \(Int(time / .milliseconds(1))) ms"
        case .unknownHost: "is not known: no computer has that name"
        case .forbidden: "has an address that nobody elsewhere may name: it is this computer's own, or link-local"
        case .silent: "does not answer"
        case .unreachable(let why): "cannot be reached: \(why)"
        case .untrusted(let why): "is not trusted: \(why)"
        case .refused(401, _), .refused(431, _), .refused(441, _): "does not accept the user name and credential"
        case .refused(300, _): "sends its users to another server, which share does not follow"
        case .refused(486, _): "has given this user as many relays as it may have (486)"
        case .refused(508, _): "is full (508)"
        case .refused(let code, let reason): "refuses (\(code): \(reason))"
        case .strange: "answers, but not as a STUN or TURN server"
        }
    }

    /// The advice for the user; empty if the check succeeded.
    public var remedy: String {
        switch self {
        case .answers, .relays: ""
        case .unknownHost: "check its name, and this machine's name service"
        case .forbidden: "name it yourself if you want to use it"
        case .silent: "check address and port; if they are right, a firewall drops it: try ?transport=tcp, or turns:"
        case .unreachable: "check address and port, and that the server runs"
        case .untrusted: "check the name against its certificate; SSL_CERT_FILE may name a file with your own authority"
        case .refused(401, _), .refused(431, _), .refused(441, _):
            "check USER in --turn and SHARE_TURN_CREDENTIAL; time-limited ones may be over"
        case .refused(300, _): "name that other server"
        case .refused(486, _), .refused(508, _): "wait, or use another server"
        case .refused: "ask who runs the server"
        case .strange: "check address and port"
        }
    }
}
