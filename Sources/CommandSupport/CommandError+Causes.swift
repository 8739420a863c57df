package import Admission
package import Identifiers

extension CommandError {
    /// A text that is no link, or one of another kind.
    package init(_ error: LinkError) {
        let remedy =
            switch error {
            case .isOfService:
                "Install it with share extension install LINK, and broadcast to it with share host --preferred-extension ID."
            case .isOfBroadcast:
                "Watch it: share join LINK. A service's link is printed by share service or share relay."
            case .unknownVersion, .unknownFlags: ""
            default: "Copy it again, all of it."
            }
        self.init(sentence: error.description, remedy: remedy, status: .badLink)
    }
}

extension PairingFailure {
    /// The name of the case, in the events of `--json`.
    package var code: String {
        switch self {
        case .declined: "declined"
        case .setup: "setup"
        case .refused: "refused"
        case .unanswered: "unanswered"
        case .unknownService: "unknownService"
        case .certificateChanged: "certificateChanged"
        case .busy: "busy"
        case .gone: "gone"
        case .timedOut: "timedOut"
        case .wrongSignature: "wrongSignature"
        case .wrongSecret: "wrongSecret"
        case .unreachable: "unreachable"
        case .malformed: "malformed"
        }
    }

    package var status: ExitStatus {
        switch self {
        case .declined: .declined
        case .setup: .usage
        case .refused, .wrongSecret: .refused
        case .unanswered, .timedOut: .unanswered
        case .unknownService: .unknownService
        case .certificateChanged, .wrongSignature, .malformed: .untrusted
        case .busy: .serviceBusy
        case .gone: .lost
        case .unreachable: .unreachable
        }
    }
}

/// Runs a verb, and reports an error.
package func complaining(_ body: () throws -> Void) throws {
    do {
        try body()
    } catch let error as CommandError {
        throw error.report()
    }
}
