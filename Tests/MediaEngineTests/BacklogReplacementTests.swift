import MediaEngine
import Testing

@Suite struct BacklogReplacementTests {
    @Test func aRequestedFrameIsDueUntilItIsSent() {
        var replacement = BacklogReplacement()
        let isDueAtFirst = replacement.isDue(now: .at(0))
        replacement.noteRequested()
        let isDue = replacement.isDue(now: .at(0))
        replacement.noteSent(now: .at(100))
        #expect(!isDueAtFirst && isDue && !replacement.isDue(now: .at(5_000)))
    }

    /// The encoder makes no two key frames within a second, and what it makes until then would only wait.
    @Test func anotherOneIsDueAfterASecond() {
        var replacement = BacklogReplacement()
        replacement.noteSent(now: .at(0))
        replacement.noteRequested()
        #expect(!replacement.isDue(now: .at(999)) && replacement.isDue(now: .at(1_000)))
    }
}
