import MediaCore
import Testing

@testable import Relay
@testable import Signaling

@Suite struct ViewerRelaysTests {
    private typealias Action = ViewerRelays.Action

    /// The table with its clock.
    private struct World {
        var table = ViewerRelays(graceTime: .seconds(20), maximumViewers: 64)
        var now = MediaInstant(nanoseconds: 0)

        mutating func handle(_ input: ViewerRelays.Input) -> [Action] {
            var generator = SystemRandomNumberGenerator()
            return table.handle(input, now: now, using: &generator)
        }

        /// - Returns: what follows until then.
        mutating func advance(_ time: MediaDuration) -> [Action] {
            var generator = SystemRandomNumberGenerator()
            let end = now + time
            var actions: [Action] = []
            while let deadline = table.deadline, deadline <= end {
                now = max(now, deadline)
                actions += table.advance(now: now, using: &generator)
            }
            now = end
            return actions
        }

        /// Other relays have copies, and have named these viewers.
        mutating func begin(_ viewers: [String: [[UInt8]]]) {
            _ = handle(.copies(Dictionary(uniqueKeysWithValues: viewers.keys.map { ($0, ["a", $0]) })))
            for (relay, named) in viewers { _ = handle(.named(named, at: relay, isFirst: true)) }
        }
    }

    private let ann = [UInt8](repeating: 1, count: 32)
    private let bob = [UInt8](repeating: 2, count: 32)

    @Test func aViewerIsGoneWhenItHasLeftTheLastRelay() {
        var world = World()
        world.begin(["b": []])
        #expect(world.handle(.joined(ann, at: "")) == [.joined(ann)])
        #expect(world.handle(.joined(ann, at: "b")) == [])
        #expect(world.handle(.left(ann, at: "")) == [])
        // No relay that has told of nobody says who has left.
        #expect(world.handle(.left(ann, at: "c")) == [])
        #expect(world.handle(.left(bob, at: "c")) == [])
        #expect(world.handle(.left(ann, at: "b")) == [.left(ann)])
        // Of one that is not known, what a relay with a copy says is passed on.
        #expect(world.handle(.left(bob, at: "b")) == [.left(bob)])
    }

    /// What has come before the announcement is lost, so a relay is asked as soon as its copy is known.
    @Test func aRelayIsAskedWhenItsCopyIsKnown() {
        var world = World()
        #expect(world.handle(.joined(ann, at: "b")) == [])
        #expect(world.handle(.copies(["b": ["a", "b"]])) == [.ask("b")])
        #expect(world.handle(.named([ann], at: "b", isFirst: true)) == [.joined(ann)])
        #expect(world.handle(.named([bob], at: "b", isFirst: false)) == [.joined(bob)])
        #expect(world.handle(.copies(["b": ["a", "b"]])) == [])
        #expect(world.advance(.seconds(60)) == [])
    }

    @Test func aRelayThatDoesNotAnswerIsAskedThreeTimes() {
        var world = World()
        #expect(world.handle(.copies(["b": ["a", "b"]])) == [.ask("b")])
        #expect(world.advance(.milliseconds(1_900)) == [])
        #expect(world.advance(.milliseconds(100)) == [.ask("b")])
        #expect(world.advance(.seconds(60)) == [.ask("b")])
        // Messages of it were missed.
        #expect(world.handle(.missed("c")) == [])
        #expect(world.handle(.missed("b")) == [.ask("b")])
        #expect(world.handle(.missed(nil)) == [])
        #expect(world.handle(.copies([:])) == [])
        #expect(world.advance(.seconds(60)) == [])
    }

    /// The copy is withdrawn, or its relay is gone; or it comes by another path.
    @Test(arguments: [nil, ["a", "c", "b"]]) func viewersOfAWithdrawnCopyHaveToBeNamedAgain(path: [String]?) {
        var world = World()
        world.begin(["b": [ann, bob], "c": [bob]])
        _ = world.advance(.seconds(60))
        let paths = ["c": ["a", "c"]].merging(path.map { ["b": $0] } ?? [:]) { $1 }
        #expect(world.handle(.copies(paths)) == (path == nil ? [] : [.ask("b")]))
        #expect(world.advance(.milliseconds(19_900)).allSatisfy { $0 == .ask("b") })
        #expect(world.advance(.milliseconds(100)) == [.left(ann)])
        #expect(world.handle(.left(bob, at: "c")) == [.left(bob)])
    }

    /// A short outage changes nothing; who has left meanwhile is missed.
    @Test func whoIsNamedAgainHasNotLeft() {
        var world = World()
        world.begin(["b": [ann, bob]])
        _ = world.handle(.copies([:]))
        _ = world.advance(.seconds(15))
        #expect(world.handle(.copies(["b": ["a", "b"]])) == [.ask("b")])
        #expect(world.handle(.named([ann], at: "b", isFirst: true)) == [])
        #expect(world.advance(.seconds(60)) == [.left(bob)])
        #expect(world.handle(.left(ann, at: "b")) == [.left(ann)])
    }

    /// Also what a relay says whose copy has just been withdrawn.
    @Test func aDepartureCountsThoughTheCopyIsWithdrawn() {
        var world = World()
        world.begin(["b": [ann]])
        _ = world.handle(.copies([:]))
        #expect(world.handle(.joined(bob, at: "b")) == [])
        #expect(world.handle(.left(ann, at: "b")) == [.left(ann)])
        #expect(world.advance(.seconds(60)) == [])
        _ = world.handle(.copies([:]))
        #expect(world.handle(.left(ann, at: "b")) == [])
    }

    /// A relay that announces its copy again and again, and never names its viewers, keeps none of them for longer, and
    /// is asked no more often.
    @Test func repeatedAnnouncementsGainNothing() {
        var world = World()
        world.begin(["b": [ann]])
        var actions: [Action] = []
        for number in 0..<400 {
            for paths in [[:], ["b": ["a", "b"]]] { actions += world.handle(.copies(paths)) }
            actions += world.advance(.milliseconds(100))
            let hasLeft = actions.contains(.left(ann))
            #expect(hasLeft == (number >= 199), "\(number)")
        }
        #expect(actions.count { $0 == .ask("b") } == 20)
        #expect(actions.count == 21)
    }

    @Test func namesThatAreNoRelaysTakeNoMoreThanSoMuch() {
        var world = World()
        var asked = 0
        for number in 0..<1_000 { asked += world.handle(.copies(["r\(number)": ["a", "r\(number)"]])).count }
        #expect(asked == ViewerRelays.relayLimit - 1)
        _ = world.advance(.seconds(3))
        #expect(world.handle(.copies(["b": ["a", "b"]])) == [.ask("b")])
    }

    private func viewer(_ number: Int) -> [UInt8] {
        (0..<32).map { $0 < 4 ? UInt8(truncatingIfNeeded: number >> (8 * $0)) : 9 }
    }

    /// Whatever it says, and however often it announces its copy anew: the publisher hears of few of them.
    @Test(arguments: [false, true]) func aRelayThatInventsViewersTakesNoMoreThanSoMuch(namesThem: Bool) {
        var world = World()
        world.begin(["b": [], "c": []])
        let (seconds, perSecond) = (100, 300)
        var told: [Action] = []
        for second in 0..<seconds {
            let invented = (0..<perSecond).map { viewer(second * perSecond + $0) }
            if namesThem {
                told += world.handle(.named(invented, at: "b", isFirst: true))
            } else {
                for viewer in invented {
                    told += world.handle(.joined(viewer, at: "b"))
                    told += world.handle(.left(viewer, at: "b"))
                }
            }
            #expect((world.table.relays["b"].map { $0.viewers.count + $0.unconfirmed.count } ?? 0) <= 1_024)
            if second % 10 == 9 { for copies in [["c"], ["b", "c"]] { told += announce(copies, &world) } }
            told += world.advance(.seconds(1))
        }
        let arrivals = told.count { if case .joined = $0 { true } else { false } }
        let departures = told.count { if case .left = $0 { true } else { false } }
        #expect(arrivals <= 1_024 + seconds * 50 && arrivals >= 1_024)
        #expect(departures <= 1_024 + seconds * 50)
        // Another relay's viewers count as before.
        #expect(world.handle(.joined(ann, at: "c")) == [.joined(ann)])
        #expect(world.handle(.left(ann, at: "c")) == [.left(ann)])
    }

    private func announce(_ copies: [String], _ world: inout World) -> [Action] {
        world.handle(.copies(Dictionary(uniqueKeysWithValues: copies.map { ($0, ["a", $0]) })))
    }

    /// Also departures of viewers that it has never told of.
    @Test func aRelayThatInventsDeparturesIsNotPassedOn() {
        var world = World()
        world.begin(["b": []])
        let told = (0..<10_000).flatMap { world.handle(.left(viewer($0), at: "b")) }
        #expect(told.count == 1_024)
        _ = world.advance(.seconds(2))
        #expect((0..<10_000).flatMap { world.handle(.left(viewer($0), at: "b")) }.count == 100)
    }

    @Test func manyRelaysThatInventViewersTakeNoMoreThanAllMay() {
        var world = World()
        let names = (0..<100).map { "r\($0)" }
        world.begin(Dictionary(uniqueKeysWithValues: names.map { ($0, []) }))
        var told = 0
        for (number, name) in names.enumerated() {
            for index in 0..<1_000 { told += world.handle(.joined(viewer(number * 1_000 + index), at: name)).count }
        }
        #expect(told == ViewerRelays.limit)
        #expect(world.table.relays.values.reduce(0) { $0 + $1.viewers.count } == ViewerRelays.limit)
        // Of those of this relay the publisher hears in any case.
        #expect(world.handle(.joined(ann, at: "")) == [.joined(ann)])
        #expect(world.handle(.left(ann, at: "")) == [.left(ann)])
    }

    /// A relay that has told of too many lately names all its viewers again: those that are known stay, whatever stands
    /// before them.
    @Test func viewersThatAreNamedAgainStayWhereNothingNewIsTaken() {
        var world = World()
        let known = (0..<200).map { viewer($0) }
        world.begin(["b": known])
        // Its allowance is used up.
        _ = (1_000..<3_000).flatMap { world.handle(.left(viewer($0), at: "b")) }
        #expect(world.handle(.named([viewer(500)] + known, at: "b", isFirst: true)) == [])
        let later = world.advance(.seconds(30))
        #expect(!later.contains { if case .left = $0 { true } else { false } })
        #expect(world.table.relays["b"]?.viewers.count == 200)
    }

    /// More viewers came at once than a relay may tell of: it is asked for them later, and nobody is missed for good.
    @Test func arrivalsThatWereLeftOutAreAskedFor() {
        var world = World()
        world.begin(["b": []])
        for round in 0..<2 {
            for number in 0..<600 { _ = world.handle(.joined(viewer(round * 600 + number), at: "b")) }
            if round == 0 { for number in 0..<600 { _ = world.handle(.left(viewer(number), at: "b")) } }
        }
        #expect(world.table.relays["b"]?.viewers.count == 424)
        #expect(world.advance(.milliseconds(9_900)) == [])
        #expect(world.advance(.milliseconds(100)) == [.ask("b")])
        let rest = (600..<1_200).map { viewer($0) }
        #expect(world.handle(.named(rest, at: "b", isFirst: true)).count == 176)
        #expect(world.table.relays["b"]?.viewers.count == 600)
    }

    /// Keys that the publisher has passed on before it was known where a viewer watches follow it there.
    @Test func keysFollowViewersThatAreNamedLater() {
        var world = World()
        let keys = MemberKeys(viewer: ann, keys: "AQID")
        _ = world.handle(.keys([keys, MemberKeys(viewer: bob, keys: "BA")]))
        _ = world.handle(.removed(bob))
        #expect(world.handle(.joined(ann, at: "")) == [.joined(ann)])
        world.begin(["b": []])
        #expect(world.handle(.named([ann, bob], at: "b", isFirst: true)) == [.joined(bob), .pass([keys], to: "b")])
        #expect(world.handle(.joined(ann, at: "b")) == [])
        _ = world.advance(.seconds(20))
        _ = world.handle(.copies(["b": ["a", "b"], "c": ["a", "c"]]))
        #expect(world.handle(.joined(ann, at: "c")) == [])
    }

    /// Another session of the publisher, which knows nobody yet.
    @Test func anotherSessionIsToldOfAll() {
        var world = World()
        world.begin(["b": [ann]])
        _ = world.handle(.joined(bob, at: ""))
        _ = world.handle(.copies([:]))
        let told = world.handle(.published)
        #expect(told.count == 2 && told.contains(.joined(ann)) && told.contains(.joined(bob)))
    }
}
