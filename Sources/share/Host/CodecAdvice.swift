import MediaCore
import PeerConnection

extension EndReason {
    /// The reason, with what the user can do about video that this machine cannot decode.
    var withCodecAdvice: EndReason {
        guard code == .unsupportedCodec else { return self }
        var reason = self
        let others = "open the link in a browser, or save it with: share record"
        let library: String? =
            switch videoCodec {
            case .h264, .h265: "libavcodec59"
            case .av1: "libdav1d6"
            case .vp8, .vp9, nil: nil
            }
        reason.remedy =
            library.map { "Install \($0), \(others)." } ?? "Open the link in a browser, or save it with: share record."
        return reason
    }
}
