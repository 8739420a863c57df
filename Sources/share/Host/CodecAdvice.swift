import MediaCore
import PeerConnection
import ShareKit

extension EndReason {
    /// The reason, with what the user can do about video that this machine cannot decode.
    var withCodecAdvice: EndReason {
        guard code == .unsupportedCodec else { return self }
        var reason = self
        let others = "open the link in a browser, or save it with: share record"
        reason.remedy =
            (videoCodec?.decoder.library).map { "Install \($0.package), \(others)." }
            ?? "Open the link in a browser, or save it with: share record."
        return reason
    }
}
