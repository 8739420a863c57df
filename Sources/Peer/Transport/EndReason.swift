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
    public var route: ConnectivityReport?

    public init(_ code: Code, _ sentence: String, remedy: String = "") {
        self.code = code
        self.sentence = sentence
        self.remedy = remedy
    }

    /// There is no way for the media.
    package init(_ route: ConnectivityReport, other: String) {
        self.init(.noRoute, route.sentence(other: other), remedy: route.remedy(other: other))
        self.route = route
    }

    /// A viewer's session whose place its next one takes.
    public static let replaced = EndReason(.viewerLeft, "the viewer came again")
}
