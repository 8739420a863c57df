import Admission
import Identifiers
import Identity
import MediaCore
import PeerConnection
import TestSupport
import Testing

@testable import Relay
@testable import Signaling

/// The life of a relay's streams: whatever publishers, viewers and other relays do, in virtual time.
@Suite struct StreamTableTests {
    private static let lost = EndReason(.connectionLost, "no packets arrive")
    private static let ended = EndReason(.hostEnded, "the host ended the broadcast")

    private let id = StreamWorld.ids[0]
    private let session = SessionID.random()

    /// A world in which relay b has the broadcast, and somebody watches it here.
    private func watching() throws -> StreamWorld {
        var world = StreamWorld(seed: 1)
        world.elsewhere[id] = ["b": .init(isPublished: true)]
        try world.want(id)
        try world.handle(.viewers(id, 1))
        try receive(&world)
        return world
    }

    private func attempt(_ world: StreamWorld) throws -> Upstream.Attempt {
        let stream = try #require(world.table[id])
        #expect(stream.state != .searching)
        return try #require(stream.upstream?.attempt)
    }

    private func receive(_ world: inout StreamWorld) throws {
        try world.handle(.received(id, attempt: try attempt(world).number, world.relays(of: id)))
    }

    // MARK: Other relays

    @Test func aBroadcastIsFetchedOnce() throws {
        var world = try watching()
        try world.want(id)
        #expect(world.table[id]?.state == .live && world.attempts.count == 1)
        #expect(world.announced == [id] && world.fetched == [id])
    }

    @Test func anotherRelayIsAskedWhenOneFails() throws {
        var world = try watching()
        world.elsewhere[id]?["c"] = .init(isPublished: false)
        try world.advance(.seconds(10))
        let media = world.table[id]?.media
        try world.end(try attempt(world).number, Self.lost)
        #expect(world.announced.isEmpty && world.active[media ?? 0] == false)
        try world.advance(.zero)
        #expect(try attempt(world).relay.node.name == "c")
        try receive(&world)
        #expect(world.table[id]?.media == media && world.active[media ?? 0] == true && world.announced == [id])
    }

    @Test func whatAFormerRelaySaidOfItsPublisherIsForgotten() throws {
        var world = StreamWorld(seed: 1)
        world.elsewhere[id] = ["b": .init(isPublished: true), "c": .init(isPublished: true)]
        try world.want(id)
        let first = try attempt(world)
        try world.handle(.changed(id, attempt: first.number, .publisher, isInterrupted: true))
        world.elsewhere[id]?[first.relay.node.name] = nil
        try world.end(first.number, Self.lost)
        try world.advance(.seconds(1))
        try receive(&world)
        #expect(try attempt(world).relay.node.name != first.relay.node.name)
        #expect(world.table[id]?.isActive == true)
    }

    /// The publisher may have gone on at another relay.
    @Test(arguments: [false, true]) func theEndOfABroadcastEndsItUnlessItIsPublishedElsewhere(isElsewhere: Bool) throws
    {
        var world = try watching()
        if isElsewhere { world.elsewhere[id] = ["c": .init(isPublished: true)] }
        try world.end(try attempt(world).number, Self.ended)
        #expect((world.table[id] != nil) == isElsewhere)
        #expect(world.closed.isEmpty == isElsewhere)
        // The session with the former one ended at once.
        try world.advance(.milliseconds(200))
        if isElsewhere { #expect(try attempt(world).relay.node.name == "c") }
    }

    @Test func viewersWaitFifteenSecondsForAnotherRelay() throws {
        var world = try watching()
        try world.advance(.seconds(60))
        world.elsewhere[id] = [:]
        try world.end(try attempt(world).number, Self.lost)
        try world.advance(.milliseconds(14_800))
        #expect(world.table[id]?.state == .searching)
        world.elsewhere[id] = ["d": .init(isPublished: true)]
        try world.advance(.milliseconds(100))
        try receive(&world)
        world.elsewhere[id] = [:]
        try world.advance(.seconds(5))
        if let last = world.attempts.keys.max() { try world.end(last, Self.lost) }
        try world.advance(.milliseconds(15_200))
        #expect(world.table[id] == nil && world.closed.count == 1)
        // Media has come: it may be tried again at once.
        #expect(world.table.canFetch(id, now: world.now))
    }

    @Test func aBroadcastThatDoesNotComeIsNotTriedForFourSeconds() throws {
        var world = StreamWorld(seed: 1)
        world.elsewhere[id] = ["b": .init(isPublished: true)]
        try world.want(id)
        var tries = 0
        while world.table[id] != nil {
            if let number = world.attempts.keys.first {
                tries += 1
                try world.end(number, Self.lost)
            }
            try world.advance(.milliseconds(50))
        }
        // After 0, 200, 600, 1,400 and 3,000 ms.
        #expect(tries == 5)
        #expect(!world.table.canFetch(id, now: world.now + .milliseconds(3_900)))
        #expect(world.table.canFetch(id, now: world.now + .milliseconds(4_001)))
    }

    @Test func whatNobodyWatchesIsGivenBack() throws {
        var world = try watching()
        try world.handle(.viewers(id, 0))
        try world.advance(.seconds(28))
        #expect(world.table[id] != nil)
        // Somebody knocks, and may wait for an answer.
        try world.handle(.knocked(id))
        try world.advance(StreamTable<Int>.knockTime + .seconds(28))
        #expect(world.table[id] != nil)
        try world.advance(.seconds(6))
        #expect(world.table[id] == nil && world.announced.isEmpty && world.released == [id])
    }

    @Test func aRelayThatDrainsGivesBackWhatNobodyWatches() throws {
        var world = try watching()
        try world.handle(.viewers(id, 0))
        try world.advance(.seconds(3))
        try world.handle(.drain)
        try world.advance(.zero)
        #expect(world.table[id] == nil)
        try world.want(id)
        #expect(world.table[id] == nil)
    }

    /// Of a relay that is not heard any more, or that gets the broadcast from here.
    @Test(arguments: [false, true]) func aSourceThatHasNothingIsLeft(isCopy: Bool) throws {
        var world = try watching()
        let number = try attempt(world).number
        if isCopy {
            world.elsewhere[id]?["b"]?.isCopy = true
            try world.handle(.look(id, world.relays(of: id)))
        } else {
            // Its media comes.
            try world.handle(.lost(relay: "b"))
            #expect(world.attempts[number]?.isLeft == false)
            try world.handle(.changed(id, attempt: number, .source, isInterrupted: true))
            try world.handle(.lost(relay: "b"))
        }
        #expect(world.attempts[number]?.isLeft == true)
    }

    @Test func viewersAreToldOfInterruptionsHereAndThere() throws {
        var world = try watching()
        let (number, media) = (try attempt(world).number, try #require(world.table[id]).media)
        try world.handle(.changed(id, attempt: number, .source, isInterrupted: true))
        try world.handle(.changed(id, attempt: number, .publisher, isInterrupted: true))
        try world.handle(.changed(id, attempt: number, .source, isInterrupted: false))
        #expect(world.active[media] == false)
        try world.handle(.changed(id, attempt: number, .publisher, isInterrupted: false))
        #expect(world.active[media] == true)
    }

    /// Keys and removals of viewers are taken of that relay alone.
    @Test func thePublishersRelayIsTheOneThatTheSourceNames() throws {
        var world = try watching()
        var stream = try #require(world.table[id])
        // Another one may say that the broadcast is published there.
        world.elsewhere[id]?["c"] = .init(isPublished: true)
        #expect(stream.publisherRelay(world.relays(of: id)) == "b")
        world.elsewhere[id]?["b"]?.isPublished = false
        #expect(stream.publisherRelay(world.relays(of: id)) == "x")
        // The source is not heard over the bus.
        #expect(stream.publisherRelay(UpstreamRelays()) == "b")
        world.elsewhere[id] = [:]
        try world.end(try attempt(world).number, Self.lost)
        stream = try #require(world.table[id])
        #expect(stream.publisherRelay(world.relays(of: id)) == nil)
    }

    // MARK: Publishers

    @Test func aPublisherGoesOnWithABroadcastThatIsFetchedHere() throws {
        var world = try watching()
        let (number, media) = (try attempt(world).number, try #require(world.table[id]).media)
        #expect(try world.open(StreamWorld.publisher(resumes: id), as: session) == media)
        #expect(world.attempts[number]?.isLeft == true && world.released == [id] && world.fetched.isEmpty)
        // What the session with the other relay still does changes nothing.
        #expect(world.table.handle(.received(id, attempt: number, world.relays(of: id)), now: world.now).isEmpty)
        try world.end(number, Self.lost)
        #expect(world.table[id]?.session == session)
        try world.handle(.connected(session))
        #expect(world.table[id]?.state == .live && world.table[id]?.viewers == 1 && world.closed.isEmpty)
    }

    @Test func aPublisherThatComesAgainHasItsBroadcast() throws {
        var world = StreamWorld(seed: 1)
        let media = try world.open(StreamWorld.publisher(), as: session)
        try world.handle(.connected(session))
        try world.handle(.interrupted(session))
        #expect(world.active[media] == false)
        let next = SessionID.random()
        #expect(try world.open(StreamWorld.publisher(replaces: session), as: next) == media)
        try world.handle(.connected(next))
        #expect(world.active[media] == true)
        // The end of the former session.
        try world.handle(.closed(session))
        #expect(world.table.published.map(\.media) == [media] && world.announced.count == 1)
        try world.handle(.closed(next))
        #expect(world.table.streams.isEmpty && world.announced.isEmpty)
    }

    // MARK: All of it

    /// Takes one step at random.
    private func step(_ world: inout StreamWorld) throws {
        let id = StreamWorld.ids.randomElement(using: &world.random) ?? self.id
        let relay = StreamWorld.relays.randomElement(using: &world.random) ?? "b"
        let session = world.publishers.keys.sorted { $0.text < $1.text }.randomElement(using: &world.random)
        let attempt = world.attempts.sorted { $0.key < $1.key }.randomElement(using: &world.random)
        switch Int.random(in: 0..<20, using: &world.random) {
        case 0, 1: try world.want(id)
        case 2: try world.handle(.viewers(id, Int.random(in: 0...2, using: &world.random)))
        case 3: try world.handle(.knocked(id))
        case 4: world.elsewhere[id, default: [:]][relay] = .init(isPublished: Bool.random(using: &world.random))
        case 5:
            if Bool.random(using: &world.random) {
                world.elsewhere[id]?[relay] = nil
            } else {
                world.elsewhere[id]?[relay]?.isCopy = true
            }
            try world.handle(.look(id, world.relays(of: id)))
        case 6:
            for id in StreamWorld.ids { world.elsewhere[id]?[relay] = nil }
            try world.handle(.lost(relay: relay))
        case 7, 8:
            let new = SessionID(bytes: world.random.bytes(16))
            let choice = Int.random(in: 0..<3, using: &world.random)
            try world.open(
                StreamWorld.publisher(resumes: choice == 1 ? id : nil, replaces: choice == 2 ? session : nil), as: new)
        case 9: if let session { try world.handle(.connected(session)) }
        case 10: if let session { try world.handle(.interrupted(session)) }
        case 11: if let session { try world.handle(.resumed(session)) }
        case 12:
            guard let session else { return }
            world.publishers[session] = nil
            try world.handle(.closed(session))
        case 13, 14, 15:
            guard let (number, session) = attempt else { return }
            try world.handle(.received(session.id, attempt: number, world.relays(of: session.id)))
        case 16:
            guard let (number, session) = attempt else { return }
            let place: RelayStream<Int>.Interruptions = Bool.random(using: &world.random) ? .source : .publisher
            let isInterrupted = Bool.random(using: &world.random)
            try world.handle(.changed(session.id, attempt: number, place, isInterrupted: isInterrupted))
        case 17:
            if let attempt { try world.end(attempt.key, Bool.random(using: &world.random) ? Self.lost : Self.ended) }
        case 18: try world.advance(.milliseconds(Int.random(in: 0..<500, using: &world.random)))
        default: try world.advance(.milliseconds(Int.random(in: 0..<40_000, using: &world.random)))
        }
    }

    /// Takes 400 steps at random; the relay drains in every third run.
    private func run(_ seed: Int, flaw: StreamWorld.Flaw? = nil) throws -> StreamWorld {
        var world = StreamWorld(seed: UInt64(seed), flaw: flaw)
        for number in 0..<400 {
            if seed % 3 == 0, number == 300 { try world.handle(.drain) }
            try step(&world)
        }
        return world
    }

    /// The simulation is able to fail.
    @Test(arguments: StreamWorld.Flaw.allCases) func everyForgottenActionIsFound(_ flaw: StreamWorld.Flaw) {
        #expect(throws: StreamWorld.Violation.self) { for seed in 0..<20 { _ = try run(seed, flaw: flaw) } }
    }

    @Test(arguments: 0..<100) func everyStreamHasOneSourceAndAnEnd(seed: Int) throws {
        var world: StreamWorld
        do {
            world = try run(seed)
        } catch let violation as StreamWorld.Violation {
            Issue.record("seed \(seed): \(violation.text)")
            return
        }
        // What can be got and is watched comes, if relays do what they say.
        if seed % 3 != 0 {
            world.elsewhere = Dictionary(
                uniqueKeysWithValues: StreamWorld.ids.map { ($0, ["b": .init(isPublished: true)]) })
            for stream in world.table.streams.keys.sorted(by: { $0.text < $1.text }) {
                try world.handle(.viewers(stream, 1))
            }
            let watched = world.table.streams.filter { $0.value.upstream != nil }
            for _ in 0..<40 {
                try world.advance(.milliseconds(500))
                for (number, session) in world.attempts where !session.isLeft {
                    try world.handle(.received(session.id, attempt: number, world.relays(of: session.id)))
                }
            }
            for (id, stream) in watched where !world.closed.contains(stream.media) {
                #expect(world.table[id]?.state == .live, "seed \(seed): \(id)")
            }
        }
        // Nobody watches any more.
        for stream in world.table.streams.keys { try world.handle(.viewers(stream, 0)) }
        try world.advance(StreamTable<Int>.knockTime + .seconds(120))
        #expect(world.table.fetched.isEmpty, "seed \(seed)")
        for session in world.publishers.keys {
            world.publishers[session] = nil
            try world.handle(.closed(session))
        }
        #expect(world.table.streams.isEmpty && world.announced.isEmpty && world.fetched.isEmpty, "seed \(seed)")
        try world.advance(.zero)
        #expect(world.attempts.isEmpty, "seed \(seed)")
    }

    @Test func theEndOfTheRelayLeavesAllSources() throws {
        var world = try watching()
        try world.open(StreamWorld.publisher(), as: session)
        try world.handle(.stop)
        #expect(world.table.fetched.isEmpty && world.attempts.values.allSatisfy(\.isLeft) && world.closed.count == 1)
        #expect(world.table.published.count == 1)
        try world.want(id)
        #expect(world.table.fetched.isEmpty)
    }
}
