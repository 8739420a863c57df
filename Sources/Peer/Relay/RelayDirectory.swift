import Admission
import FoundationEssentials
import Identifiers
import MediaCore
import Service
import Signaling
import Synchronization

/// The hosts and services with a tunnel over a relay's server, and the broadcasts in its directory. Safe from any
/// thread.
final class RelayDirectory: Sendable {
    private struct State {
        /// The hosts and services that are reached over the server.
        var tunnels: [SessionID: TunnelID] = [:]
        /// The broadcasts in the directory.
        var listed: [SessionID: BroadcastID] = [:]
        /// The application that each shows now, if its host has told.
        var shown: [SessionID: ApplicationInfo] = [:]
    }

    /// An entry that is new or has changed; nil: it was removed.
    typealias Change = (id: BroadcastID, entry: DirectoryEntry?)

    private let session: ServiceSession
    private let linkHost: String
    /// SHA-256 of the relay's certificate, 32 bytes.
    private let fingerprint: [UInt8]
    private let state = Mutex(State())

    /// - Parameter linkHost: the name or address in links.
    init(_ session: ServiceSession, linkHost: String, fingerprint: [UInt8]) {
        self.session = session
        self.linkHost = linkHost
        self.fingerprint = fingerprint
    }

    // MARK: Tunnels

    /// - Returns: false if no further session is taken.
    func open(_ session: SessionID, _ id: TunnelID) -> Bool {
        guard self.session.takesSessions else { return false }
        state.withLock { $0.tunnels[session] = id }
        return true
    }

    /// - Returns: nil for a session that is none of a tunnel.
    func close(_ session: SessionID) -> TunnelID? { state.withLock { $0.tunnels.removeValue(forKey: session) } }

    var tunnelCount: Int { state.withLock { $0.tunnels.count } }

    /// Whether hosts are reached over the server. Services, which have no end, do not count.
    var hasTunnels: Bool {
        state.withLock { $0.tunnels.values.contains { if case .broadcast = $0 { true } else { false } } }
    }

    // MARK: Entries

    /// - Parameter served: the session among them whose broadcast can be watched at this relay, and where.
    /// - Returns: also the session, and whether it was not listed before.
    func list(
        _ listing: Listing, of application: ApplicationInfo, by sessions: [SessionID],
        served: (session: SessionID, link: Link, codec: VideoCodec?)?
    ) -> (ListingOutcome, (session: SessionID, entry: DirectoryEntry, isNew: Bool)?) {
        guard let directory = session.directory else { return (.notLive, nil) }
        return state.withLock { state in
            let (session, link, codec, route): (SessionID, Link, VideoCodec?, DirectoryEntry.Route)
            if let tunnelled = sessions.first(where: { state.tunnels[$0] != nil }) {
                guard let given = listing.link, .broadcast(given.id) == state.tunnels[tunnelled],
                    given.relay == fingerprint
                else { return (.wrongLink, nil) }
                // The host may know this relay by another name.
                (session, link, codec, route) = (
                    tunnelled, given.at(host: linkHost, port: self.session.port), nil,
                    listing.isRelayOnly ? .relay : .direct
                )
            } else if let served, self.session.has(served.session) {
                (session, link, codec, route) = (served.session, served.link, served.codec, .relay)
            } else {
                return (.notLive, nil)
            }
            let known = directory.with { $0[link.id.text]?.entry }
            let application = state.shown[session] ?? application
            let entry = DirectoryEntry(
                link, title: listing.title, application: application, region: directory.region,
                viewers: state.tunnels[session] == nil ? known?.viewers ?? 0 : listing.viewers,
                since: known?.since ?? Int(Date().timeIntervalSince1970), codec: codec?.rawValue,
                route: route, isEncrypted: state.tunnels[session] != nil && listing.isEncrypted)
            let icon = application.icon
            guard directory.with({ $0.put(.init(entry, icon: icon)) }) else { return (.full, nil) }
            let isNew = state.listed.updateValue(link.id, forKey: session) == nil
            return (.listed, (session, entry, isNew))
        }
    }

    func unlist(_ sessions: [SessionID]) -> [Change] {
        state.withLock { state in
            let unlisted = sessions.compactMap { state.listed.removeValue(forKey: $0) }
            for id in unlisted { session.directory?.with { $0.remove(id.text, of: nil) } }
            return unlisted.map { ($0, nil) }
        }
    }

    /// Forgets a session that has ended.
    func remove(_ session: SessionID) -> [Change] {
        state.withLock { $0.shown[session] = nil }
        return unlist([session])
    }

    /// Takes note of the application that broadcasts show now.
    /// - Returns: those of the sessions that there are, and the entries that have changed.
    func annotate(_ application: ApplicationInfo, by sessions: [SessionID]) -> (known: [SessionID], [Change]) {
        state.withLock { state in
            let known = sessions.filter { session.has($0) || state.tunnels[$0] != nil }
            let changes: [Change] = known.compactMap { session in
                state.shown[session] = application
                guard let id = state.listed[session] else { return nil }
                return self.session.directory?.with { $0.setApplication(application, of: id.text) }.map { (id, $0) }
            }
            return (known, changes)
        }
    }

    /// Takes note of how many watch a broadcast.
    func note(viewers: Int, of session: SessionID) {
        guard let id = state.withLock({ $0.listed[session] }) else { return }
        self.session.directory?.with { $0.setViewers(viewers, of: id.text) }
    }
}
