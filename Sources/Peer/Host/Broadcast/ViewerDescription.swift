import Admission
import Identity
package import MediaCore

/// The limits and rights of a broadcast's viewers, as its host or relay sets them.
public struct ViewerPolicy: Sendable {
    /// Maximum number of concurrent viewers.
    public var maximum: Int
    /// Returns the bitrate limit of one viewer, which applies if it is less than the broadcast's; nil for none.
    package var bitrateLimit: (@Sendable (ViewerDescription) -> Bitrate?)?
    /// What viewers of this host may say, without a tunnel; nil: nothing.
    public var messages: MessagePolicy?
    /// Whether viewers of this host are told the names of those who watch.
    public var areShown = false

    public init(maximum: Int) { self.maximum = maximum }
}

/// A viewer or a knocking client, as it is shown to people.
public struct ViewerDescription: Sendable, Equatable {
    public var name: String
    /// "browser", "share", ...
    public var kind: String
    public var address: String
    /// The four words of the viewer's knock, which it shows too; empty for a player with the fixed token.
    public var words: String
    /// The viewer says that it records.
    public var records: Bool
    /// The viewer has found the broadcast on the local network, and does not have the link.
    public var isFromAnnouncement = false
    /// It is no viewer, but a service or relay to which this host publishes.
    package var isPublication = false
    /// What is sent to it is encrypted for its viewers.
    package var isSealed = false

    public init(name: String, kind: String, address: String, words: String, records: Bool = false) {
        self.name = name
        self.kind = kind
        self.address = address
        self.words = words
        self.records = records
    }

    /// With the words of its knock.
    init(_ viewer: Viewer) { self.init(viewer, words: viewer.words?.description ?? "") }

    init(_ viewer: Viewer, words: String) {
        self.init(
            name: viewer.name, kind: viewer.kind, address: viewer.address, words: words, records: viewer.records)
        isFromAnnouncement = viewer.isFromAnnouncement
    }
}
