import Admission
import EventLoop
import ICEServers
import LinuxRuntime
import Publishing
import Receiving
import Signaling
import Transport

/// Uses the STUN and TURN servers that an endpoint names with its answer (RFC 9725 section 4.6).
extension ServicePublication {
    /// A connection that comes about within this time needs no servers.
    private static let directTime = Duration.seconds(2)

    /// Has the next gathering use these servers. If there is no connection after `directTime`, ICE is restarted with them
    /// or, where the endpoint takes no restart, the session is opened again.
    func use(_ servers: [ICEServer]) async {
        let begin = ContinuousClock.now
        let resolver = ICEServerResolver(servers)
        let isFirst = state.with { state in
            guard state.servers == nil, !state.hasEnded, !state.isFinal else { return false }
            state.servers = resolver
            return true
        }
        guard isFirst else { return }
        let addresses = await resolver.addresses()
        guard !addresses.isEmpty, let session = state.with({ $0.session }) else { return }
        await core.ifRunning { $0.use(addresses, for: session) }
        try? await Task.sleep(until: begin + Self.directTime, clock: .continuous)
        guard state.with({ $0.session == session && !$0.isConnected && !$0.hasEnded && !$0.isFinal }) else { return }
        do throws(SignalingError) {
            try await restart(session)
        } catch {
            await reopen(session)
        }
    }

    private func reopen(_ session: SessionID) async {
        let isWanted = state.with { state in
            guard state.session == session, !state.isConnected else { return false }
            // Its end is not that of the publication.
            state.session = nil
            return true
        }
        guard isWanted else { return }
        await core.ifRunning { $0.close(session) }
        do throws(EndReason) {
            try await open()
        } catch {
            outcome.settle(error)
        }
    }

    func closeServers() async {
        let servers = state.with { $0.servers }
        await servers?.close()
    }
}
