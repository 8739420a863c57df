import BusSupport
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

@testable import PortalCapture

extension PortalTests {
    @Suite struct InputTests {
        private func open(
            _ commands: [String] = [], cursor: PortalScreen.Cursor = .shown, bed: PortalBed? = nil
        ) throws -> (watcher: PortalWatcher, input: PortalInput) {
            let watcher = try PortalWatcher(commands, bed: bed, cursor: cursor, asksForInput: true)
            return (watcher, try #require(watcher.input))
        }

        private func place(_ horizontal: Double, _ vertical: Double) -> ControlInput {
            .move(PicturePoint(horizontal: horizontal, vertical: vertical))
        }

        private func calls(_ bed: PortalBed) -> [String] { bed.news.filter { $0.hasPrefix("Notify") } }

        @Test func aViewersInputReachesTheDesktop() throws {
            let (watcher, input) = try open(["size 800 600"])
            let bed = watcher.bed
            #expect(bed.news.contains("devices 3"))
            #expect(bed.news.contains { $0.hasPrefix("select types 3") && $0.hasSuffix("persist 0") })
            // Nobody controls yet.
            input.apply(place(0, 0))
            try input.open { _ in }
            // Before the first place of the viewer, the pointer may be on another monitor.
            input.apply(.button(1, isPressed: true))
            input.apply(.wheel(horizontal: 0, vertical: 1))
            // The compositor's screen has a scale of 2.
            input.apply(place(1, 1))
            input.apply(.button(3, isPressed: true))
            input.apply(.button(3, isPressed: false))
            input.apply(.wheel(horizontal: 0, vertical: 2))
            input.apply(.wheel(horizontal: -1, vertical: 0))
            for isPressed in [true, true, false] { input.apply(.key(keysym: 0x0100_0430, isPressed: isPressed)) }
            // Super is the window manager's.
            input.apply(.key(keysym: 0xFFEB, isPressed: true))
            input.apply(.key(keysym: 0xFFE1, isPressed: true))
            input.apply(.button(1, isPressed: true))
            input.close()
            input.apply(.button(1, isPressed: true))
            #expect(bed.hears("NotifyKeyboardKeysym 65505 0"))
            let expected = [
                "NotifyPointerMotionAbsolute \(watcher.screen.grant.node) 399.0 299.0", "NotifyPointerButton 273 1",
                "NotifyPointerButton 273 0", "NotifyPointerAxisDiscrete 0 2", "NotifyPointerAxisDiscrete 1 -1",
                "NotifyKeyboardKeysym 16778288 1", "NotifyKeyboardKeysym 16778288 0", "NotifyKeyboardKeysym 65505 1",
                "NotifyPointerButton 272 1", "NotifyPointerButton 272 0", "NotifyKeyboardKeysym 65505 0",
            ]
            #expect(calls(bed) == expected)
        }

        @Test func placesFollowAnotherSizeOfTheMonitor() throws {
            let (watcher, input) = try open(["size 800 600"])
            // The portal takes no place outside of the size that it has granted.
            try watcher.bed.tell("size 400 500")
            #expect(try watcher.update { watcher.screen.size == PixelSize(width: 400, height: 500) })
            try input.open { _ in }
            input.apply(place(1, 1))
            #expect(watcher.bed.hears("NotifyPointerMotionAbsolute \(watcher.screen.grant.node) 199.0 249.0"))
        }

        @Test func aPointerThatSomebodyMovesHoldsTheViewersInput() throws {
            // Its place is told also if it is not in the picture.
            let (watcher, input) = try open(["size 800 600"], cursor: .hidden)
            let bed = watcher.bed
            #expect(bed.news.contains { $0.hasPrefix("select types 3 cursor 4") })
            let events = Monitor<[PortalInput.Event]>([])
            try input.open { event in events.change { $0.append(event) } }
            try bed.tell("cursor 10 10")
            try bed.tell("shape ff0000 8 8 4 4")
            try watcher.settle()
            input.apply(place(0.5, 0.5))
            input.apply(.button(1, isPressed: true))
            input.apply(place(0.25, 0.25))
            // The compositor is late, and rounds.
            for (x, y) in [(399, 299), (199, 150)] {
                try bed.tell("cursor \(x) \(y)")
                try watcher.settle()
            }
            #expect(bed.hears("NotifyPointerButton 272 1") && events.with { $0.isEmpty })
            try bed.tell("cursor 220 150")
            #expect(try watcher.update { events.with { $0 } == [.localInput] })
            #expect(bed.hears("NotifyPointerButton 272 0"))
            input.apply(.button(1, isPressed: true))
            input.apply(.key(keysym: 0x61, isPressed: true))
            input.close()
            #expect(calls(bed).count == 4, "\(calls(bed))")
        }

        @Test func theEndOfTheGrantTakesTheControlBack() throws {
            let (watcher, input) = try open()
            let bed = watcher.bed
            let events = Monitor<[PortalInput.Event]>([])
            try input.open { event in events.change { $0.append(event) } }
            input.apply(.key(keysym: 0x61, isPressed: true))
            #expect(bed.hears("NotifyKeyboardKeysym 97 1"))
            try bed.tell("answer hang")
            try bed.tell("close")
            #expect(try watcher.update { events.with { $0 } == [.grantLost] })
            let failure = #expect(throws: SourceFailure.self) { try input.open { _ in } }
            #expect(failure?.code == .displayGone)
        }

        @Test func anotherGrantIsControlledAnew() throws {
            let (watcher, input) = try open(["size 800 600"])
            let bed = watcher.bed
            try input.open { _ in }
            let isLost = Monitor(false)
            try input.open { event in if event == .grantLost { isLost.change { $0 = true } } }
            // The desktop asks again, as its user has ended the first one.
            try bed.tell("close")
            #expect(try watcher.update { isLost.with { $0 } })
            #expect(try watcher.update { (try? input.check()) != nil })
            // Whoever controls waits for a frame, which says how large the monitor is.
            let isOpen = Monitor<Bool?>(nil)
            let thread = NamedThread("opener") {
                let isGood = (try? input.open { _ in }) != nil
                isOpen.change { $0 = isGood }
            }
            try watcher.bed.tell("fill ff0000 0 0 800 600")
            #expect(try watcher.update { isOpen.with { $0 != nil } })
            thread.join()
            #expect(isOpen.with { $0 } == true)
            input.apply(.key(keysym: 0x61, isPressed: true))
            #expect(bed.hears("NotifyKeyboardKeysym 97 1"))
        }

        @Test func aPortalWithoutInputSharesTheScreenAlone() throws {
            let bed = try PortalBed(takesInput: false)
            let (watcher, input) = try open(bed: bed)
            #expect(!bed.news.contains { $0.hasPrefix("devices") })
            let failure = #expect(throws: SourceFailure.self) { try input.open { _ in } }
            #expect(failure?.code == .unsupported && failure?.message.contains("lets no program") == true)
            #expect(watcher.screen.size == PixelSize(width: 640, height: 480))
        }

        @Test(arguments: [
            (["devices 0"], "did not grant"), (["kind 2"], "a whole monitor"),
        ])
        func inputThatIsNotGrantedIsAFailureInWords(commands: [String], words: String) throws {
            let (watcher, input) = try open(commands)
            let failure = #expect(throws: SourceFailure.self) { try input.check() }
            #expect(failure?.message.contains(words) == true, "\(String(describing: failure))")
            #expect(throws: SourceFailure.self) { try input.open { _ in } }
            input.apply(.key(keysym: 0x61, isPressed: true))
            watcher.screen.close()
            #expect(watcher.bed.hears("session closed by the application"))
            #expect(calls(watcher.bed).isEmpty)
        }

        @Test(arguments: [(1, "NotifyKeyboardKeysym 97"), (2, "NotifyPointer")])
        func onlyGrantedDevicesAreUsed(granted: Int, call: String) throws {
            let (watcher, input) = try open(["devices \(granted)"])
            #expect(input.devices == DesktopDevices(rawValue: granted))
            try input.open { _ in }
            for isPressed in [true, false] {
                input.apply(.key(keysym: 0x61, isPressed: isPressed))
                input.apply(place(0.5, 0.5))
                input.apply(.button(1, isPressed: isPressed))
            }
            #expect(watcher.bed.hears(call, times: granted == 1 ? 2 : 4))
            watcher.screen.close()
            #expect(watcher.bed.hears("session closed by the application"))
            #expect(calls(watcher.bed).allSatisfy { $0.hasPrefix(call) })
        }
    }
}

@Suite struct LocalMotionDetectorTests {
    private var detector = LocalMotionDetector()
    private let start = MediaInstant(nanoseconds: 0)

    private mutating func put(_ x: Int, _ y: Int, at milliseconds: Int = 0) {
        detector.put(at: ScreenPoint(x: x, y: y), now: start + .milliseconds(milliseconds))
    }

    private mutating func isLocal(_ x: Int, _ y: Int, at milliseconds: Int = 0) -> Bool {
        detector.isLocal(at: ScreenPoint(x: x, y: y), now: start + .milliseconds(milliseconds))
    }

    @Test mutating func thePlacesOfViewersExplainWhatComesLate() {
        #expect(!isLocal(5, 5), "the first place says nothing")
        for x in 1...10 { put(x * 100, 50, at: x * 10) }
        for x in 1...10 { #expect(!isLocal(x * 100 + 2, 48, at: 1_000 + x * 10)) }
        // The last one, however old it is.
        #expect(!isLocal(1_000, 50, at: 60_000))
        #expect(isLocal(900, 50, at: 60_010))
        #expect(!isLocal(900, 50, at: 60_020), "it rests")
        #expect(!detector.isPlaced)
        put(500, 50, at: 61_100)
        #expect(detector.isPlaced && !isLocal(500, 50, at: 61_120))
    }

    @Test mutating func motionBeforeAViewerPointsIsLocal() {
        #expect(!isLocal(5, 5) && isLocal(6, 5))
    }

    @Test mutating func memoryIsBounded() {
        _ = isLocal(0, 0)
        for x in 0..<10_000 { put(x * 10, 0) }
        #expect(!isLocal(99_990 - 510 * 10, 0))
        #expect(isLocal(0, 0))
    }
}
