package import HTTP
package import PeerConnection
import PeerEngine

/// Why a step of a session failed, or why the session ended.
struct ViewerFailure: ViewerSessionFailure, Error {
    var reason: EndReason
    /// The server's answer, if that is the cause.
    var error: SignalingError?

    init(_ reason: EndReason) { self.reason = reason }

    init(_ error: SignalingError) {
        reason = EndReason(error)
        self.error = error
    }

    init(_ cause: ViewerSessionCause) {
        reason =
            switch cause {
            case .relayStops: EndReason(.connectionLost, "the relay is about to stop")
            case .relayIsSilent: EndReason(.connectionLost, "nothing comes from the relay any more")
            case .noFrame: EndReason(.connectionLost, "no frame came within 10 s")
            case .attemptEnded: EndReason(.stopped, "the session is over")
            }
    }

    var isQueueFull: Bool { error?.code == .queueFull }
    var isRateLimited: Bool { error?.code == .tooMany }
    var retryAfter: Int? { error?.retryAfter }

    var kind: ViewerSessionFailureKind {
        switch reason.code {
        case .hostEnded where reason == .hostClosed: .mediaClosed
        case .hostEnded: .hostEnded
        case .stopped: .stopped
        case .removed: .removed
        case .connectionLost, .unreachable, .noRoute: .lost
        case .failed: .failed
        default: .refused
        }
    }
}

extension EndReason {
    package init(_ error: SignalingError) {
        let code: Code =
            switch error.code {
            case .connectionRefused, .unreachable, .timedOut, .unknownHost, .oldLink: .unreachable
            case .certificateMismatch, .certificateUntrusted, .hostNotProven, .notAShareHost: .untrusted
            case .wrongSecret: .wrongSecret
            case .refused: .refused
            case .unanswered: .unanswered
            case .gone: .hostEnded
            case .connectionLost: .connectionLost
            case .tooMany, .queueFull, .busy: .serviceBusy
            case .unsupportedCodec: .unsupportedCodec
            case .offerRefused, .identifierInUse: .failed
            }
        self.init(code, error.description, remedy: error.remedy)
        videoCodec = error.videoCodec
    }
}

extension OutageRecovery.AttemptResult {
    /// The result of an ICE restart.
    init(_ error: SignalingError) {
        switch error.code {
        case .gone: self = .gone
        case .offerRefused, .unsupportedCodec: self = .offerRefused
        case .connectionRefused: self = .connectionRefused
        case .refused: self = .notAdmitted
        default: self = .failed
        }
    }

    /// The result of a new session.
    init(_ reason: EndReason) {
        switch reason.code {
        case .hostEnded: self = .gone
        case .refused: self = .notAdmitted
        default: self = .failed
        }
    }
}
