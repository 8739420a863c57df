import Foundation
import TestSupport

/// A virtual display with windows that a test looks at and clicks in.
struct Desktop {
    struct Place: Equatable {
        let x, y, width, height: Int
    }

    /// The pixels of the display at one moment.
    struct Screen {
        private let bytes: [UInt8]
        private let (start, rowLength, pixelLength): (Int, Int, Int)

        /// - Parameter dump: a file of `xwd` with 24 or 32 bits a pixel, little endian.
        init?(dump: Data) {
            let bytes = [UInt8](dump)
            guard bytes.count > 100 else { return nil }
            let header = (0..<25).map { index in bytes[(index * 4)..<(index * 4 + 4)].reduce(0) { $0 << 8 | Int($1) } }
            guard header[1] == 7, header[7] == 0, [24, 32].contains(header[11]) else { return nil }
            self.bytes = bytes
            // A colour map of 12 bytes an entry follows the header.
            (start, rowLength, pixelLength) = (header[0] + header[19] * 12, header[12], header[11] / 8)
        }

        /// False for a pixel that is not on the screen.
        func isColor(_ color: Int, x: Int, y: Int, within tolerance: Int) -> Bool {
            let index = start + y * rowLength + x * pixelLength
            guard x >= 0, y >= 0, (x + 1) * pixelLength <= rowLength, index + 3 <= bytes.count else { return false }
            return (0..<3).allSatisfy { abs(Int(bytes[index + $0]) - (color >> ($0 * 8) & 255)) <= tolerance }
        }
    }

    let display: VirtualDisplay
    private let folder: TemporaryFolder

    init(width: Int? = nil, height: Int? = nil) throws {
        display = try width.map { try VirtualDisplay(width: $0, height: height ?? $0) } ?? VirtualDisplay()
        folder = try TemporaryFolder()
    }

    /// Looks again and again, for 30 s at most.
    func wait<Result>(_ found: () throws -> Result?) throws -> Result? {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            if let result = try found() { return result }
            guard ContinuousClock.now < deadline else { return nil }
        }
    }

    /// The windows of a title, or the questions of SDL: these have no class.
    private func windows(_ title: String, areQuestions: Bool) throws -> [Place] {
        let tree = try Program("xwininfo", ["-root", "-tree"], environment: ["DISPLAY": display.name]).finish()
        return tree.split(separator: "\n").compactMap { line in
            guard line.contains("\"\(title)\": ("), line.contains("\": ()") == areQuestions,
                let end = line.split(separator: ")").last
            else { return nil }
            let numbers = end.split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) }
            guard numbers.count >= 4 else { return nil }
            return Place(x: numbers[2], y: numbers[3], width: numbers[0], height: numbers[1])
        }
    }

    /// Waits until a window of that title has a pixel of that colour, within VP8's loss. A window is looked for each
    /// time, as SDL moves it, and makes it anew, before it is drawn.
    /// - Returns: where it is; nil after 30 s.
    func window(_ title: String, showing color: Int, x: Int, y: Int) throws -> Place? {
        try wait {
            let places = try windows(title, areQuestions: false)
            guard let screen = try screen() else { return nil }
            return places.first { screen.isColor(color, x: $0.x + x, y: $0.y + y, within: 40) }
        }
    }

    /// Waits until the buttons of a question are drawn, and clicks the right one of two.
    /// - Parameter higherThan: tells the question from one that was there before and has less text.
    /// - Returns: its height in pixels, which depends on the fonts that there are.
    @discardableResult
    func accept(_ title: String, higherThan height: Int = 0) throws -> Int {
        // Left of the button's text.
        func button(_ place: Place) -> (x: Int, y: Int) {
            (place.x + place.width / 2 + 16, place.y + place.height - 28)
        }
        let found = try wait { () throws -> Place? in
            let places = try windows(title, areQuestions: true)
            guard let screen = try screen() else { return nil }
            return places.first {
                $0.height > height && screen.isColor(0x696663, x: button($0).x, y: button($0).y, within: 10)
            }
        }
        guard let found else { throw Program.Failure("no question '\(title)' on the display") }
        try act("mousemove", "\(button(found).x)", "\(button(found).y)", "click", "1")
        return found.height
    }

    /// Waits until a question of `share` is drawn whose height is at least this, and presses its last button.
    /// - Parameter key: pressed before, again and again, for a field that must not stay empty.
    /// - Returns: its height in pixels.
    @discardableResult
    func acceptInShare(higherThan height: Int = 0, pressing key: String? = nil) throws -> Int {
        // Inside the button's edge, where no letter is.
        func button(_ place: Place) -> (x: Int, y: Int) { (place.x + place.width - 30, place.y + place.height - 30) }
        let found = try wait { () throws -> Place? in
            let places = try windows("share", areQuestions: false)
            guard let screen = try screen() else { return nil }
            return places.first {
                $0.height > height && screen.isColor(0x8AB4F8, x: button($0).x, y: button($0).y, within: 10)
            }
        }
        guard let found else { throw Program.Failure("no question of share on the display") }
        try act("mousemove", "\(button(found).x)", "\(button(found).y)")
        // A click counts 200 ms after the window was drawn, a key later.
        _ = try wait { () throws -> Bool? in
            if let key { try act("key", key) }
            try act("click", "1")
            return try isGone(found) ? true : nil
        }
        return found.height
    }

    /// Looks twice, as xwininfo prints nothing when any window closes while it lists them.
    private func isGone(_ question: Place) throws -> Bool {
        for _ in 0..<2 where try windows("share", areQuestions: false).contains(question) { return false }
        return true
    }

    /// Waits for a question of `share`, and presses Escape in it until it is gone.
    func refuseInShare() throws {
        guard try waitForShare(toAsk: true) else { throw Program.Failure("no question of share on the display") }
        let gone = try wait { () throws -> Bool? in
            guard let place = try windows("share", areQuestions: false).first else {
                return try windows("share", areQuestions: false).isEmpty ? true : nil
            }
            try act("mousemove", "\(place.x + 5)", "\(place.y + 5)", "key", "Escape")
            return nil
        }
        guard gone == true else { throw Program.Failure("a question of share stays") }
    }

    /// Waits until `share` asks something, or nothing any more.
    func waitForShare(toAsk isAsking: Bool) throws -> Bool {
        try wait { try windows("share", areQuestions: false).isEmpty != isAsking ? true : nil } ?? false
    }

    /// Presses a key in a window, once a second until it has had its effect: SDL may miss a key just after it has made
    /// its window anew.
    func press(_ key: String, in window: Place, until isDone: () throws -> Bool) throws {
        let isEffective = try wait { () throws -> Bool? in
            try act("mousemove", "\(window.x + window.width - 40)", "\(window.y + 30)", "key", key)
            let next = ContinuousClock.now + .seconds(1)
            while ContinuousClock.now < next {
                if try isDone() { return true }
            }
            return nil
        }
        guard isEffective == true else { throw Program.Failure("the key \(key) had no effect") }
    }

    /// The identifier of a program's window of that title.
    func client(_ title: String) throws -> String { try identifier(title, isQuestion: false) }

    /// Moves a question of SDL.
    func moveQuestion(_ title: String, x: Int, y: Int) throws {
        try act("windowmove", try identifier(title, isQuestion: true), "\(x)", "\(y)")
    }

    private func identifier(_ title: String, isQuestion: Bool) throws -> String {
        let tree = try Program("xwininfo", ["-root", "-tree"], environment: ["DISPLAY": display.name]).finish()
        let line = tree.split(separator: "\n").first {
            $0.contains("\"\(title)\": (") && $0.contains("\": ()") == isQuestion
        }
        guard let id = line?.split(separator: " ").first else { throw Program.Failure("no window '\(title)'") }
        return String(id)
    }

    /// Whether a question of that title is open.
    func isAsking(_ title: String) throws -> Bool { try !windows(title, areQuestions: true).isEmpty }

    /// Runs `xdotool`.
    func act(_ arguments: String...) throws { try display.run("xdotool", arguments) }

    /// Nil if a window went away meanwhile.
    private func screen() throws -> Screen? {
        let file = folder.file("screen")
        try? FileManager.default.removeItem(atPath: file)
        try display.run("xwd", ["-root", "-silent", "-out", file])
        return (try? Data(contentsOf: URL(fileURLWithPath: file))).flatMap { Screen(dump: $0) }
    }
}
