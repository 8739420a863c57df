import ICETransport

/// The ICE agents of one path: the one in use, the one of a restart, the previous one, and those that are closing. They
/// are numbered from 0 in the order of their creation. Confined to the network loop.
final class ICEAgentSet {
    /// The agent that packets are sent with.
    private(set) var current: ICEAgent
    /// The agent of a restart, until it has a selected pair.
    private(set) var next: ICEAgent?
    /// The agent from before the last restart, until authentic packets arrive by the new one.
    private(set) var former: ICEAgent?
    private var closing: [ICEAgent] = []
    private(set) var newestNumber = 0
    private(set) var currentNumber = 0

    /// The limit of a path's agents: in use, of a restart, the previous one, and some that are closing.
    static let limit = 6

    init(_ first: ICEAgent) { current = first }

    /// The newest agent, which gets the other side's credentials and candidates.
    var newest: ICEAgent { next ?? current }

    var isFull: Bool { all.count >= Self.limit }

    private var all: [ICEAgent] { [current, next, former].compactMap { $0 } + closing }

    /// Adds the agent of a restart. An unfinished earlier restart is given up.
    func add(_ agent: ICEAgent) {
        newestNumber += 1
        dropNext()
        next = agent
    }

    /// Gives up an unfinished restart.
    func dropNext() {
        dismiss(next)
        next = nil
    }

    /// Uses the restart's agent from now on; called when it has a selected pair.
    func useNext() {
        guard let agent = next else { return }
        dropFormer()
        former = current
        current = agent
        next = nil
        currentNumber = newestNumber
    }

    func dropFormer() {
        dismiss(former)
        former = nil
    }

    /// Closes all agents, and calls back on the loop when they are closed.
    func close(_ done: @escaping () -> Void) {
        closeAll(all, with: { $0.close($1) }, then: done)
    }

    private func dismiss(_ agent: ICEAgent?) {
        guard let agent else { return }
        closing.append(agent)
        agent.close { [weak self] in self?.closing.removeAll { $0 === agent } }
    }
}
