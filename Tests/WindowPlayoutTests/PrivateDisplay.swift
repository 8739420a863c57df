import Foundation
import Glibc

/// An X server of the test's own, without a window manager, whose root window lies in a file that can be looked at.
final class PrivateDisplay {
    let name: String
    private let identifier: pid_t
    private let folder: URL
    private var hasEnded = false
    let width: Int
    let height: Int

    struct CannotStart: Error {}

    init(width: Int, height: Int) throws {
        self.width = width
        self.height = height
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("display-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var ends: [Int32] = [-1, -1]
        pipe(&ends)
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        let arguments = [
            "Xvfb", "-displayfd", "\(ends[1])", "-screen", "0", "\(width)x\(height)x24", "-nolisten", "tcp", "-fbdir",
            folder.path,
        ]
        var words = arguments.map { strdup($0) }
        words.append(nil)
        defer { words.forEach { free($0) } }
        var child = pid_t()
        guard posix_spawnp(&child, "Xvfb", &actions, nil, words, environ) == 0 else { throw CannotStart() }
        identifier = child
        close(ends[1])
        defer { close(ends[0]) }
        // The server writes its number when it is ready.
        var text: [UInt8] = []
        var byte = UInt8(0)
        while read(ends[0], &byte, 1) == 1, byte != 10 { text.append(byte) }
        guard !text.isEmpty else { throw CannotStart() }
        name = ":" + String(decoding: text, as: UTF8.self)
    }

    func kill() {
        guard !hasEnded else { return }
        hasEnded = true
        Glibc.kill(identifier, SIGKILL)
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }

    /// What the screen shows now. The server's frame buffer file is an XWD file (big-endian header).
    func screenshot() throws -> Screenshot {
        let bytes = [UInt8](try Data(contentsOf: folder.appendingPathComponent("Xvfb_screen0")))
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

    // A failed expectation would print every pixel.
    var description: String { "\(width) x \(height) pixels" }
    var customMirror: Mirror { Mirror(self, children: []) }

    /// Red, green, blue.
    subscript(x: Int, y: Int) -> [Int] {
        let at = start + y * stride + x * 4
        return [Int(bytes[at + 2]), Int(bytes[at + 1]), Int(bytes[at])]
    }

    func isNear(_ colour: [Int], _ x: Int, _ y: Int, within tolerance: Int = 6) -> Bool {
        zip(self[x, y], colour).allSatisfy { abs($0 - $1) <= tolerance }
    }
}
