import MediaCore
import PeerEngine
import SessionDescription
import Testing

@Suite struct CandidateGatheringTests {
    private let start = MediaInstant(nanoseconds: 5_000_000_000)

    private func candidate(_ number: Int, _ kind: ICECandidate.Kind = .host) throws -> ICECandidate {
        try #require(
            ICECandidate("candidate:\(number) 1 udp \(number) 192.0.2.\(number) 5000 typ \(kind.rawValue)"))
    }

    /// An input so many milliseconds after `start`.
    private typealias Event = (Int, CandidateGathering.Input)
    /// A batch that is handed out: whether it is the description, the priorities of its last candidates, whether it is
    /// the end.
    private struct Report: Equatable {
        var time: Int
        var isDescription: Bool
        var numbers: [UInt32]
        var isComplete: Bool

        static func describe(_ time: Int, _ numbers: [UInt32], end: Bool = false) -> Self {
            Self(time: time, isDescription: true, numbers: numbers, isComplete: end)
        }

        static func trickle(_ time: Int, _ numbers: [UInt32], end: Bool = false) -> Self {
            Self(time: time, isDescription: false, numbers: numbers, isComplete: end)
        }
    }

    /// Plays the events, and each deadline when it comes.
    /// - Parameter pause: the time after which signalling asks for the next batch; never if nil.
    private func play(_ blank: CandidateGathering, next pause: Int? = 0, _ events: [Event]) -> [Report] {
        var gathering = blank
        var events = events
        var reports: [Report] = []
        var time = 0
        while true {
            let deadline = gathering.deadline.map { ($0 - start).nanoseconds / 1_000_000 }.map { Int($0) }
            let input: CandidateGathering.Input
            if let event = events.first, event.0 <= deadline ?? .max {
                (time, input) = events.removeFirst()
            } else if let deadline {
                (time, input) = (deadline, .timeout)
            } else {
                return reports
            }
            guard let action = gathering.handle(input, now: start + .milliseconds(time)) else { continue }
            let (isDescription, batch) =
                switch action {
                case .describe(let batch): (true, batch)
                case .trickle(let batch): (false, batch)
                }
            reports.append(
                Report(
                    time: time, isDescription: isDescription, numbers: batch.candidates.map(\.priority),
                    isComplete: batch.isComplete))
            guard let pause else { continue }
            let place = events.firstIndex { $0.0 > time + pause } ?? events.endIndex
            events.insert((time + pause, .readyForBatch), at: place)
        }
    }

    // MARK: The description

    @Test func aDescriptionWaitsUntilAllCandidatesAreGathered() throws {
        let reports = play(
            CandidateGathering(),
            [
                (0, .describe(within: .milliseconds(100), wanted: nil)), (2, .found(try candidate(1))),
                (5, .found(try candidate(2))), (9, .finished),
            ])
        #expect(reports == [.describe(9, [1, 2], end: true)])
    }

    @Test func aDescriptionAfterTheEndDoesNotWait() throws {
        let reports = play(
            CandidateGathering(),
            [
                (0, .found(try candidate(1))), (1, .finished),
                (2, .describe(within: .milliseconds(100), wanted: .relayed)),
            ])
        #expect(reports == [.describe(2, [1], end: true)])
    }

    @Test func aServerThatDoesNotAnswerIsNotWaitedFor() throws {
        let reports = play(
            CandidateGathering(),
            [
                (0, .describe(within: .milliseconds(100), wanted: nil)), (1, .found(try candidate(1))),
                (5_000, .finished),
            ])
        #expect(reports == [.describe(100, [1]), .trickle(5_000, [], end: true)])
    }

    @Test func aCandidateOfTheWantedKindEndsTheWait() throws {
        let reports = play(
            CandidateGathering(), next: nil,
            [
                (0, .describe(within: .seconds(4), wanted: .relayed)), (1, .found(try candidate(1))),
                (30, .found(try candidate(2, .serverReflexive))), (80, .found(try candidate(3, .relayed))),
            ])
        #expect(reports == [.describe(80, [1, 2, 3])])
        let known = play(
            CandidateGathering(), next: nil,
            [
                (0, .found(try candidate(3, .relayed))), (1, .describe(within: .seconds(4), wanted: .relayed)),
            ])
        #expect(known == [.describe(1, [3])])
    }

    @Test func aDescriptionIsMadeWithoutAnyCandidateInTheEnd() {
        let reports = play(CandidateGathering(), [(0, .describe(within: .seconds(4), wanted: .relayed))])
        #expect(reports == [.describe(4_000, [])])
    }

    // MARK: A fixed end

    /// What the ICE agent finds out of a port that does not answer, or that refuses at once, moves nothing.
    @Test(arguments: [1, 40, 2_000, 60_000])
    func theEndDoesNotSayWhenTheAgentHasFinished(_ time: Int) throws {
        let reports = play(
            CandidateGathering(end: start + .seconds(3)),
            [
                (0, .found(try candidate(1))), (0, .describe(within: .milliseconds(100), wanted: nil)),
                (time, .finished),
            ])
        #expect(reports == [.describe(100, [1]), .trickle(3_000, [], end: true)])
    }

    @Test func candidatesBeforeAFixedEndAreHandedOutAsTheyCome() throws {
        let reports = play(
            CandidateGathering(end: start + .seconds(3)),
            [
                (0, .found(try candidate(1))), (0, .describe(within: .milliseconds(100), wanted: .relayed)),
                (30, .found(try candidate(2, .relayed))), (700, .found(try candidate(3))), (800, .finished),
                (3_500, .found(try candidate(4))),
            ])
        #expect(reports == [.describe(30, [1, 2]), .trickle(700, [3]), .trickle(3_000, [], end: true)])
    }

    @Test func aDescriptionThatIsWaitedForEndsWithAFixedEnd() throws {
        let reports = play(
            CandidateGathering(end: start + .seconds(3)),
            [(0, .describe(within: .seconds(10), wanted: nil)), (5, .found(try candidate(1))), (9, .finished)])
        #expect(reports == [.describe(3_000, [1], end: true)])
    }

    // MARK: Later candidates

    @Test func aBatchIsHandedOutWhenNothingWasFoundForItsInterval() throws {
        let reports = play(
            CandidateGathering(batchInterval: .milliseconds(20)),
            [
                (0, .describe(within: .milliseconds(100), wanted: nil)), (1, .found(try candidate(1))),
                (150, .found(try candidate(2))), (165, .found(try candidate(3))), (400, .found(try candidate(4))),
                (410, .finished),
            ])
        #expect(reports == [.describe(100, [1]), .trickle(185, [2, 3]), .trickle(410, [4], end: true)])
    }

    @Test func repeatedCandidatesAreThoseSinceTheDescription() throws {
        let reports = play(
            CandidateGathering(batchInterval: .milliseconds(20), repeatsTrickled: true),
            [
                (0, .found(try candidate(1))), (0, .describe(within: .milliseconds(100), wanted: nil)),
                (150, .found(try candidate(2))), (300, .found(try candidate(3))), (500, .finished),
            ])
        #expect(
            reports == [
                .describe(100, [1]), .trickle(170, [2]), .trickle(320, [2, 3]), .trickle(500, [2, 3], end: true),
            ])
    }

    /// A request takes 70 ms; candidates found meanwhile are in the next one.
    @Test func slowSignallingGetsLargerBatches() throws {
        let reports = play(
            CandidateGathering(), next: 70,
            [(0, .describe(within: .milliseconds(100), wanted: nil))]
                + (try (1...9).map { (100 + $0 * 20, .found(try candidate($0))) }) + [(1_000, .finished)])
        #expect(
            reports == [
                .describe(100, []), .trickle(170, [1, 2, 3]), .trickle(240, [4, 5, 6, 7]), .trickle(310, [8, 9]),
                .trickle(1_000, [], end: true),
            ])
    }

    @Test func theEndIsSaidOnce() throws {
        var gathering = CandidateGathering()
        #expect(gathering.handle(.describe(within: .milliseconds(100), wanted: nil), now: start) == nil)
        #expect(gathering.handle(.timeout, now: start + .milliseconds(99)) == nil, "a timer that fires early")
        #expect(gathering.handle(.timeout, now: start + .milliseconds(100)) != nil)
        #expect(gathering.handle(.readyForBatch, now: start + .milliseconds(101)) == nil)
        #expect(!gathering.isOver)
        #expect(gathering.handle(.finished, now: start + .seconds(1)) == .trickle(.init(isComplete: true)))
        #expect(gathering.isOver)
        #expect(gathering.handle(.readyForBatch, now: start + .seconds(1)) == nil)
        #expect(gathering.handle(.finished, now: start + .seconds(2)) == nil)
    }

    // MARK: The end

    @Test func whoeverWaitsForADescriptionAtTheEndGetsWhatWasFound() throws {
        let reports = play(
            CandidateGathering(),
            [
                (0, .describe(within: .seconds(4), wanted: nil)), (1, .found(try candidate(1))), (50, .cancel),
                (60, .found(try candidate(2))), (70, .finished),
            ])
        #expect(reports == [.describe(50, [1])])
    }

    /// Two requests may ask for the same restart's candidates.
    @Test func aSecondDescriptionGetsWhatWasFound() throws {
        let reports = play(
            CandidateGathering(),
            [
                (0, .describe(within: .seconds(4), wanted: nil)), (1, .found(try candidate(1))), (2, .finished),
                (3, .describe(within: .seconds(4), wanted: nil)),
            ])
        #expect(reports == [.describe(2, [1], end: true), .describe(3, [1], end: true)])
    }

    @Test func nothingIsTrickledAfterARestart() throws {
        let reports = play(
            CandidateGathering(batchInterval: .milliseconds(20)),
            [
                (0, .describe(within: .milliseconds(100), wanted: nil)), (150, .found(try candidate(1))),
                (160, .cancel), (500, .finished),
            ])
        #expect(reports == [.describe(100, [])])
    }
}
