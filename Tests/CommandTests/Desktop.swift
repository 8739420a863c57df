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
        private let (start, rowLength): (Int, Int)

        /// - Parameter dump: a file of `xwd` with 32 bits a pixel, little endian.
        init?(dump: Data) {
            let bytes = [UInt8](dump)
            guard bytes.count > 100 else { return nil }
            let header = (0..<25).map { index in bytes[(index * 4)..<(index * 4 + 4)].reduce(0) { $0 << 8 | Int($1) } }
            guard header[1] == 7, header[7] == 0, header[11] == 32 else { return nil }
            self.bytes = bytes
            // A colour map of 12 bytes an entry follows the header.
            (start, rowLength) = (header[0] + header[19] * 12, header[12])
        }

        func color(x: Int, y: Int) -> Int {
            let index = start + y * rowLength + x * 4
            return Int(bytes[index + 2]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index])
        }
    }

    let display: VirtualDisplay
    private let folder: TemporaryFolder

    init() throws {
        display = try VirtualDisplay()
        folder = try TemporaryFolder()
    }

    /// Looks again and again, for 20 s at most.
    private func wait<Result>(_ found: () throws -> Result?) throws -> Result? {
        let deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            if let result = try found() { return result }
        }
        return nil
    }

    /// - Parameter isQuestion: looks for a question of SDL, whose window has a title but no class.
    private func window(_ title: String, isQuestion: Bool, minimumHeight: Int = 2) throws -> Place {
        let found = try wait { () throws -> Place? in
            let tree = try Program("xwininfo", ["-root", "-tree"], environment: ["DISPLAY": display.name]).finish()
            for line in tree.split(separator: "\n") where line.contains("\"\(title)\": (") {
                guard line.contains("\": ()") == isQuestion, let end = line.split(separator: ")").last else { continue }
                let numbers = end.split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) }
                guard numbers.count >= 4, numbers[1] >= minimumHeight else { continue }
                return Place(x: numbers[2], y: numbers[3], width: numbers[0], height: numbers[1])
            }
            return nil
        }
        guard let found else { throw Program.Failure("no window '\(title)' on the display") }
        return found
    }

    /// The window of a program.
    func window(_ title: String) throws -> Place { try window(title, isQuestion: false) }

    /// Waits for a question, and clicks the right one of two buttons.
    /// - Parameter higherThan: tells the question from one that was there before and has less text.
    func accept(_ title: String, higherThan height: Int = 1) throws {
        let place = try window(title, isQuestion: true, minimumHeight: height + 1)
        // Left of the button's text. A click before the button is drawn would be lost.
        let (x, y) = (place.width / 2 + 16, place.height - 40)
        guard try shows(0x696663, x: x, y: y, in: place, within: 10) else {
            throw Program.Failure("the question '\(title)' has no button at \(x), \(y)")
        }
        try act("mousemove", "\(place.x + x)", "\(place.y + y)", "click", "1")
    }

    /// Runs `xdotool`.
    func act(_ arguments: String...) throws { try act(arguments) }
    func act(_ arguments: [String]) throws { try display.run("xdotool", arguments) }

    private func screen() throws -> Screen? {
        try display.run("xwd", ["-root", "-silent", "-out", folder.file("screen")])
        return Screen(dump: try Data(contentsOf: URL(fileURLWithPath: folder.file("screen"))))
    }

    /// Waits until the pixel of a window has that colour, within VP8's loss.
    func shows(_ color: Int, x: Int, y: Int, in window: Place, within tolerance: Int = 40) throws -> Bool {
        try wait { () throws -> Bool? in
            guard let found = try screen()?.color(x: window.x + x, y: window.y + y) else { return nil }
            let isNear = [16, 8, 0].allSatisfy { abs((found >> $0 & 255) - (color >> $0 & 255)) <= tolerance }
            return isNear ? true : nil
        } ?? false
    }
}
