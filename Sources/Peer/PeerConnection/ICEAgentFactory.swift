import EventLoop
import ICETransport
import LinuxRuntime

extension ICEPath {
    /// Limits of the agents and candidates that the other side can cause.
    struct Limits {
        /// nil: agents are only counted within this session.
        var pool: ICEAgentPool?
        var allowance: (any TransportAllowance)?
        var policy: CandidatePolicy
    }
}

/// Makes the ICE agents of one path within its limits. Confined to the network loop.
struct ICEAgentFactory {
    let loop: EventLoop
    var configuration: ICEAgent.Configuration
    let limits: ICEPath.Limits
    /// Receives the events of all agents.
    private let owner = Owner()

    private final class Owner {
        var path: ICEPath?
    }

    /// - Parameter path: held until `release`, as a weak reference would cost more for each datagram.
    func hold(_ path: ICEPath) { owner.path = path }

    /// Releases the path, which is not called any more.
    func release() { owner.path = nil }

    /// Makes an agent, after reserving its place.
    /// - Parameter checkInterval: milliseconds between connectivity checks; nil for the configuration's interval.
    func makeAgent(number: Int, checkInterval: Int? = nil) throws(ICEFailure) -> ICEAgent {
        var configuration = configuration
        if let checkInterval { configuration.checkInterval = checkInterval }
        guard limits.allowance?.takeAgent(now: MonotonicClock.now) ?? true else {
            throw .tooOften
        }
        var reservation: ICEAgentPool.Reservation?
        if let pool = limits.pool {
            let cost = configuration.descriptors(localInterfaceAddresses: ICEAgent.localInterfaceAddresses().count)
            guard let room = pool.reserve(descriptors: cost) else {
                throw ICEFailure("there is no room for another connection")
            }
            reservation = room
        }
        do throws(ICEFailure) {
            return try ICEAgent(
                loop: loop, configuration: configuration,
                handlers: .init(
                    onCandidate: { [owner] in owner.path?.found($0, by: number) },
                    onGatheringDone: { [owner] in owner.path?.gathered(by: number) },
                    onState: { [owner] in owner.path?.changed(to: $0, by: number) },
                    onClosed: { [reservation] in reservation?.release() },
                    onDatagram: { [owner] in owner.path?.received($0, by: number) }))
        } catch {
            reservation?.release()
            throw error
        }
    }
}
