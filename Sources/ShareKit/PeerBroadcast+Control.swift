internal import Admission
internal import Host
internal import Identifiers
internal import MediaCore

/// What the app's user can do with a running broadcast.
extension PeerBroadcast {
    /// A viewer with the session that it has now.
    public struct Viewer: Sendable, Identifiable {
        /// Stays the same as long as the session, and is not used again.
        public let id: Int
        /// The name that the viewer gave; not verified.
        public let name: String
        /// "share", "Firefox", ...; not verified.
        public let program: String
        /// The IP address from which the viewer asked, without port. Over a relay it is what the relay says.
        public let address: String
        /// Four words that the viewer's screen showed when it was let in.
        public let words: String
        /// Whether it says that it records.
        public let records: Bool
        /// The relay sends to it, and not the app.
        public let isAtRelay: Bool
        /// How long it receives the frames; nil before that.
        public let watchedFor: Duration?
        /// What it may do beside watching.
        public let participation: Set<Participation>
        let session: SessionID
    }

    /// Stops capturing; the viewers are told and keep the last frame.
    /// - Returns: false if it is paused already, or does not run.
    @discardableResult
    public func pause() async -> Bool { await control.pause() }

    /// Continues a paused broadcast; the viewers are told.
    /// - Returns: false if it is not paused, or does not run.
    @discardableResult
    public func resume() async -> Bool { await control.resume() }

    /// Whether the broadcast is paused; false after its end.
    public func isPaused() async -> Bool { await control.isPaused() }

    /// Mutes the app's audio, or passes it again.
    /// - Returns: false if the source has no audio, or the broadcast has ended.
    @discardableResult
    public func setAudioMuted(_ isMuted: Bool) -> Bool { control.setAudioMuted(.applicationAudio, isMuted) }

    /// Whether the app's audio is muted; false without audio.
    public var isAudioMuted: Bool { control.audioTracks.first { $0.kind == .applicationAudio }?.isMuted ?? false }

    /// The viewers, in the order in which they came; those at a relay as far as the relay tells.
    public func viewers() async -> [Viewer] {
        // The relay itself is none.
        await control.viewers().filter { !$0.description.isPublication }.map { Viewer($0) }
    }

    /// Writes a comment, which all viewers get.
    /// - Parameter text: one line; what is over 500 characters is left out.
    /// - Returns: false if nothing of it is visible, after the end, and over a relay.
    @discardableResult
    public func say(_ text: String) async -> Bool { await control.say(text) }

    /// Lets a viewer take part in one way, or not any more, until it leaves. It is told. Who gets the control takes it
    /// from another viewer.
    /// - Returns: false if there is no such viewer any more, over a relay, and for control that no option allows.
    @discardableResult
    public func allow(_ participation: Participation, _ isAllowed: Bool = true, of viewer: Viewer) async -> Bool {
        await control.set(participation.right, to: isAllowed ? .yes : .no, of: viewer.session) != nil
    }

    /// Takes the control of the app back from the viewer that has it.
    /// - Returns: false if nobody has it.
    @discardableResult
    public func takeControlBack() async -> Bool { await control.takeControlBack() }

    /// Removes a viewer: tells it so and ends its sessions. If it asks again, `accept` decides anew.
    /// - Returns: false if there is no such viewer any more.
    @discardableResult
    public func remove(_ viewer: Viewer) async -> Bool { await control.remove(viewer: viewer.session) != nil }
}

extension PeerBroadcast.Viewer {
    init(_ viewer: ViewerSessionInfo) {
        self.init(
            id: viewer.number, name: viewer.description.name, program: viewer.description.kind,
            address: viewer.description.address, words: viewer.description.words, records: viewer.description.records,
            isAtRelay: viewer.isAtRelay, watchedFor: viewer.connectedFor.map { Duration($0) },
            participation: Set(Participation.allCases.filter { viewer.rights?[$0.right] == .yes }), session: viewer.id)
    }
}
