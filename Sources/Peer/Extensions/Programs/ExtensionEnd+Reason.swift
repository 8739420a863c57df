import ExtensionChannel
import MediaCore
import PeerConnection

extension ExtensionEnd {
    /// The end of a broadcast to the program of the extension of this name.
    func reason(of name: String) -> EndReason {
        let name = UntrustedText.quote(name)
        return switch self {
        case .finished: EndReason(.serviceEnded, "\(name) has ended")
        case .cancelled: EndReason(.stopped, "\(name) was not set up")
        case .reported(let reason, let nextStep):
            EndReason(
                .serviceEnded, "\(name) ended it: \(UntrustedText.clean(reason, limit: 256, fallback: "no reason"))",
                remedy: UntrustedText.clean(nextStep ?? "", limit: 256, fallback: ""))
        case .notStarted(let code):
            EndReason(
                .unknownService, "the program of \(name) cannot be started (error \(code))",
                remedy: "Install the extension again.")
        case .untrusted(let sentence):
            EndReason(
                .unknownService,
                "the program of \(name) is not run, as others can replace it: "
                    + UntrustedText.clean(sentence, limit: 1_024, fallback: "its folder"),
                remedy: "Look at it before it becomes yours alone, or install the extension again.")
        case .exited(let code):
            EndReason(.serviceEnded, "the program of \(name) has ended without a reason (exit code \(code))")
        case .crashed(let signal): EndReason(.serviceEnded, "the program of \(name) has crashed (signal \(signal))")
        case .disconnected: EndReason(.serviceEnded, "the program of \(name) has closed its connection")
        case .noAnswer:
            EndReason(.unanswered, "the program of \(name) does not answer", remedy: "Install the extension again.")
        case .otherVersion(let version):
            EndReason(
                .unknownService,
                "the program of \(name) speaks version \(version) of the extension protocol, not "
                    + "\(ExtensionStart.currentVersion)", remedy: "Install a current version of the extension.")
        case .unresponsive: EndReason(.serviceEnded, "the program of \(name) takes no samples any more")
        case .overMemoryBudget(let used, let budget):
            EndReason(
                .serviceEnded,
                "the program of \(name) uses \(used / 1_000_000) MB of memory, and may use \(budget / 1_000_000) MB")
        case .malformed: EndReason(.serviceEnded, "the program of \(name) has sent what is no message")
        case .flooding: EndReason(.serviceEnded, "the program of \(name) has sent too many messages")
        }
    }
}
