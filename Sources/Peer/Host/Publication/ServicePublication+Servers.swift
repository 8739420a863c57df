import EventLoop
import HTTP
import Identifiers
import LinuxRuntime
import PeerConnection
import Signaling

/// Uses the STUN and TURN servers that an endpoint names with its answer (RFC 9725 section 4.6).
extension ServicePublication {
    /// A connection that comes about within this time needs no servers.
    private static let directTime = Duration.seconds(2)
    /// Before the session is offered again to an endpoint that still has the former one.
    private static let reopenPause = Duration.seconds(2)

    /// Takes note of the servers that came with the answer.
    /// - Returns: whether there are any.
    func takeServers() -> Bool {
        let granted = service.grantedServers
        guard !granted.servers.isEmpty else { return false }
        return state.with { state in
            guard !state.isOver else { return false }
            state.usesServers = false
            if let resolver = state.serverResolver {
                resolver.use([], granted: granted)
            } else {
                state.serverResolver = ICEServerResolver(granted: granted)
            }
            return true
        }
    }

    /// Has restarts of ICE use the servers that the endpoint has named. Looks their addresses up, once for each answer.
    /// - Returns: whether there are any.
    @discardableResult
    func useServers() async -> Bool {
        let (resolver, session) = state.with { state in
            let resolver = state.usesServers ? nil : state.serverResolver
            return (resolver, state.session)
        }
        guard let resolver, let session else { return state.with { $0.usesServers } }
        let addresses = await resolver.addresses()
        guard !addresses.isEmpty else { return false }
        await core.ifRunning { $0.use(addresses, for: session) }
        state.with { $0.usesServers = true }
        return true
    }

    /// If there is no connection after `directTime`, restarts ICE with the servers or, where the endpoint takes no
    /// restart, opens the session again.
    func connectWithServers(_ session: SessionID) async {
        try? await Task.sleep(for: Self.directTime)
        guard await isUnconnected(session), await useServers(), await isUnconnected(session) else { return }
        var isRestarted = false
        do throws(SignalingError) {
            isRestarted = try await restart(session)
        } catch {}
        if !isRestarted { await reopen(session) }
    }

    /// Whether ICE has found no path for the present session.
    private func isUnconnected(_ session: SessionID) async -> Bool {
        guard state.with({ $0.session == session && !$0.isConnected && !$0.isOver }) else { return false }
        return await core.ifRunning { !$0.hasPath(session) } ?? false
    }

    private func reopen(_ session: SessionID) async {
        guard await isUnconnected(session) else { return }
        let isWanted = state.with { state in
            guard state.session == session, !state.isOver else { return false }
            // Its end is not that of the publication.
            state.session = nil
            return true
        }
        guard isWanted else { return }
        await core.ifRunning { $0.close(session) }
        for isLast in [false, true] {
            do throws(EndReason) {
                return try await open()
            } catch {
                if isLast { return outcome.fulfil(error) }
            }
            try? await Task.sleep(for: Self.reopenPause)
        }
    }

    func closeServers() async {
        let resolver = state.with { $0.serverResolver }
        await resolver?.close()
    }
}
