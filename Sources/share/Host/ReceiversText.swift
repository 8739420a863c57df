import CommandSupport
import Host
import MediaCore
import PeerConnection

/// Who receives a broadcast, in words: "3 viewers", "to "Relay", 3 viewers, encrypted" where the relay cannot watch, or
/// "to "Conference"" where the service does not tell how many watch, with the likes that it tells. The status line,
/// `share status` and the tray use it.
enum ReceiversText {
    static func text(viewers: Int, _ destination: BroadcastReceiver?) -> String {
        let count = "\(viewers) viewer\(viewers == 1 ? "" : "s")"
        guard let destination else { return count }
        if destination == .file { return "to a file" }
        let name = "to " + UntrustedText.quote(UntrustedText.clean(destination.name, fallback: "a service"))
        let likes = destination.likes.map { "\($0) like\($0 == 1 ? "" : "s")" }
        let told = [
            destination.countsViewers ? count : nil, likes, destination.isEncrypted == true ? "encrypted" : nil,
        ]
        return ([name] + told.compactMap(\.self)).joined(separator: ", ")
    }

    /// The newest comment that a service tells: `"Anna": "nice"`.
    static func comment(_ destination: BroadcastReceiver?) -> String? {
        guard let comment = destination?.comment else { return nil }
        return "\(UntrustedText.quote(comment.from ?? "")): \(UntrustedText.quote(comment.text))"
    }
}
