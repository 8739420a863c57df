internal import Admission
internal import MediaCore
internal import Transport

/// Why something of ShareKit failed or ended.
public struct ShareKitError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// The text is not a link, or a part of it is missing.
        case badLink
        /// The other peer cannot be reached, or no network path to it works.
        case unreachable
        /// The other peer's user refused.
        case refused
        /// Nobody answered in time.
        case unanswered
        /// The other peer is not the one that the link names.
        case untrusted
        /// Nothing came from the other peer for 30 s.
        case connectionLost
        /// There is no such service, or its extension cannot be used.
        case unknownService
        /// This side's user does not want to be captured, or to broadcast to the service.
        case declined
        /// A value for the service's fields is missing or too long, and was given again; or what a service says of itself
        /// cannot be published.
        case badSetup
        /// The service takes no further broadcast.
        case busy
        /// The service has ended the broadcast or the pairing.
        case serviceEnded
        /// The screen of this session is broadcast already.
        case alreadyBroadcasting
        /// A frame has an impossible size or stride, or lies outside of its shared memory.
        case badFrame
        /// An object was started twice, or used after its end; or the source is being captured already.
        case alreadyStarted
        /// There is no sound server or no microphone, or it has gone.
        case noMicrophone
        /// There is no camera, it has gone, or another program uses it.
        case noCamera
        /// The app has not taken its samples for so long that audio would be lost.
        case overrun
        /// A system broadcast, which takes precedence, or the app has ended a capture.
        case interrupted
        /// An encoder, a port or a thread is not available.
        case failed
    }
    public let code: Code
    /// The cause as a sentence for people.
    public let message: String
    /// What to do about it; empty if nothing helps.
    public let remedy: String

    init(_ code: Code, _ message: String, remedy: String = "") {
        self.code = code
        self.message = message
        self.remedy = remedy
    }

    init(_ reason: EndReason) {
        let code: Code =
            switch reason.code {
            case .unreachable, .noRoute: .unreachable
            case .refused, .wrongSecret: .refused
            case .unanswered: .unanswered
            case .untrusted: .untrusted
            case .badLink: .badLink
            case .connectionLost: .connectionLost
            case .unknownService: .unknownService
            case .serviceBusy: .busy
            case .serviceEnded: .serviceEnded
            default: .failed
            }
        self.init(code, reason.sentence, remedy: reason.remedy)
    }

    init(_ failure: PairingFailure) {
        let code: Code =
            switch failure {
            case .declined: .declined
            case .setup: .badSetup
            case .refused: .refused
            case .unanswered, .timedOut: .unanswered
            case .unknownService: .unknownService
            case .certificateChanged, .wrongSignature, .malformed: .untrusted
            case .busy: .busy
            case .gone: .serviceEnded
            case .unreachable: .unreachable
            }
        self.init(code, failure.description)
    }

    public var description: String { remedy.isEmpty ? message : "\(message) \(remedy)" }
}
