import Foundation
import TestSupport

/// A private X server without a window manager. Its frame buffer is a file that the test can read.
final class PrivateDisplay: Sendable {
    private let display: VirtualDisplay
    private let folder: TemporaryFolder
    let width: Int
    let height: Int
    var name: String { display.name }

    init(width: Int, height: Int) throws {
        self.width = width
        self.height = height
        folder = try TemporaryFolder()
        display = try VirtualDisplay(width: width, height: height, arguments: ["-fbdir", folder.path])
    }

    /// Runs a program on this display and waits for its end.
    func run(_ program: String, _ arguments: [String]) throws { try display.run(program, arguments) }

    /// Reads the screen's pixels. The frame buffer file is in XWD format, with a big-endian header.
    func screenshot() throws -> Screenshot {
        let bytes = [UInt8](try Data(contentsOf: folder.url.appendingPathComponent("Xvfb_screen0")))
        func field(_ index: Int) -> Int {
            bytes[(index * 4)..<(index * 4 + 4)].reduce(0) { $0 << 8 | Int($1) }
        }
        let colours = field(19)
        return Screenshot(bytes: bytes, start: field(0) + colours * 12, stride: field(12), width: width, height: height)
    }
}

struct Screenshot: CustomStringConvertible, CustomReflectable {
    let bytes: [UInt8]
    let start: Int
    let stride: Int
    let width: Int
    let height: Int

    // Keeps a failed expectation from printing every pixel.
    var description: String { "\(width) x \(height) pixels" }
    var customMirror: Mirror { Mirror(self, children: []) }

    /// The pixel as red, green, blue.
    subscript(x: Int, y: Int) -> [Int] {
        let at = start + y * stride + x * 4
        return [Int(bytes[at + 2]), Int(bytes[at + 1]), Int(bytes[at])]
    }

    func isNear(_ colour: [Int], _ x: Int, _ y: Int, within tolerance: Int = 6) -> Bool {
        zip(self[x, y], colour).allSatisfy { abs($0 - $1) <= tolerance }
    }
}
