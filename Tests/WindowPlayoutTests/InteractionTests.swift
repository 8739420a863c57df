import CSDL
import MediaCore
import Testing

@testable import WindowPlayout

/// The values behind the window: what is sent when.
struct InteractionTests {
    private func at(_ milliseconds: Int) -> MediaInstant {
        MediaInstant(nanoseconds: 0) + .milliseconds(milliseconds)
    }

    private func point(_ x: UInt16, _ y: UInt16 = 0) -> PicturePoint { PicturePoint(x: x, y: y) }

    // MARK: Pointing

    @Test func thirtyPositionsASecondAreSentAndTheLastOneIsAmongThem() {
        var sender = PointerSender()
        var sent: [PointerGesture] = []
        for time in 0..<1_000 {
            sender.move(x: time, y: 0, point(UInt16(time)))
            if let gesture = sender.take(at(time)) { sent.append(gesture) }
        }
        if let gesture = sender.take(at(1_100)) { sent.append(gesture) }
        #expect((25...31).contains(sent.count))
        #expect(sent.last == PointerGesture(.move, [point(999)]))
        #expect(sender.nextTime == nil)
    }

    @Test func aLineHasFewPointsAndItsEnd() {
        var sender = PointerSender()
        sender.press(x: 0, y: 0, point(0))
        for x in 1...100 { sender.move(x: x, y: 0, point(UInt16(x))) }
        sender.release()
        let line = sender.take(at(0))
        #expect(line?.kind == .draw && line?.points.count == PointerGesture.pointLimit)
        #expect(line?.points.first == point(0) && line?.points.last == point(100))
        #expect(sender.take(at(40)) == PointerGesture(.move, [point(100)]))
    }

    @Test func aTrembleIsAClickAndOutsideTheLineEnds() {
        var sender = PointerSender()
        sender.press(x: 10, y: 10, point(7))
        sender.move(x: 12, y: 11, point(8))
        sender.release()
        #expect(sender.take(at(0)) == PointerGesture(.click, [point(7)]))
        sender.press(x: 10, y: 10, point(7))
        sender.move(x: 20, y: 10, point(9))
        sender.move(x: 40, y: 10, nil)
        sender.release()
        #expect(sender.take(at(100)) == PointerGesture(.draw, [point(7), point(9)]))
        #expect(sender.take(at(200)) == PointerGesture(.leave))
        sender.leave()
        #expect(sender.take(at(300)) == nil)
    }

    @Test func leavingIsNotLostAmongManyClicks() {
        var sender = PointerSender()
        for _ in 0..<50 {
            sender.press(x: 0, y: 0, point(3))
            sender.release()
        }
        sender.leave()
        var last: PointerGesture?
        var count = 0
        for time in 0..<100 {
            guard let gesture = sender.take(at(time * 40)) else { continue }
            last = gesture
            count += 1
        }
        #expect(last == PointerGesture(.leave) && count == 8)
    }

    // MARK: Control

    @Test func sixtyMovesASecondAreSentAndEachClickHasItsPlace() {
        var sender = ControlSender()
        var sent: [ControlInput] = []
        for time in 0..<1_000 {
            sender.move(to: point(UInt16(time)))
            sent += sender.take(at(time))
        }
        #expect((55...61).contains(sent.count))
        sender.move(to: point(2_000))
        sender.press(1, at: point(2_001))
        sender.release(1, at: point(2_001))
        #expect(
            sender.take(at(1_001)) == [
                .move(point(2_001)), .button(1, isPressed: true), .button(1, isPressed: false),
            ])
    }

    @Test func aKeyThatRepeatsIsPressedAgainAndReleasedAsItWasPressed() {
        var sender = ControlSender()
        func key(_ code: UInt32, keysym: UInt32, isPressed: Bool) -> Bool {
            sender.key(code, keysym: keysym, isPressed: isPressed)
        }
        #expect(!key(38, keysym: 0x41, isPressed: true))
        #expect(!key(38, keysym: 0x61, isPressed: true))
        #expect(!key(38, keysym: 0x61, isPressed: false))
        // It was pressed before control began.
        #expect(!key(27, keysym: 0x72, isPressed: false))
        #expect(
            sender.take(at(0)) == [
                .key(keysym: 0x41, isPressed: true), .key(keysym: 0x41, isPressed: true),
                .key(keysym: 0x41, isPressed: false),
            ])
    }

    @Test func rightCtrlAloneEndsControlAndWithAClickItIsAKey() {
        var sender = ControlSender()
        func key(_ code: UInt32, keysym: UInt32, isPressed: Bool) -> Bool {
            sender.key(code, keysym: keysym, isPressed: isPressed)
        }
        #expect(!key(105, keysym: 0xFFE4, isPressed: true))
        #expect(!key(105, keysym: 0xFFE4, isPressed: true))
        #expect(key(105, keysym: 0xFFE4, isPressed: false))
        #expect(sender.take(at(0)) == [])
        #expect(!key(105, keysym: 0xFFE4, isPressed: true))
        sender.press(1, at: point(5))
        #expect(!key(105, keysym: 0xFFE4, isPressed: false))
        sender.releaseAll()
        #expect(
            sender.take(at(0)) == [
                .key(keysym: 0xFFE4, isPressed: true), .move(point(5)), .button(1, isPressed: true),
                .key(keysym: 0xFFE4, isPressed: false), .button(1, isPressed: false),
            ])
    }

    // MARK: Rights

    @Test func whatTheUserAskedForBeginsWhenItIsAllowedAndNothingElse() {
        var interaction = Interaction()
        interaction.setRights(ViewerRights(comment: .ask, point: .ask, control: .ask), now: at(0))
        interaction.toggle(.control, now: at(0))
        interaction.setRights(ViewerRights(comment: .yes, point: .yes, control: .ask), now: at(10))
        #expect(interaction.mode == .watching && interaction.line == nil)
        interaction.setRights(ViewerRights(comment: .yes, point: .yes, control: .yes), now: at(20))
        #expect(interaction.mode == .controlling)
        interaction.setRights(ViewerRights(comment: .no, point: .yes, control: .no), now: at(30))
        #expect(interaction.mode == .watching && interaction.notice != nil)
        #expect(interaction.takeActions(at(40)) == [.ask(.control)])
        #expect(interaction.takeActions(at(5_000)) == [])
        #expect(interaction.notice == nil)
    }

    /// Who writes when control is allowed does not type into the host's windows.
    @Test func controlDoesNotBeginWhileACommentIsWritten() {
        var interaction = Interaction()
        interaction.setRights(ViewerRights(comment: .yes, point: .no, control: .ask), now: at(0))
        interaction.toggle(.control, now: at(0))
        interaction.toggle(.comment, now: at(1))
        interaction.line?.insert("half a sent\nence\u{7}")
        interaction.setRights(ViewerRights(comment: .yes, point: .no, control: .yes), now: at(2))
        #expect(interaction.mode == .watching && interaction.line?.text == "half a sent ence")
        interaction.sendComment()
        interaction.toggle(.comment, now: at(3))
        interaction.sendComment()
        #expect(interaction.line == nil)
        #expect(interaction.takeActions(at(3)) == [.ask(.control), .comment("half a sent ence")])
    }

    /// With the bar's buttons.
    @Test func theLineIsClosedByItsButtonAndByThatOfControlAndKeepsItsText() {
        var interaction = Interaction()
        interaction.setRights(ViewerRights(comment: .yes, point: .no, control: .yes), now: at(0))
        for right in [ViewerRight.comment, .control] {
            interaction.toggle(.comment, now: at(0))
            interaction.line?.insert("x")
            interaction.toggle(right, now: at(0))
            #expect(interaction.line == nil)
        }
        #expect(interaction.mode == .controlling)
        interaction.toggle(.control, now: at(0))
        interaction.toggle(.comment, now: at(0))
        #expect(interaction.line?.text == "xx")
    }

    @Test func aCommentHasALimit() {
        var line = CommentLine()
        line.insert(String(repeating: "x", count: 10_000))
        #expect(line.text.count == ViewerMessage.commentLimit)
        line.clear()
        line.insert("  \t ")
        #expect(line.comment == nil)
    }

    // MARK: Places

    @Test(arguments: [(640, 360), (1_920, 1_080), (853, 480), (300, 700)])
    func aPixelOfTheWindowIsThatOfThePicture(width: Int, height: Int) {
        let frame = PixelSize(width: 1_280, height: 720)
        let layout = PictureLayout(frame: frame, window: PixelSize(width: width, height: height))
        let shown = layout.destination
        for x in [shown.x, shown.x + 1, shown.x + shown.width / 3, shown.maxX - 1] {
            let pixel = layout.point(x: x, y: shown.y)?.pixel(width: frame.width, height: frame.height)
            #expect(pixel?.x == (x - layout.place.x) * frame.width / layout.place.width)
        }
        #expect(layout.point(x: shown.maxX, y: shown.y) == nil && layout.point(x: shown.x, y: shown.y - 1) == nil)
        #expect(layout.point(x: 10_000, y: 10_000, isClamped: true)?.y ?? 0 > 65_000)
        let place = layout.position(of: PicturePoint(x: 65_535, y: 65_535))
        #expect(place.x < Double(shown.maxX) && place.x > Double(shown.maxX - 4))
    }

    @Test func atOneToOneThePlaceIsThatOfTheShownPart() {
        let layout = PictureLayout(
            frame: PixelSize(width: 1_600, height: 900), window: PixelSize(width: 640, height: 360),
            view: PictureLayout.View(isOneToOne: true, x: 200, y: 100))
        let pixel = layout.point(x: 10, y: 20)?.pixel(width: 1_600, height: 900)
        #expect(pixel?.x == 210 && pixel?.y == 120)
    }

    // MARK: Keys without X11

    private func key(_ sym: Int, scancode: UInt32, mod: UInt32 = 0, isDown: Bool = true) -> SDL_Event {
        var event = SDL_Event()
        event.type = (isDown ? SDL_KEYDOWN : SDL_KEYUP).rawValue
        event.key.keysym = SDL_Keysym(
            scancode: SDL_Scancode(rawValue: scancode), sym: SDL_Keycode(sym), mod: UInt16(mod), unused: 0)
        return event
    }

    private func text(_ text: String) -> SDL_Event {
        var event = SDL_Event()
        event.type = SDL_TEXTINPUT.rawValue
        withUnsafeMutableBytes(of: &event.text.text) { $0.copyBytes(from: Array(text.utf8)) }
        return event
    }

    @Test func withoutX11KeysAreTheCharactersThatCome() {
        var keys = SDLKeysyms()
        // "я" of a Russian layout, on the key of z.
        #expect(keys.keys(key(0x44F, scancode: 29)) == [])
        #expect(keys.keys(text("я")) == [KeyEvent(code: 29, keysym: 0x0100_044F, isPressed: true)])
        #expect(
            keys.keys(key(0x44F, scancode: 29, isDown: false)) == [KeyEvent(code: 29, keysym: 0, isPressed: false)])
        // A dead key has no character, and then the letter has the accent.
        #expect(keys.keys(key(0x5B, scancode: 47)) == [])
        #expect(keys.keys(key(0x65, scancode: 8)) == [])
        #expect(keys.keys(text("é")) == [KeyEvent(code: 8, keysym: 0xE9, isPressed: true)])
        #expect(
            keys.keys(key(0x63, scancode: 6, mod: UInt32(KMOD_LCTRL.rawValue)))
                == [KeyEvent(code: 6, keysym: 0x63, isPressed: true)])
        #expect(
            keys.keys(key(Int(SDLK_F5.rawValue), scancode: 62)) == [KeyEvent(code: 62, keysym: 0xFFC2, isPressed: true)]
        )
        // An input method writes without a key.
        let written = keys.keys(text("日本"))
        #expect(written?.map(\.keysym) == [0x0100_65E5, 0x0100_65E5, 0x0100_672C, 0x0100_672C])
    }
}
