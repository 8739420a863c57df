import MediaCore
import Testing

@testable import X11Control

struct RemoteInputStateTests {
    /// An area whose pixels are those of a point by hundreds, of which those right of 300 are covered.
    private struct Area: ControlledArea {
        var isWholeScreen = false
        var hasFocus = true
        var hasPointer = true
        var isShown = true

        func pixel(of point: PicturePoint) -> ScreenPoint? {
            isShown ? ScreenPoint(x: Int(point.x) / 100, y: Int(point.y) / 100) : nil
        }
        func isShared(at point: ScreenPoint) -> Bool { point.x <= 300 }
    }

    private static let start = MediaInstant(nanoseconds: 0)
    private static let control: UInt32 = 0xFFE3
    private static let alt: UInt32 = 0xFFE9
    private var state = RemoteInputState(now: start)

    private mutating func handle(
        _ input: ControlInput, in area: Area = Area(), at milliseconds: Int = 0
    ) -> [RemoteInputAction] {
        state.handle(input, in: area, now: Self.start + .milliseconds(milliseconds))
    }

    private mutating func press(_ keysym: UInt32, in area: Area = Area(), at milliseconds: Int = 0) -> Bool {
        !handle(.key(keysym: keysym, isPressed: true), in: area, at: milliseconds).isEmpty
    }

    @Test mutating func aDragEndsAtTheEdgeOfWhatIsShared() {
        #expect(handle(.button(1, isPressed: true)) == [.button(1, isPressed: true)])
        #expect(handle(.move(PicturePoint(x: 20_000, y: 0))) == [.move(ScreenPoint(x: 200, y: 0))])
        // Released where the pointer still is, and not moved there.
        #expect(handle(.move(PicturePoint(x: 40_000, y: 0))) == [.button(1, isPressed: false)])
        #expect(state.pressedButtons.isEmpty)
        #expect(handle(.button(1, isPressed: false)).isEmpty)
        // Without a button the pointer goes there.
        #expect(handle(.move(PicturePoint(x: 40_000, y: 0))) == [.move(ScreenPoint(x: 400, y: 0))])
    }

    @Test mutating func aDragEndsWhenTheWindowIsHidden() {
        _ = handle(.button(3, isPressed: true))
        #expect(handle(.move(PicturePoint(x: 0, y: 0)), in: Area(isShown: false)) == [.button(3, isPressed: false)])
        #expect(handle(.move(PicturePoint(x: 0, y: 0)), in: Area(isShown: false)).isEmpty)
    }

    @Test mutating func onlyWhatIsSharedIsClickedAndTypedInto() {
        #expect(handle(.button(1, isPressed: true), in: Area(hasPointer: false)).isEmpty)
        #expect(handle(.wheel(horizontal: 0, vertical: 1), in: Area(hasPointer: false)).isEmpty)
        #expect(!press(0x61, in: Area(hasFocus: false)))
        #expect(state.releaseAll().isEmpty)
    }

    @Test mutating func unknownButtonsAndTooManyNotchesAreDropped() {
        for button: UInt8 in [0, 4, 5, 6, 7, 10, 255] {
            #expect(handle(.button(button, isPressed: true)).isEmpty, "button \(button)")
        }
        #expect(handle(.wheel(horizontal: -128, vertical: 127)).count == 40)
        #expect(handle(.wheel(horizontal: 0, vertical: 0)).isEmpty)
    }

    @Test mutating func whatIsHeldIsReleasedFromTheLastToTheFirst() {
        _ = press(Self.control)
        _ = press(0x61)
        _ = handle(.button(1, isPressed: true))
        #expect(
            state.releaseAll() == [
                .button(1, isPressed: false), .key(0x61, isPressed: false), .key(Self.control, isPressed: false),
            ])
        #expect(state.releaseAll().isEmpty)
    }

    @Test mutating func releasesOfWhatIsNotPressedAreIgnored() {
        #expect(handle(.key(keysym: 0x61, isPressed: false)).isEmpty)
        #expect(handle(.button(1, isPressed: false)).isEmpty)
    }

    @Test mutating func aCapitalLetterIsReleasedByItsSmallOne() {
        _ = press(0x41)
        #expect(handle(.key(keysym: 0x61, isPressed: false)) == [.key(0x41, isPressed: false)])
        #expect(state.pressedKeys.isEmpty)
    }

    @Test mutating func aCharacterIsOneKeyHoweverItIsNumbered() {
        // Cyrillic_a, and U+0430.
        _ = press(0x6C1)
        #expect(handle(.key(keysym: 0x0100_0430, isPressed: false)) == [.key(0x0100_0430, isPressed: false)])
        #expect(state.pressedKeys.isEmpty)
    }

    @Test mutating func keysOfTheDesktopNeverPass() {
        // Super, Meta and Hyper; locks and levels; Terminate_Server, power, media, and switching the console.
        let refused: [UInt32] = [
            0xFFEB, 0xFFEC, 0xFFE7, 0xFFE8, 0xFFED, 0xFFEE, 0xFFE5, 0xFFE6, 0xFF7F, 0xFF14, 0xFF7E, 0xFE03, 0xFE08,
            0xFE11, 0xFED5, 0x1008_FF2A, 0x1008_FE01, 0xFF15, 0, 0x1F, 0x7F, 0x0100_0000, 0x0100_D800, 0x0111_0000,
            .max,
        ]
        for keysym in refused { #expect(!press(keysym, in: Area(isWholeScreen: true)), "keysym \(keysym)") }
        #expect(state.pressedKeys.isEmpty)
    }

    @Test mutating func shortcutsOfTheDesktopPassOnlyInAWholeScreen() {
        let desktop = Area(isWholeScreen: true)
        #expect(press(Self.alt))
        #expect(!press(0xFF09))
        #expect(!press(0xFE20))
        #expect(press(0x66))
        #expect(press(Self.control))
        #expect(!press(0xFFC1))
        #expect(press(0xFF09, in: desktop))
        #expect(press(0xFFC1, in: desktop))
    }

    @Test mutating func repetitionsAreBounded() {
        _ = press(0x61)
        let passed = (0..<1_000).filter { _ in press(0x61, at: 1) }.count
        #expect((1...25).contains(passed))
        // At the speed of a keyboard all pass.
        let usual = (0..<60).filter { press(0x61, at: 2_000 + 33 * $0) }.count
        #expect(usual == 60)
        #expect(state.releaseAll() == [.key(0x61, isPressed: false)])
    }

    @Test mutating func keysAtOnceAreBounded() {
        let pressed = (0x61..<0x7B).filter { press($0) }.count
        #expect(pressed == RemoteInputState.keyLimit)
        #expect(state.releaseAll().count == pressed)
    }

    @Test mutating func localInputReleasesAllAndHoldsForASecond() {
        _ = press(0x61)
        _ = handle(.button(1, isPressed: true))
        let local = Self.start + .milliseconds(100)
        #expect(
            state.handleLocalInput(now: local) == [.button(1, isPressed: false), .key(0x61, isPressed: false)])
        #expect(!press(0x62, at: 1_099))
        #expect(handle(.move(PicturePoint(x: 0, y: 0)), at: 1_099).isEmpty)
        // Each further input holds for a second of its own.
        _ = state.handleLocalInput(now: Self.start + .milliseconds(1_000))
        #expect(!press(0x62, at: 1_999))
        #expect(press(0x62, at: 2_000))
    }

    @Test func aFullQueueReleasesAll() {
        var queue = RemoteInputQueue()
        for _ in 0..<10_000 { queue.append(.input(.move(PicturePoint(x: 0, y: 0)))) }
        _ = queue.next()
        #expect(queue.isEmpty, "moves replace each other")
        for _ in 0...RemoteInputQueue.capacity { queue.append(.input(.button(1, isPressed: true))) }
        guard case .releaseAll? = queue.next() else {
            Issue.record("nothing is released")
            return
        }
        #expect(queue.isEmpty)
    }
}
