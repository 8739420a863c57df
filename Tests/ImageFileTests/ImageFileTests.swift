import Foundation
import ImageFile
import MediaCore
import PixelConversion
import Testing

@Suite struct ImageFileTests {
    private let size = PixelSize(width: 48, height: 34)

    private func path() -> String {
        FileManager.default.temporaryDirectory.appendingPathComponent("picture-\(UUID().uuidString).png").path
    }

    /// A slightly red frame whose upper and lower halves differ in luma.
    private func testFrame() -> I420Buffer {
        let canvas = I420Buffer(size)
        for row in 0..<size.height {
            (canvas.y + row * canvas.strideY).update(repeating: row < 16 ? 60 : 200, count: size.width)
        }
        for row in 0..<size.height / 2 {
            (canvas.v + row * canvas.strideC).update(repeating: 150, count: size.width / 2)
        }
        return canvas
    }

    @Test func imageComesBackAsItWasWritten() throws {
        let path = path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let canvas = testFrame()
        try ImageFile.write(canvas.frame, to: path, converter: YUVConverter())
        let read = try ImageFile.read(path)
        #expect(read.size == size)
        var wanted = [UInt8](repeating: 0, count: size.width * size.height * 4)
        wanted.withUnsafeMutableBytes {
            guard let base = $0.baseAddress else { return }
            YUVConverter().convert(canvas.frame, rect: PixelRect(size), toBGRA: base, stride: size.width * 4)
        }
        for (x, y) in [(0, 0), (47, 15), (0, 16), (47, 33), (20, 20)] {
            let pixel = read[x, y]
            let index = (y * size.width + x) * 4
            #expect([pixel.blue, pixel.green, pixel.red, pixel.alpha] == Array(wanted[index..<index + 4]))
            #expect(pixel.red > pixel.blue)
        }
    }

    @Test func olderFileIsReplacedAndNoPartIsLeft() throws {
        let path = path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        try ImageFile.write(testFrame().frame, to: path, converter: YUVConverter())
        #expect(try ImageFile.read(path).size == size)
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let name = URL(fileURLWithPath: path).lastPathComponent
        let left = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix(name) }
        #expect(left == [name])
    }

    @Test func missingFolderIsSaidInWords() {
        let path = "/nonexistent/picture.png"
        #expect {
            try ImageFile.write(testFrame().frame, to: path, converter: YUVConverter())
        } throws: { error in
            guard let failure = error as? ImageFileFailure else { return false }
            return failure.code == .cannotWrite && failure.underlying == ENOENT && failure.message.contains(path)
        }
        #expect { try ImageFile.read(path) } throws: { ($0 as? ImageFileFailure)?.code == .cannotRead }
    }

    @Test func folderInPlaceOfTheFileIsUntouched() throws {
        let path = path()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect { try ImageFile.write(testFrame().frame, to: path, converter: YUVConverter()) } throws: {
            ($0 as? ImageFileFailure)?.code == .cannotWrite
        }
        #expect(!FileManager.default.fileExists(atPath: "\(path).\(getpid()).part"))
    }

    /// Icons of anybody: a size is checked before anything is decoded.
    @Test func anImageInMemoryIsReadWithinItsLimit() throws {
        let pixels = (0..<16 * 8).map { UInt32($0) << 24 | 0x10_20_30 }
        let file = try #require(ImageFile.png(width: 16, height: 8, pixels: pixels))
        let read = try #require(ImageFile.read(png: file, sideLimit: 16))
        #expect(read.size == PixelSize(width: 16, height: 8) && read.pixels == pixels)
        #expect(ImageFile.read(png: file, sideLimit: 15) == nil)
        #expect(ImageFile.read(png: [], sideLimit: 256) == nil)
        for index in file.indices {
            _ = ImageFile.read(png: Array(file[..<index]), sideLimit: 256)
            for flip in [1, 0x80, 0xFF] as [UInt8] {
                var damaged = file
                damaged[index] ^= flip
                _ = ImageFile.read(png: damaged, sideLimit: 256)
            }
        }
        // A header that says 60,000 x 60,000 pixels.
        var huge = file
        huge.replaceSubrange(16..<24, with: [0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60])
        #expect(ImageFile.read(png: huge, sideLimit: 256) == nil)
    }

    @Test func otherFilesAreRefused() throws {
        let path = path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("this is no picture at all".utf8).write(to: URL(fileURLWithPath: path))
        #expect { try ImageFile.read(path) } throws: { ($0 as? ImageFileFailure)?.code == .notPNG }
    }
}
