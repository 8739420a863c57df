import MediaCore
import Testing

@testable import share

/// What the host's user is told in words of viewers' pointers.
@Suite struct PointingReportTests {
    private static func point(_ x: Double, _ y: Double) -> PicturePoint { PicturePoint(horizontal: x, vertical: y) }

    private static func event(
        _ id: Int, _ kind: PointerKind = .move, _ x: Double = 0.5, _ y: Double = 0.5
    ) -> PointerEvents {
        PointerEvents([
            PointerEvent(id: id, from: "Viewer \(id)", kind: kind, points: kind == .leave ? [] : [point(x, y)])
        ])
    }

    private static func instant(_ seconds: Double) -> MediaInstant {
        MediaInstant(nanoseconds: 0) + .milliseconds(Int(seconds * 1_000))
    }

    @Test(arguments: [
        (0.0, 0.0, "the upper left"), (0.5, 0.1, "the top"), (1.0, 0.0, "the upper right"), (0.1, 0.5, "the left"),
        (0.5, 0.5, "the middle"), (0.9, 0.5, "the right"), (0.0, 1.0, "the lower left"), (0.4, 0.8, "the bottom"),
        (1.0, 1.0, "the lower right"),
    ])
    func aPlaceIsANinthOfThePicture(_ x: Double, _ y: Double, _ place: String) {
        #expect(PointingReport.place(of: Self.point(x, y)) == place)
    }

    @Test func aPointerThatStaysIsToldOnce() {
        var report = PointingReport()
        var lines: [PointingReport.Line] = []
        for step in 0..<3_000 { lines += report.handle(Self.event(1), now: Self.instant(Double(step) / 30)) }
        #expect(lines == [.init(name: "Viewer 1", place: "the middle")])
        // After a silence it begins anew; that it leaves says nothing.
        #expect(report.handle(Self.event(1, .leave), now: Self.instant(105)).isEmpty)
        #expect(report.handle(Self.event(1), now: Self.instant(111)).count == 1)
    }

    @Test func anotherPlaceAClickAndALineAreToldEveryFiveSecondsAtMost() {
        var report = PointingReport()
        func count(_ kind: PointerKind, _ x: Double, at second: Double) -> Int {
            report.handle(Self.event(1, kind, x), now: Self.instant(second)).count
        }
        #expect(count(.move, 0.5, at: 0) == 1)
        #expect(count(.move, 0.1, at: 4.9) == 0)
        #expect(count(.move, 0.1, at: 5) == 1)
        #expect(count(.click, 0.1, at: 6) == 0)
        #expect(count(.click, 0.1, at: 10) == 1)
        #expect(count(.draw, 0.1, at: 15) == 1)
        #expect(count(.move, 0.1, at: 20) == 0)
    }

    @Test func manyViewersAreToldOncePerSecond() {
        var report = PointingReport()
        var lines = 0
        for step in 0..<600 {
            let now = Self.instant(Double(step) / 60)
            for id in 0..<200 {
                lines += report.handle(Self.event(id, .click, Double((step + id) % 3) / 2), now: now).count
            }
        }
        #expect((5...10).contains(lines), "\(lines)")
    }
}
