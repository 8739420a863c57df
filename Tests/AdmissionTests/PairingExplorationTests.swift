import Testing

@testable import Admission

/// Every state that a host and a service can reach together, in small bounds, whatever the network does.
@Suite(.timeLimit(.minutes(2))) struct PairingExplorationTests {
    struct Exploration {
        var states = 0
        var steps = 0
        var depth = 0
        /// How many states were found in which both sides broadcast.
        var broadcasts = 0
        /// Whether no state is left, within the bounds.
        var isComplete = false
        /// The shortest way to a violation.
        var violation: String?
    }

    /// Explores breadth first.
    private func explore(_ start: PairingWorld, states limit: Int) -> Exploration {
        var result = Exploration()
        var known: Set<[UInt8]> = [start.key]
        var level = [(start, [PairingWorld.Step]())]
        while !level.isEmpty {
            var next: [(PairingWorld, [PairingWorld.Step])] = []
            for (world, path) in level {
                result.states += 1
                if world.isBroadcasting { result.broadcasts += 1 }
                for step in world.steps {
                    result.steps += 1
                    var later = world
                    do throws(PairingWorld.Violation) {
                        try later.take(step)
                    } catch {
                        result.violation = "\(error) after \(path + [step])"
                        return result
                    }
                    if known.insert(later.key).inserted { next.append((later, path + [step])) }
                }
                if result.states >= limit { return result }
            }
            level = next
            result.depth += 1
        }
        result.isComplete = true
        return result
    }

    private static let crashing = PairingWorld.Bounds(hosts: 2, services: 2, isForging: true)

    /// - Parameter isShared: whether the host pairs with a service that has the same certificate.
    @Test(arguments: [(crashing, false), (crashing, true), (PairingWorld.Bounds(openings: 2), true)])
    func neitherSideIsEverPairedAloneOrWithAnother(_ bounds: PairingWorld.Bounds, isShared: Bool) throws {
        let found = explore(try PairingWorld(isShared: isShared, bounds: bounds), states: 100_000)
        #expect(found.violation == nil)
        #expect(found.isComplete && found.broadcasts > 0)
        print("explored \(bounds), same certificate \(isShared): \(found)")
    }

    /// The states that are nearest to the start, where a complete exploration would take minutes.
    @Test func aCrashBetweenTwoPairingsChangesNothing() throws {
        let bounds = PairingWorld.Bounds(openings: 2, hosts: 2)
        let found = explore(try PairingWorld(bounds: bounds), states: 20_000)
        #expect(found.violation == nil)
        #expect(found.depth >= 9)
        print("explored \(bounds): \(found)")
    }

    /// The exploration is able to fail.
    @Test(arguments: PairingWorld.Flaw.allCases) func everyFlawIsFound(_ flaw: PairingWorld.Flaw) throws {
        let needsTwo = flaw == .serviceNonceNotSigned || flaw == .userOfAnEarlierPrompt
        let bounds = PairingWorld.Bounds(
            openings: needsTwo ? 2 : 1, hosts: 2, isForging: flaw == .applicationNotSigned)
        let found = explore(
            try PairingWorld(flaw: flaw, isShared: flaw == .roleNotSigned, bounds: bounds), states: 20_000)
        #expect(found.violation != nil, "\(found)")
    }
}
