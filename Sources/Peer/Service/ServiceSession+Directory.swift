public import Admission
import FoundationEssentials
public import Identifiers
import Identity
import LinuxRuntime
public import MediaCore
public import Signaling

/// Where the broadcast of a publisher can be watched.
public struct ServedBroadcast: Sendable {
    public var link: Link
    /// Nil without video.
    public var codec: VideoCodec?

    public init(link: Link, codec: VideoCodec?) {
        self.link = link
        self.codec = codec
    }
}

/// The directory: lists the broadcasts that can be watched over this server, if their hosts want that.
extension ServiceSession {
    public func list(
        _ listing: Listing, of application: ApplicationInfo, by sessions: [SessionID]
    ) async -> ListingOutcome {
        let served = sessions.lazy.compactMap { id in self.findServed(id).map { (id, $0) } }.first
        let (outcome, listed): (ListingOutcome, (SessionID, DirectoryEntry, isNew: Bool)?) = state.with { state in
            guard let directory = state.server?.directory else { return (.notLive, nil) }
            let (session, link, codec, route): (SessionID, Link, VideoCodec?, DirectoryEntry.Route)
            if let tunnelled = sessions.first(where: { state.tunnels[$0] != nil }) {
                guard let given = listing.link, .broadcast(given.id) == state.tunnels[tunnelled],
                    given.relay == identity.fingerprint
                else { return (.wrongLink, nil) }
                // The host may know this relay by another name.
                (session, link, codec, route) = (
                    tunnelled, given.at(host: configuration.linkHost, port: state.port), nil, .direct
                )
            } else if let (id, served) = served, state.broadcasts[id] != nil {
                (session, link, codec, route) = (id, served.link, served.codec, .relay)
            } else {
                return (.notLive, nil)
            }
            let known = directory.with { $0[link.id.text]?.entry }
            let application = state.shown[session] ?? application
            let entry = DirectoryEntry(
                link, title: listing.title, application: application, region: directory.region,
                viewers: route == .direct ? listing.viewers : known?.viewers ?? 0,
                since: known?.since ?? Int(Date().timeIntervalSince1970), codec: codec?.rawValue,
                route: route)
            let icon = application.icon
            guard directory.with({ $0.put(.init(entry, icon: icon)) }) else { return (.full, nil) }
            let isNew = state.listed.updateValue(link.id, forKey: session) == nil
            return (.listed, (session, entry, isNew))
        }
        if let (session, entry, isNew) = listed {
            if let id = BroadcastID(entry.id) { configuration.noteListing?(id, entry) }
            if isNew { emit(.listed(session, entry)) }
        }
        return outcome
    }

    public func unlist(_ sessions: [SessionID]) async {
        let unlisted = state.with { state in
            let unlisted = sessions.compactMap { state.listed.removeValue(forKey: $0) }
            for id in unlisted { state.server?.directory?.with { $0.remove(id.text, of: nil) } }
            return unlisted
        }
        for id in unlisted { configuration.noteListing?(id, nil) }
    }

    /// The directory; nil if nothing is listed, or before the start.
    package var directory: DirectoryTable? { state.with { $0.server }?.directory }

    /// Takes note of how many watch a broadcast.
    package func note(viewers: Int, of session: SessionID) {
        let (server, id) = state.with { ($0.server, $0.listed[session]) }
        guard let id else { return }
        server?.directory?.with { $0.setViewers(viewers, of: id.text) }
    }
}
