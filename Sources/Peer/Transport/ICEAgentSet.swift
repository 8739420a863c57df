import ICETransport

/// The ICE agents of one path: the one in use, that of a restart, the one from before it, and those that are closing.
/// They are numbered from 0 in the order in which they were made. Confined to the network loop.
final class ICEAgentSet {
    /// Carries what is sent.
    private(set) var current: ICEAgent
    /// Of a restart, until it has a pair.
    private(set) var next: ICEAgent?
    /// From before the last restart, until the new one is heard.
    private(set) var former: ICEAgent?
    private var closing: [ICEAgent] = []
    private(set) var newestNumber = 0
    private(set) var currentNumber = 0

    /// Agents of one path, with those that are closing: in use, of a restart, from before it, and some that are
    /// closing.
    static let limit = 6

    init(_ first: ICEAgent) { current = first }

    /// The newest, which is told what the other side says.
    var newest: ICEAgent { next ?? current }

    var isFull: Bool { all.count >= Self.limit }

    private var all: [ICEAgent] { [current, next, former].compactMap { $0 } + closing }

    /// Takes the agent of a restart; a restart before this one is given up.
    func add(_ agent: ICEAgent) {
        newestNumber += 1
        dropNext()
        next = agent
    }

    /// Gives up a restart.
    func dropNext() {
        dismiss(next)
        next = nil
    }

    /// The agent of the restart has its pair and is used from now on.
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

    /// Calls back on the loop when all are closed.
    func close(_ done: @escaping () -> Void) {
        closeAll(all, with: { $0.close($1) }, then: done)
    }

    private func dismiss(_ agent: ICEAgent?) {
        guard let agent else { return }
        closing.append(agent)
        agent.close { [weak self] in self?.closing.removeAll { $0 === agent } }
    }
}
