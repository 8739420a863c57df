import MediaCore
import MediaEngine
import Testing

@testable import Host

/// How often a first frame is made for viewers that are connecting.
@Suite struct FirstFramePreparationTests {
    private static let target = EncodingTarget(bitrate: .kilobits(2_500))

    /// The times in ms at which frames are made for viewers that come as soon as one may be made.
    private func times(taken: Bool, bytes: Int = 1_000) -> [Int64] {
        var preparation = FirstFramePreparation()
        var now = MediaInstant(nanoseconds: 100_000_000_000)
        let begin = now
        return (0..<5).map { _ in
            now = max(now, preparation.due)
            preparation.noteMade(bytes: bytes, Self.target, at: now)
            defer { if taken { preparation.noteTaken() } }
            return (now - begin).nanoseconds / 1_000_000
        }
    }

    @Test func viewersThatNeverConnectCostOneASecond() {
        #expect(times(taken: false) == [0, 1_000, 2_000, 3_000, 4_000])
    }

    @Test func aLargeOneTakesHalfOfTheBitrate() {
        #expect(times(taken: false, bytes: 625_000) == [0, 4_000, 8_000, 12_000, 16_000])
    }

    @Test func twoAreMadeForViewersThatConnectAndThenFourASecond() {
        #expect(times(taken: true) == [0, 0, 250, 500, 750])
    }
}
