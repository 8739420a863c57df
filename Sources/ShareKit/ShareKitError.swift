internal import Admission
internal import MediaCore
internal import PeerConnection

/// Why something of ShareKit failed or ended.
public struct ShareKitError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of an error, for programs; people read ``ShareKitError/message`` and ``ShareKitError/remedy``.
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
        /// The broadcast's video has a codec that this machine cannot decode.
        case unsupportedCodec
        /// There is no such service, or its extension cannot be used.
        case unknownService
        /// This side's user does not want to be captured, or to broadcast to the service.
        case declined
        /// A value for the service's fields is missing or too long, and was given again; or what a service says of
        /// itself cannot be published.
        case badSetup
        /// The service takes no further broadcast.
        case busy
        /// The service has ended the broadcast or the pairing.
        case serviceEnded
        /// The service is a relay, which would get the broadcast in clear, and the app has not allowed that.
        case relayCouldWatch
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
        /// Nothing of the kind runs: no recording, no clip buffer, no broadcast.
        case notRunning
        /// What is captured has gone, as the display has.
        case sourceGone
        /// Nothing was recorded, or nothing is there yet that a clip or a part could have.
        case nothingRecorded
        /// A file cannot be written, exists already, or is no recording.
        case badFile
        /// There is no sound server.
        case noSoundServer
        /// There is no session bus, or no desktop.
        case noDesktop
        /// The program `share` cannot be started.
        case noProgram
        /// The port is taken, or cannot be opened.
        case portUnavailable
        /// An encoder, an identity or a thread is not available.
        case failed
    }
    /// What a program can act on.
    public let code: Code
    /// The cause as a sentence for people, with its full stop.
    public let message: String
    /// What to do about it, in whole sentences; empty if nothing helps.
    public let remedy: String

    init(_ code: Code, _ message: String, remedy: String = "") {
        self.code = code
        self.message = Self.sentence(message)
        self.remedy = Self.sentence(remedy)
    }

    /// Adds the full stop that messages of the command line do without.
    private static func sentence(_ text: String) -> String {
        guard let last = text.last(where: { !"\"')".contains($0) }), !".!?:".contains(last) else { return text }
        return text + "."
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
            case .sourceGone: .sourceGone
            case .portUnavailable: .portUnavailable
            case .removed: .refused
            case .unsupportedCodec: .unsupportedCodec
            case .stopped, .hostEnded, .viewerLeft, .failed: .failed
            }
        self.init(code, reason.sentence, remedy: reason.remedy)
    }

    init(_ failure: PairingFailure) {
        let code: Code =
            switch failure {
            case .declined: .declined
            case .setup: .badSetup
            case .refused, .wrongSecret: .refused
            case .unanswered, .timedOut: .unanswered
            case .unknownService: .unknownService
            case .certificateChanged, .wrongSignature, .malformed: .untrusted
            case .busy: .busy
            case .gone: .serviceEnded
            case .unreachable: .unreachable
            }
        self.init(code, failure.description)
    }

    /// The message, and the remedy if there is one.
    public var description: String { remedy.isEmpty ? message : "\(message) \(remedy)" }
}
