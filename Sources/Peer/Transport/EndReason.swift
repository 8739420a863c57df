/// Why a session is over.
public struct EndReason: Error, Sendable, Equatable {
    public enum Code: String, Sendable {
        /// The person here ended it.
        case stopped
        /// The host ended it.
        case hostEnded
        /// The viewer left.
        case viewerLeft
        case refused, unanswered, wrongSecret, untrusted, unreachable, badLink
        /// Nothing came any more, or ICE found no way.
        case connectionLost, noRoute
        case sourceGone, portUnavailable, failed
    }
    public var code: Code
    /// For a person.
    public var sentence: String
    public var remedy: String
    /// With `noRoute` and `connectionLost`: what was tried.
    public var connectivity: ConnectivityReport?

    public init(_ code: Code, _ sentence: String, remedy: String = "") {
        self.code = code
        self.sentence = sentence
        self.remedy = remedy
    }

    /// There is no way for the media.
    package init(_ report: ConnectivityReport, other: String) {
        self.init(.noRoute, report.sentence(other: other), remedy: report.remedy(other: other))
        connectivity = report
    }

    /// A viewer's session whose place its next one takes.
    public static let replaced = EndReason(.viewerLeft, "the viewer came again")
}
