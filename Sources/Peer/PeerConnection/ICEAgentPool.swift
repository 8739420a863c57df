import EventLoop
import ICETransport

/// Limits the ICE agents of a host, by their number and by their file descriptors. An agent that is closing counts
/// until libnice has released it. Confined to the network loop.
package final class ICEAgentPool {
    package struct Limits: Sendable {
        package var agents: Int
        package var descriptors: Int
        /// Descriptors of the process that have to stay free in any case.
        package var reserve: Int

        package init(agents: Int = 96, descriptors: Int = .max, reserve: Int = 0) {
            self.agents = agents
            self.descriptors = descriptors
            self.reserve = reserve
        }
    }

    /// The place of one agent, until `release`.
    package final class Reservation {
        private var pool: ICEAgentPool?
        private let descriptors: Int

        fileprivate init(_ pool: ICEAgentPool, _ descriptors: Int) {
            self.pool = pool
            self.descriptors = descriptors
        }

        /// Releases the place. May be called more than once.
        func release() {
            guard let pool else { return }
            self.pool = nil
            pool.agents -= 1
            pool.descriptors -= descriptors
        }
    }

    package let limits: Limits
    private(set) var agents = 0
    private(set) var descriptors = 0

    package init(_ limits: Limits) { self.limits = limits }

    /// Reserves a place for an agent.
    /// - Returns: nil if there is no room.
    package func reserve(descriptors count: Int) -> Reservation? {
        guard agents < limits.agents, count <= limits.descriptors - descriptors, hasFree(count) else { return nil }
        agents += 1
        descriptors += count
        return Reservation(self, count)
    }

    /// Whether the process has enough free descriptors now; the plan was made at its start.
    private func hasFree(_ count: Int) -> Bool {
        guard limits.reserve > 0, let open = FileDescriptors.open else { return true }
        return FileDescriptors.limit - open >= count + limits.reserve
    }
}
