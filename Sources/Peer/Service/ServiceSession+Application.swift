public import Admission
public import Identifiers
import LinuxRuntime
import Signaling

/// Which application a broadcast shows, as its host tells on each change.
extension ServiceSession {
    public func annotate(_ application: ApplicationInfo, by sessions: [SessionID]) async -> Bool {
        let (known, changed): ([SessionID], [(BroadcastID, DirectoryEntry)]) = state.with { state in
            let known = sessions.filter { state.broadcasts[$0] != nil || state.tunnels[$0] != nil }
            var changed: [(BroadcastID, DirectoryEntry)] = []
            for session in known {
                state.shown[session] = application
                guard let id = state.listed[session], let directory = state.server?.directory,
                    let entry = directory.with({ $0.setApplication(application, of: id.text) })
                else { continue }
                changed.append((id, entry))
            }
            return (known, changed)
        }
        for (id, entry) in changed { configuration.noteListing?(id, entry) }
        for session in known { emit(.annotated(session, application)) }
        return !known.isEmpty
    }
}
