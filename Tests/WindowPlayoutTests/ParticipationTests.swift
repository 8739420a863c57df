import CSDL
import Glibc
import LinuxRuntime
import MediaCore
import Testing

@testable import WindowPlayout

// SDL is global to the process, so these tests are serialized with those of the window.
extension VideoWindowTests {
    /// Tests what the user does in the window beside watching.
    @Suite(.timeLimit(.minutes(2))) struct ParticipationTests {
        private func pixels(_ gestures: [PointerGesture], _ kind: PointerKind) -> [[Int]] {
            gestures.filter { $0.kind == kind }.flatMap(\.points).map { point in
                let pixel = point.pixel(width: 640, height: 360)
                return [pixel.x, pixel.y]
            }
        }

        @Test func theMousePointsAndDrawsOnceTheHostAllowsIt() throws {
            let bed = try WindowBed()
            try bed.showRed()
            try bed.run("xdotool", "mousemove", "100", "100")
            try bed.allow(ViewerRights(comment: .no, point: .ask))
            try bed.run("xdotool", "key", "p")
            #expect(try bed.waits { bed.heard.actions == [.ask(.point)] })
            try bed.allow(ViewerRights(comment: .no, point: .yes))
            try bed.run("xdotool", "mousemove", "120", "110")
            #expect(try bed.waits { pixels(bed.heard.gestures, .move).last == [120, 110] })
            try bed.run("xdotool", "click", "1")
            #expect(try bed.waits { pixels(bed.heard.gestures, .click) == [[120, 110]] })
            try bed.run(
                "xdotool", "mousedown", "1", "mousemove", "200", "110", "mousemove", "200", "150", "mouseup", "1")
            #expect(try bed.waits { bed.heard.gestures.last == PointerGesture(.move, [point(200, 150)]) })
            let line = pixels(bed.heard.gestures, .draw)
            #expect(line.first == [120, 110] && line.last == [200, 150])
            try bed.run("xdotool", "key", "p")
            #expect(try bed.waits { bed.heard.gestures.last == PointerGesture(.leave) })
            let count = bed.heard.actions.count
            try bed.run("xdotool", "mousemove", "300", "100", "click", "1", "key", "m")
            #expect(try bed.waits { bed.heard.mutes == [true] })
            #expect(bed.heard.actions.count == count)
        }

        private func point(_ x: Int, _ y: Int) -> PicturePoint {
            let window = PixelSize(width: 640, height: 360)
            let layout = PictureLayout(frame: window, window: window)
            return layout.point(x: x, y: y) ?? PicturePoint(x: 0, y: 0)
        }

        /// A square picture has bars at its sides.
        @Test func besideThePictureNothingIsPointedAtOrPressed() throws {
            let bed = try WindowBed()
            try bed.showRed(PixelSize(width: 320, height: 320))
            try bed.allow(ViewerRights(comment: .no, point: .yes, control: .yes))
            try bed.run("xdotool", "mousemove", "320", "100", "key", "p")
            try bed.run("xdotool", "mousemove", "322", "100")
            #expect(try bed.waits { bed.heard.gestures.last?.kind == .move })
            try bed.run("xdotool", "mousemove", "50", "100")
            #expect(try bed.waits { bed.heard.gestures.last == PointerGesture(.leave) })
            try bed.run("xdotool", "key", "r")
            #expect(try bed.waits { bed.window.interaction.mode == .controlling })
            try bed.run("xdotool", "click", "1", "click", "5", "key", "x")
            #expect(try bed.waits { bed.heard.inputs.count == 2 })
            #expect(
                bed.heard.inputs == [.key(keysym: 0x78, isPressed: true), .key(keysym: 0x78, isPressed: false)])
        }

        @Test func allKeysAndTheMouseGoToTheHostUntilRightCtrl() throws {
            let bed = try WindowBed()
            try bed.showRed()
            try bed.allow(ViewerRights(comment: .no, point: .no, control: .ask))
            try bed.run("xdotool", "mousemove", "300", "100", "key", "r")
            #expect(try bed.waits { bed.heard.actions == [.ask(.control)] })
            try bed.allow(ViewerRights(comment: .no, point: .no, control: .yes))
            #expect(bed.window.interaction.mode == .controlling)
            bed.heard.actions = []
            // 105 is Right Ctrl: by its name, xdotool presses the left one too.
            try bed.run("xdotool", "mousemove", "100", "90", "click", "3", "click", "5")
            try bed.run("xdotool", "key", "q", "keydown", "105", "key", "c", "keyup", "105")
            #expect(try bed.waits { bed.heard.inputs.last == .key(keysym: 0xFFE4, isPressed: false) })
            #expect(
                bed.heard.inputs == [
                    .move(point(100, 90)), .button(3, isPressed: true), .button(3, isPressed: false),
                    .wheel(horizontal: 0, vertical: 1), .key(keysym: 0x71, isPressed: true),
                    .key(keysym: 0x71, isPressed: false), .key(keysym: 0xFFE4, isPressed: true),
                    .key(keysym: 0x63, isPressed: true), .key(keysym: 0x63, isPressed: false),
                    .key(keysym: 0xFFE4, isPressed: false),
                ])
            bed.heard.actions = []
            try bed.run("xdotool", "key", "105")
            #expect(try bed.waits { bed.window.interaction.mode == .watching })
            try bed.run("xdotool", "mousemove", "200", "90", "click", "1", "key", "m", "key", "g")
            #expect(try bed.waits { bed.heard.mutes == [true] && bed.heard.actions == [.release(.control)] })
        }

        @Test func whatIsHeldIsReleasedWithTheFocusAndWithTheRight() throws {
            let bed = try WindowBed()
            try bed.showRed()
            try bed.allow(ViewerRights(comment: .no, point: .no, control: .yes))
            try bed.run("xdotool", "mousemove", "300", "100", "key", "r")
            #expect(try bed.waits { bed.window.interaction.mode == .controlling })
            try bed.run("xdotool", "keydown", "Shift_L", "keydown", "a")
            #expect(try bed.waits { bed.heard.inputs.count == 2 })
            #expect(bed.heard.inputs.last == .key(keysym: 0x41, isPressed: true))
            var event = SDL_Event()
            event.type = SDL_WINDOWEVENT.rawValue
            event.window.event = UInt8(SDL_WINDOWEVENT_FOCUS_LOST.rawValue)
            SDL_PushEvent(&event)
            #expect(try bed.waits { bed.heard.inputs.count == 4 })
            // Of the key's press, though Shift is up by now.
            #expect(
                bed.heard.inputs.suffix(2) == [
                    .key(keysym: 0x41, isPressed: false), .key(keysym: 0xFFE1, isPressed: false),
                ])
            try bed.run("xdotool", "keyup", "a", "keyup", "Shift_L", "mousedown", "1")
            #expect(try bed.waits { bed.heard.inputs.last == .button(1, isPressed: true) })
            window(bed, loses: ViewerRights(comment: .no, point: .no, control: .ask))
            #expect(try bed.waits { bed.heard.inputs.last == .button(1, isPressed: false) })
            #expect(bed.window.interaction.mode == .watching)
        }

        private func window(_ bed: WindowBed, loses rights: ViewerRights) { bed.window.setRights(rights) }

        struct Typed: Sendable, CustomTestStringConvertible {
            var layout: [String]
            /// Keys as xdotool takes them: key codes of X11.
            var keys: [String]
            var keysyms: [UInt32]
            var testDescription: String { (layout + keys).joined(separator: " ") }
        }

        /// 24 is the key right of Tab, 38 the one right of Caps Lock; 50 is Shift, 108 AltGr.
        private static let typed = [
            Typed(layout: ["us"], keys: ["key", "24"], keysyms: [0x71]),
            Typed(layout: ["us"], keys: ["keydown", "50", "key", "11", "keyup", "50"], keysyms: [0xFFE1, 0x40]),
            Typed(layout: ["de"], keys: ["key", "29"], keysyms: [0x7A]),
            Typed(layout: ["de"], keys: ["keydown", "108", "key", "24", "keyup", "108"], keysyms: [0xFE03, 0x40]),
            Typed(layout: ["de"], keys: ["keydown", "50", "key", "16", "keyup", "50"], keysyms: [0xFFE1, 0x2F]),
            Typed(layout: ["fr"], keys: ["key", "24", "key", "11"], keysyms: [0x61, 0xE9]),
            Typed(layout: ["es"], keys: ["key", "47"], keysyms: [0xF1]),
            Typed(layout: ["ru"], keys: ["key", "38"], keysyms: [0x0100_0444]),
            Typed(layout: ["gr"], keys: ["key", "38"], keysyms: [0x0100_03B1]),
            Typed(layout: ["il"], keys: ["key", "38"], keysyms: [0x0100_05E9]),
            Typed(layout: ["jp"], keys: ["keydown", "50", "key", "11", "keyup", "50"], keysyms: [0xFFE1, 0x22]),
            Typed(layout: ["us", "dvorak"], keys: ["key", "39"], keysyms: [0x6F]),
            // The dead acute and a letter: not the letter with the accent.
            Typed(layout: ["br"], keys: ["key", "34", "key", "26"], keysyms: [0xFE51, 0x65]),
        ]

        @Test(arguments: typed) func keysAreThoseOfTheUsersLayout(typed: Typed) throws {
            setenv("LC_ALL", "C.UTF-8", 1)
            defer { unsetenv("LC_ALL") }
            let bed = try WindowBed()
            try bed.run("setxkbmap", "-layout", typed.layout[0], "-variant", typed.layout.dropFirst().first ?? "")
            try bed.showRed()
            // The input method reads the keys of a window that has them.
            try bed.run("xdotool", "mousemove", "300", "100", "windowfocus", "\(csdl_x11_window(bed.window.window))")
            try bed.allow(ViewerRights(comment: .no, point: .no, control: .yes))
            bed.window.changeInteraction { $0.toggle(.control, now: MonotonicClock.now) }
            #expect(try bed.waits { bed.window.interaction.mode == .controlling })
            try bed.display.run("xdotool", typed.keys)
            #expect(
                try bed.waits { bed.heard.inputs.filter { Self.keysym($0) != nil }.count >= typed.keysyms.count * 2 })
            var presses: [UInt32] = []
            var held: Set<UInt32> = []
            for case .key(let keysym, let isPressed) in bed.heard.inputs {
                if isPressed { presses.append(keysym) }
                if isPressed { held.insert(keysym) } else { held.remove(keysym) }
            }
            #expect(presses == typed.keysyms)
            #expect(held.isEmpty)
        }

        private static func keysym(_ input: ControlInput) -> UInt32? {
            if case .key(let keysym, _) = input { keysym } else { nil }
        }

        @Test func aCommentIsWrittenInALineAndSent() throws {
            func isShown(_ screen: Screenshot) -> Bool {
                (250..<390).contains { x in (310..<352).contains { y in screen.isNear([230, 230, 230], x, y) } }
            }
            let bed = try WindowBed()
            try bed.showRed()
            try bed.allow(ViewerRights(comment: .yes, point: .no))
            try bed.run("xdotool", "mousemove", "320", "180", "key", "c")
            #expect(try bed.comes(isShown))
            try bed.run("xdotool", "type", "--delay", "20", "Which one? q")
            try bed.run("xdotool", "key", "BackSpace", "BackSpace")
            #expect(try bed.waits { bed.window.interaction.line?.text == "Which one?" })
            // What was written is kept when the line is closed.
            try bed.run("xdotool", "key", "Escape")
            #expect(try bed.comes { !isShown($0) })
            try bed.run("xdotool", "key", "c")
            #expect(try bed.comes(isShown))
            try bed.run("xdotool", "key", "Return")
            #expect(try bed.waits { bed.heard.actions == [.comment("Which one?")] })
            #expect(try bed.comes { !isShown($0) })
            try bed.run("xdotool", "key", "m")
            #expect(try bed.waits { bed.heard.mutes == [true] })
        }

        @Test func withoutRightsTheKeysDoNothing() throws {
            let bed = try WindowBed()
            try bed.showRed()
            try bed.run(
                "xdotool", "mousemove", "320", "180", "key", "p", "key", "c", "key", "r", "key", "g", "key", "m")
            #expect(try bed.waits { bed.heard.mutes == [true] })
            #expect(bed.heard.actions.isEmpty && bed.window.interaction.mode == .watching)
        }

        @Test(arguments: [VideoWindow.Presentation.surface, .texture])
        func theBarComesWithTheMouseAndItsClicksAreItsOwn(_ presentation: VideoWindow.Presentation) throws {
            func isShown(_ screen: Screenshot) -> Bool {
                (0..<640).contains { x in screen.isNear([0x3C, 0x40, 0x43], x, 345) }
            }
            let bed = try WindowBed(presentation)
            try bed.showRed()
            try bed.allow(ViewerRights(comment: .no, point: .yes))
            #expect(try !isShown(bed.display.screenshot()))
            try bed.run("xdotool", "mousemove", "300", "100", "mousemove", "320", "120")
            #expect(try bed.comes(isShown))
            try bed.run("xdotool", "key", "p", "mousemove", "330", "130")
            #expect(try bed.waits { bed.heard.gestures.last?.kind == .move })
            // The bar may have gone meanwhile, and does not come for a pixel.
            try bed.run("xdotool", "mousemove", "340", "140", "mousemove", "350", "150")
            var found: Int?
            _ = try bed.waits {
                found = (0..<640).first { bed.window.barButton(x: $0, y: 345) == .mute }
                return found != nil
            }
            let mute = try #require(found, "no button to mute")
            try bed.run("xdotool", "mousemove", "\(mute + 5)", "345", "click", "1")
            #expect(try bed.waits { bed.heard.mutes == [true] })
            #expect(try bed.waits { bed.heard.gestures.last == PointerGesture(.leave) })
            #expect(!bed.heard.gestures.contains { $0.kind == .click })
            // Without the mouse it goes.
            #expect(try bed.comes { !isShown($0) && $0.isNear([255, 0, 0], mute + 30, 345) })
            #expect(bed.window.view.bar.end == nil && bed.window.interaction.nextTime == nil)
        }

        @Test(arguments: [VideoWindow.Presentation.surface, .texture])
        func pointersAreDrawnOverThePictureAndFade(_ presentation: VideoWindow.Presentation) throws {
            let bed = try WindowBed(presentation)
            try bed.showRed()
            bed.window.showPointers(
                PointerEvents([
                    PointerEvent(id: 1, from: "Ann", kind: .move, points: [point(100, 100)]),
                    PointerEvent(id: 2, from: "Bob", kind: .draw, points: [point(300, 200), point(400, 200)]),
                ]))
            // In the arrow, and in the line.
            #expect(
                try bed.comes { $0.isNear([0x00, 0x82, 0xC8], 103, 110) && $0.isNear([0x3C, 0xB4, 0x4B], 350, 200) })
            #expect(try bed.display.screenshot().isNear([255, 0, 0], 90, 100))
            // A frame that changes below leaves them as they are.
            let canvas = I420Buffer(PixelSize(width: 640, height: 360))
            canvas.fill(PixelRect(canvas.size), y: 82, u: 90, v: 240)
            canvas.fill(PixelRect(x: 320, y: 192, width: 16, height: 16), y: 235, u: 128, v: 128)
            withExtendedLifetime(canvas) { bed.window.show(canvas.frame) }
            #expect(
                try bed.comes {
                    $0.isNear([255, 255, 255], 328, 205) && $0.isNear([0x3C, 0xB4, 0x4B], 328, 200)
                        && $0.isNear([255, 255, 255], 322, 194)
                })
            bed.window.showPointers(
                PointerEvents([PointerEvent(id: 1, from: "Ann", kind: .move, points: [point(200, 300)])]))
            #expect(
                try bed.comes { $0.isNear([255, 0, 0], 103, 110) && $0.isNear([0x00, 0x82, 0xC8], 203, 310) })
            // Nothing is left, and the window sleeps without a time.
            #expect(
                try bed.comes { screen in
                    !(0..<640).contains { x in !screen.isNear([255, 0, 0], x, 310) }
                        && screen.isNear([255, 255, 255], 328, 200) && screen.isNear([255, 0, 0], 350, 200)
                })
            #expect(try bed.waits { bed.window.view.nextMarks == nil })
        }

        /// The window shows the middle of a frame of 1600 x 900, whose upper left corner is green.
        @Test func theWheelAndDraggingMoveAFrameThatIsLargerThanTheWindow() throws {
            let bed = try WindowBed()
            let canvas = I420Buffer(PixelSize(width: 1_600, height: 900))
            canvas.fill(PixelRect(canvas.size), y: 82, u: 90, v: 240)
            canvas.fill(PixelRect(x: 0, y: 0, width: 32, height: 32), y: 145, u: 54, v: 34)
            withExtendedLifetime(canvas) { bed.window.show(canvas.frame) }
            #expect(try bed.comes { $0.isNear([0, 255, 0], 2, 2) })
            try bed.run("xdotool", "mousemove", "320", "180", "key", "1")
            #expect(try bed.comes { $0.isNear([255, 0, 0], 2, 2) })
            // 480 pixels to the left and 270 up, 64 with each notch.
            try bed.run("xdotool", "click", "--repeat", "6", "--delay", "10", "4")
            // Shift counts as it is when the window looks.
            #expect(try bed.waits { bed.window.view.picture.y == 0 })
            try bed.run("xdotool", "keydown", "Shift_L")
            #expect(try bed.waits { SDL_GetModState().rawValue & KMOD_SHIFT.rawValue != 0 })
            try bed.run("xdotool", "click", "--repeat", "9", "--delay", "10", "4")
            #expect(try bed.comes { $0.isNear([0, 255, 0], 2, 2) && $0.isNear([0, 255, 0], 28, 28) })
            #expect(try bed.display.screenshot().isNear([255, 0, 0], 36, 28))
            try bed.run(
                "xdotool", "keyup", "Shift_L", "mousedown", "1", "mousemove", "300", "170", "mouseup", "1")
            #expect(try bed.comes { $0.isNear([0, 255, 0], 8, 18) && $0.isNear([255, 0, 0], 16, 18) })
            // Without the button nothing moves, and the frame stops at its edge.
            try bed.run(
                "xdotool", "mousemove", "200", "100", "mousedown", "1", "mousemove", "600", "300", "mouseup", "1")
            #expect(try bed.comes { $0.isNear([0, 255, 0], 28, 28) && $0.isNear([255, 0, 0], 36, 28) })
        }
    }
}
