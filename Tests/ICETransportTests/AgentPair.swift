import EventLoop
import ICETransport
import TestSupport

/// Two agents on one loop that exchange their candidates.
final class AgentPair: @unchecked Sendable {
    // SAFETY: touched on the loop, except by `connected` before anything runs.
    enum Side: Sendable { case controlling, controlled }

    let loop: EventLoop
    var onDatagram: @Sendable (Side, [UInt8]) -> Void = { _, _ in }
    private var agents: [Side: ICEAgent] = [:]
    private var states: [Side: ICEAgent.State] = [:]
    private let bothConnected = Expectation("the connection")

    init(loop: EventLoop) { self.loop = loop }

    func agent(_ side: Side) -> ICEAgent {
        guard let agent = agents[side] else { preconditionFailure("no agent") }
        return agent
    }

    /// The addresses of the controlling side, set before `connect`; loopback only if nil.
    var controllingAddresses: [String]?

    static func connected(on loop: EventLoop) async throws -> AgentPair {
        let pair = AgentPair(loop: loop)
        try await pair.connect()
        return pair
    }

    func connect() async throws {
        try await loop.run { [self] in try open() }
        try await bothConnected.wait()
    }

    func open() throws {
        for side in [Side.controlling, .controlled] {
            agents[side] = try ICEAgent(
                loop: loop,
                configuration: .init(
                    isControlling: side == .controlling,
                    localAddresses: side == .controlling ? controllingAddresses ?? [] : [], includesLoopback: true),
                handlers: .init(
                    onCandidate: { [unowned self] in
                        try? agents[side == .controlling ? .controlled : .controlling]?.addRemote($0)
                    },
                    onState: { [unowned self] state in
                        states[side] = state
                        if [.connected, .ready].contains(states[.controlling]),
                            [.connected, .ready].contains(states[.controlled])
                        {
                            bothConnected.fulfill()
                        }
                    },
                    onDatagram: { [unowned self] in onDatagram(side, Array($0)) }))
        }
        agent(.controlling).setRemote(agent(.controlled).credentials)
        agent(.controlled).setRemote(agent(.controlling).credentials)
        try agent(.controlling).gather()
        try agent(.controlled).gather()
    }

    @discardableResult
    func send(_ bytes: [UInt8], from side: Side) -> Bool {
        bytes.withUnsafeBytes { agent(side).send($0) }
    }

    func close() async throws {
        for side in [Side.controlling, .controlled] {
            let closed = Expectation("the end")
            loop.perform { [self] in agent(side).close { closed.fulfill() } }
            try await closed.wait()
        }
        // The closure may hold the pair.
        try await loop.run { [self] in onDatagram = { _, _ in } }
    }
}
