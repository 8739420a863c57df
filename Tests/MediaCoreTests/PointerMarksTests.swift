import MediaCore
import Testing

struct PointerMarksTests {
    private static let start = MediaInstant(nanoseconds: 5_000_000_000)
    private var marks = PointerMarks()

    private static func at(_ milliseconds: Int) -> MediaInstant { start + .milliseconds(milliseconds) }
    private static func point(_ x: UInt16, _ y: UInt16 = 0) -> PicturePoint { PicturePoint(x: x, y: y) }

    private mutating func handle(_ kind: PointerKind, _ points: [PicturePoint], at milliseconds: Int = 0) {
        handle(1, kind, points, at: milliseconds)
    }

    private mutating func handle(
        _ id: Int, _ kind: PointerKind, _ points: [PicturePoint], at milliseconds: Int = 0
    ) {
        marks.handle(
            PointerEvent(id: id, from: "Viewer \(id)", kind: kind, points: points), now: Self.at(milliseconds))
    }

    private func shown(_ milliseconds: Int) -> [PointerMark] { marks.marks(at: Self.at(milliseconds)) }
    private func next(_ milliseconds: Int) -> Int? {
        marks.nextChange(after: Self.at(milliseconds)).map { Int(($0 - Self.start).inMilliseconds) }
    }

    @Test mutating func aPointerIsShownForTwoSecondsAfterItsLastMove() {
        handle(.move, [Self.point(1)])
        handle(.move, [Self.point(2)], at: 500)
        #expect(shown(500) == [PointerMark(id: 1, name: "Viewer 1", tip: Self.point(2))])
        #expect(shown(2_099).first?.opacity == 1)
        #expect(shown(2_300).first.map { (0.4...0.6).contains($0.opacity) } == true)
        #expect(shown(2_499).first?.tip != nil)
        #expect(shown(2_500).isEmpty)
        // Nothing is to be done before it fades; then with each frame, until it is gone.
        #expect(next(500) == 2_100)
        #expect(next(2_200) == 2_233)
        #expect(next(2_490) == 2_500)
        #expect(next(2_500) == nil)
    }

    @Test mutating func leaveTakesThePointerAwayAndLeavesItsLines() {
        handle(.draw, [Self.point(1), Self.point(2)])
        handle(.leave, [], at: 100)
        #expect(
            shown(100) == [
                PointerMark(
                    id: 1, name: "Viewer 1", tip: nil,
                    lines: [PointerMark.Line(points: [Self.point(1), Self.point(2)], opacity: 1)])
            ])
        #expect(next(100) == 4_600)
        #expect(shown(4_999).count == 1)
        #expect(shown(5_000).isEmpty)
        handle(2, .leave, [], at: 5_000)
        #expect(marks.isEmpty, "a pointer that was never there is not remembered")
    }

    @Test(arguments: [PointerKind.move, .click, .leave])
    mutating func drawnPointsAreJoinedUntilAnotherKind(_ kind: PointerKind) {
        handle(.draw, [Self.point(1), Self.point(2)])
        handle(2, .move, [Self.point(9)], at: 10)
        handle(.draw, [Self.point(2), Self.point(3)], at: 20)
        handle(kind, kind == .leave ? [] : [Self.point(4)], at: 30)
        handle(.draw, [Self.point(5)], at: 40)
        #expect(shown(40)[0].lines.map(\.points) == [[1, 2, 3].map { Self.point($0) }, [Self.point(5)]])
        #expect(shown(40)[0].tip == Self.point(5))
        // Each line has its own time.
        #expect(shown(5_030)[0].lines.map(\.points) == [[Self.point(5)]])
    }

    @Test mutating func aLineThatHasFadedDoesNotGoOn() {
        handle(.draw, [Self.point(1)])
        handle(.draw, [Self.point(2)], at: 5_000)
        #expect(shown(5_000)[0].lines.map(\.points) == [[Self.point(2)]])
    }

    @Test mutating func aRingGrowsForItsTime() {
        handle(.click, [Self.point(7)])
        #expect(shown(0)[0].rings == [PointerMark.Ring(center: Self.point(7), progress: 0)])
        #expect(shown(300)[0].rings.first?.progress == 0.5)
        #expect(next(300) == 333)
        #expect(shown(600)[0].rings.isEmpty)
        #expect(next(600) == 1_600)
    }

    /// What any one viewer makes others draw and remember has a bound.
    @Test mutating func whatIsRememberedIsBounded() {
        for index in 0..<UInt16(200) {
            let points = (0..<32).map { Self.point(index * 32 + $0) }
            handle(.draw, points, at: Int(index))
            if index % 50 == 49 { handle(.move, [Self.point(0)], at: Int(index)) }
        }
        let lines = shown(200)[0].lines
        #expect(lines.reduce(0) { $0 + $1.points.count } == PointerMarks.pointLimit)
        #expect(lines.last?.points.last == Self.point(200 * 32 - 1))
        for _ in 0..<100 { handle(.click, [Self.point(1)], at: 200) }
        #expect(shown(200)[0].rings.count == 8)
        for id in 2...200 { handle(id, .move, [Self.point(1)], at: 200 + id) }
        #expect(shown(400).count == PointerMarks.viewerLimit)
        #expect(shown(400).last?.id == 200)
        // An event without the point that its kind has changes nothing.
        handle(200, .move, [], at: 500)
        #expect(shown(500).last?.tip == Self.point(1))
    }

    @Test func aColorGoesWithTheNumber() {
        #expect(PointerMark(id: 9, name: "", tip: nil).color == 0x0082C8)
        #expect(PointerMark(id: .min, name: "", tip: nil).color == 0xE6194B)
    }
}
