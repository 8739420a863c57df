import Foundation
import ImageFile
import MediaCore
import QRCodes
import TestSupport
import Testing

struct QRCodeTests {
    /// zbar reads what was written, as a telephone does.
    @Test(arguments: [
        "share", "https://192.0.2.20:27427/9X2M4QF1K7D3A#" + String(repeating: "AUrk0-9_", count: 10),
        String(repeating: "x", count: 1000),
    ])
    func aReaderReadsIt(text: String) throws {
        let code = try #require(QRCode(text))
        // Four points a module, with a quiet zone of four modules.
        let side = (code.size + 8) * 4
        let pixels = (0..<side * side).map { index -> UInt32 in
            code[index % side / 4 - 4, index / side / 4 - 4] ? 0xFF00_0000 : 0xFFFF_FFFF
        }
        let folder = try TemporaryFolder()
        let png = try #require(ImageFile.png(width: side, height: side, pixels: pixels))
        try Data(png).write(to: URL(fileURLWithPath: folder.file("code.png")))
        let read = try Program(
            "zbarimg", ["--quiet", "--raw", "-Sdisable", "-Sqrcode.enable", folder.file("code.png")])
        let shown = read.finish()
        #expect(shown == text + "\n")
    }

    /// Two modules a character; the finder in the corner, within a quiet zone of two modules.
    @Test func linesOfATerminalAreTheModules() throws {
        let code = try #require(QRCode("share"))
        #expect(code.size == 21 && code.lines.count == 13 && code.lines.allSatisfy { $0.count == 25 })
        #expect(code.lines[0].allSatisfy { $0 == " " })
        #expect(code.lines[1].hasPrefix("  █▀▀▀▀▀█ ") && code.lines[4].hasPrefix("  ▀▀▀▀▀▀▀ "))
    }

    @Test func textsWithoutACodeAreRefused() throws {
        #expect(QRCode(String(repeating: "x", count: 2953))?.size == 177)
        #expect(QRCode(String(repeating: "x", count: 2954)) == nil)
        #expect(QRCode("") == nil)
    }
}
