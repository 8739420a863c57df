import FoundationEssentials
import HTTP
import LinuxRuntime
import Synchronization

/// Gets the STUN and TURN servers of a service or relay anew before their credentials expire, as long as the pairing
/// lasts. Safe from any thread.
package final class ICEServerRenewal: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isStopped = false
    }

    private let use: @Sendable (GrantedServers) async -> Void
    private let state = Mutex(State())

    /// After half of the time for which credentials are still valid they are got anew, but not earlier than this. The
    /// other side decides how long they are valid.
    private static let shortestTime = Duration.seconds(2)
    /// After so many renewals they are got anew each 30 s at most.
    private static let quickRenewals = 8
    /// After a failure.
    private static let failureTime = Duration.seconds(60)

    /// - Parameter use: gets the servers when they have changed.
    package init(use: @escaping @Sendable (GrantedServers) async -> Void) { self.use = use }

    /// Keeps the servers of this pairing valid, and no longer those of the one before.
    /// - Parameters:
    ///   - servers: as they were granted.
    ///   - usesThem: they are not in use yet.
    package func follow(_ client: ServiceClient, _ granted: GrantedServers, usesThem: Bool = false) {
        state.withLock { state in
            state.task?.cancel()
            state.task = nil
            guard !state.isStopped, usesThem || granted.servers.expiry != nil else { return }
            state.task = Task { [use] in
                var granted = granted
                if usesThem {
                    // Those that were granted may have expired meanwhile.
                    granted.servers = (try? await client.iceServers()) ?? granted.servers
                    guard !Task.isCancelled else { return }
                    await use(granted)
                }
                await Self.renew(
                    granted, fetch: { try await client.iceServers() }, use: use)
            }
        }
    }

    package func stop() {
        state.withLock { state in
            state.isStopped = true
            state.task?.cancel()
        }
    }

    /// Keeps the credentials valid until the task is cancelled. Returns if they do not expire.
    /// - Parameters:
    ///   - fetch: asks the other side for its servers.
    ///   - use: gets them.
    package static func renew(
        _ granted: GrantedServers, fetch: @Sendable () async throws -> [ICEServer],
        use: @Sendable (GrantedServers) async -> Void
    ) async {
        var granted = granted
        guard var expiry = granted.servers.expiry else { return }
        var wait = time(until: expiry, renewals: 0)
        var renewals = 0
        while (try? await Task.sleep(for: wait)) != nil {
            do {
                granted.servers = try await fetch()
                guard !Task.isCancelled else { return }
                await use(granted)
                guard let next = granted.servers.expiry else { return }
                expiry = next
                renewals += 1
                wait = time(until: expiry, renewals: renewals)
            } catch {
                // The relay may have gone for a while; an older one does not tell its servers.
                wait = failureTime
            }
        }
    }

    private static func time(until expiry: Date, renewals: Int) -> Duration {
        max(renewals < quickRenewals ? shortestTime : .seconds(30), .seconds(max(0, expiry.timeIntervalSinceNow) / 2))
    }
}
