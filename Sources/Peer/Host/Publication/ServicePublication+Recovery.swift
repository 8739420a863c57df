import EventLoop
import HTTP
import Identifiers
import LinuxRuntime
import PeerConnection
import SessionDescription
import Signaling

/// Recovers the connection to the service.
extension ServicePublication {
    /// How long a restart of ICE may take before the next one begins.
    private static let restartInterval = Duration.seconds(3)
    /// How many restarts fail before other relays are tried.
    private static let restartLimit = 2

    /// Restarts ICE until packets of the service arrive again. The session ends 30 s after the last packet.
    func recover() async {
        var restarts = 0
        await useServers()
        while let session = state.with({ $0.isInterrupted ? $0.session : nil }) {
            if restarts == Self.restartLimit, otherPlaces != nil {
                return outcome.fulfil(EndReason(.connectionLost, "nothing comes from \(service.name) any more"))
            }
            restarts += 1
            let begin = ContinuousClock.now
            do throws(SignalingError) {
                _ = try await restart(session)
            } catch {
                // A relay that has started anew does not know the service yet.
                if error.code == .gone, !service.isOverRelay {
                    return outcome.fulfil(
                        EndReason(.serviceEnded, "\(service.name) does not know this broadcast any more"))
                }
            }
            try? await Task.sleep(until: begin + Self.restartInterval, clock: .continuous)
        }
    }

    /// Restarts ICE once, if this side can now.
    /// - Returns: whether the endpoint has answered with credentials of its own.
    /// - Throws: why the endpoint does not.
    func restart(_ session: SessionID) async throws(SignalingError) -> Bool {
        let fragment: String? = await withCheckedContinuation { continuation in
            let isRunning = core.perform { $0.restart(session) { continuation.resume(returning: $0) } }
            if !isRunning { continuation.resume(returning: nil) }
        }
        guard let fragment else { return false }
        let answer = try await service.restart(fragment, timeout: Self.restartInterval)
        guard let parsed = try? TrickleFragment.parse(answer.fragment), parsed.credentials != nil else { return false }
        await core.ifRunning { $0.resume(session, parsed) }
        return true
    }
}
