public import MediaCore

/// The reason for the end of a session.
public struct EndReason: Error, Sendable, Equatable {
    public enum Code: String, Sendable {
        /// The user on this side ended it.
        case stopped
        /// The host ended it.
        case hostEnded
        /// The viewer left.
        case viewerLeft
        /// The host's user removed the viewer.
        case removed
        case refused, unanswered, wrongSecret, untrusted, unreachable, badLink
        /// No packets arrived any more, or ICE selected no pair.
        case connectionLost, noRoute
        case sourceGone, portUnavailable, failed
        /// The service ended the broadcast, or takes none now.
        case serviceEnded, serviceBusy
        /// There is no such service, or the extension that names it is unusable.
        case unknownService
        /// The viewer cannot decode the broadcast's video.
        case unsupportedCodec
    }
    public var code: Code
    /// The reason as a sentence for people.
    public var sentence: String
    public var remedy: String
    /// The candidates and servers that were tried, with `noRoute` and `connectionLost`.
    public var connectivity: ConnectivityReport?
    /// Of the broadcast, with `unsupportedCodec`; nil if that is not known.
    public var videoCodec: VideoCodec?

    public init(_ code: Code, _ sentence: String, remedy: String = "") {
        self.code = code
        self.sentence = sentence
        self.remedy = remedy
    }

    /// The reason for a session whose screen, or whose window, is gone.
    package init(_ failure: SourceFailure) { self.init(.sourceGone, failure.message, remedy: failure.remedy) }

    /// The reason for a session without a connection.
    package init(_ report: ConnectivityReport, other: String) {
        self.init(.noRoute, report.sentence(other: other), remedy: report.remedy(other: other))
        connectivity = report
    }

    /// The reason for a viewer's session that ends because the host has sent the viewer to a relay.
    public static let moved = EndReason(.viewerLeft, "the viewer watches at the relay")
    /// The reason for a viewer's session that the viewer's next session replaces.
    public static let replaced = EndReason(.viewerLeft, "the viewer came again")
    /// The reason for a publisher's session that the publisher's next session replaces.
    public static let republished = EndReason(.connectionLost, "the publisher came again")
}
