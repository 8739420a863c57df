import Foundation
import TestSupport
import Testing

/// Files that say more than they hold. Each verb gets so much address space that it ends if it believes them.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct HostileRecordingTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Half a gigabyte, of which a debug build takes a quarter of a gigabyte before it reads anything.
    private func run(_ arguments: [String], seconds: Double = 60) throws -> (code: Int32?, words: String) {
        let process = try ShareProcess(
            ["recordings"] + arguments, in: folder, launcher: ["prlimit", "--as=\(1 << 29)", "--core=0"])
        let code = process.exitCode(seconds: seconds)
        process.kill()
        return (code, process.errorText)
    }

    private func bytes(of path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    }

    /// An Opus packet of 2.5 ms at the beginning, and the next after `days`.
    private func gap(days: UInt64, name: String) throws -> String {
        let path = folder.file(name)
        let day: UInt64 = 86_400_000
        let file =
            Element.header(opus: 2)
            + Element.cluster(0, (0..<2).map { Element.block(track: $0 + 1, [0xE0, 0]) }.reduce([], +))
            + Element.cluster(days * day, (0..<2).map { Element.block(track: $0 + 1, [0xE0, 0]) }.reduce([], +))
        #expect(file.count < 500)
        try Data(file).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func aGapOfAHundredDaysIsFilledWithADayAtMost() throws {
        let gap = try gap(days: 100, name: "gap.webm")
        let output = folder.file("out.webm")
        for verb in [
            ["reel", gap, "-o", output], ["trim", gap, "-o", output], ["trim", gap, "--exact", "-o", output],
            ["trim", gap, "--from", "0", "--to", "8000000", "--exact", "-o", output],
        ] {
            let result = try run(verb)
            #expect(result.code == 0, "\(verb): \(result.words)")
            #expect(try bytes(of: output) < 32 << 20)
            unlink(output)
        }
    }

    @Test func gapsOfManyYearsAndFilesAddUpToADay() throws {
        let gap = try gap(days: 36_000, name: "years.webm")
        let output = folder.file("out.webm")
        #expect(try run(["reel", gap, "-o", output]).code == 0)
        #expect(try bytes(of: output) < 32 << 20)
        let many = try run(["reel", gap, gap, gap, "-o", folder.file("many.webm")])
        #expect(many.code == 73 && many.words.contains("longer than a file can be"), "\(many.words)")
    }

    @Test func aShortGapIsFilledWhole() throws {
        let gap = try gap(days: 0, name: "none.webm")
        var file = Element.header(opus: 1) + Element.cluster(0, Element.block(track: 1, [0xFC, 0]))
        file += Element.cluster(600_000, Element.block(track: 1, [0xFC, 0]))
        let path = folder.file("minutes.webm")
        try Data(file).write(to: URL(fileURLWithPath: path))
        let output = folder.file("out.webm")
        #expect(try run(["reel", path, "-o", output]).code == 0)
        let media = try MediaProbe(output)
        // Ten minutes in packets of 120 ms, and shorter ones between the pieces.
        #expect((4_999...5_100).contains(media.packets["audio"] ?? 0), "\(media.packets)")
        #expect(try run(["reel", gap, "-o", folder.file("gap.webm")]).code == 0)
    }

    @Test func aClusterOfMillionsOfBlocksIsDamage() throws {
        let path = folder.file("blocks.webm")
        let block = Element.block(track: 1, [])
        var content: [UInt8] = []
        content.reserveCapacity(block.count * 10_000_000)
        for _ in 0..<10_000_000 { content += block }
        let file =
            Element.header(opus: 1) + Element.cluster(0, content)
            + Element.cluster(1_000, Element.block(track: 1, [0xFC, 0]))
        try Data(file).write(to: URL(fileURLWithPath: path))
        let output = folder.file("out.webm")
        for verb in [
            ["show", path], ["trim", path, "-o", output], ["reel", path, path, "-o", folder.file("r.webm")],
        ] {
            let result = try run(verb)
            #expect(result.code == (verb[0] == "show" ? 0 : 73), "\(verb): \(result.words)")
        }
        #expect(!FileManager.default.fileExists(atPath: output))
        #expect(try run(["repair", path]).code == 73)
    }

    /// The times of all blocks are the same, so that none is ever old enough to be written in its order.
    @Test func blocksOfOneTimeDoNotWaitForEver() throws {
        let path = folder.file("still.webm")
        var file = Element.header(opus: 1)
        let payload = [UInt8](repeating: 0xFC, count: 1 << 20)
        for _ in 0..<300 { file += Element.cluster(0, Element.block(track: 1, payload)) }
        file += Element.cluster(10_000, Element.block(track: 1, payload))
        try Data(file).write(to: URL(fileURLWithPath: path))
        let output = folder.file("out.webm")
        let result = try run(["trim", path, "-o", output])
        #expect(result.code == 0, "\(result.words)")
        #expect(try bytes(of: output) > 250 << 20)
    }

    /// One key frame and no other for half a gigabyte.
    @Test func aGroupOfFramesIsNotReadWhole() throws {
        let path = folder.file("group.webm")
        var file = Element.header(video: "V_VP8")
        let key: [UInt8] = [0x10, 0, 0, 0x9D, 0x01, 0x2A, 64, 0, 64, 0]
        let frame = [0x11] + [UInt8](repeating: 0, count: 4 << 20)
        file += Element.cluster(0, Element.block(track: 1, key + frame))
        for second in 1..<125 {
            file += Element.cluster(UInt64(second) * 1_000, Element.block(track: 1, flags: 0, frame))
        }
        try Data(file).write(to: URL(fileURLWithPath: path))
        let sheet = try run(["show", path, "--sheet", folder.file("sheet.png")], seconds: 120)
        #expect(sheet.code == 0 || sheet.code == 73, "\(sheet.words)")
    }
}

/// Elements of a Matroska file (RFC 8794).
private enum Element {
    static func master(_ id: [UInt8], _ content: [UInt8]) -> [UInt8] {
        id + [0x08] + (0..<4).reversed().map { UInt8(content.count >> ($0 * 8) & 0xFF) } + content
    }

    static func number(_ id: [UInt8], _ value: UInt64) -> [UInt8] {
        id + [0x88] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> UInt64($0 * 8)) }
    }

    private static func text(_ id: [UInt8], _ text: String) -> [UInt8] {
        id + [0x80 | UInt8(text.utf8.count)] + text.utf8
    }

    /// EBML header, a segment of unknown size, Info and Tracks.
    static func header(opus: Int = 0, video: String? = nil) -> [UInt8] {
        var tracks: [UInt8] = []
        if let video {
            tracks += master(
                [0xAE],
                number([0xD7], 1) + number([0x83], 1) + text([0x86], video)
                    + master([0xE0], number([0xB0], 64) + number([0xBA], 64)))
        }
        // OpusHead (RFC 7845 section 5.1).
        let head = Array("OpusHead".utf8) + [1, 2, 0x38, 1, 0x80, 0xBB, 0, 0, 0, 0, 0]
        for track in 0..<opus {
            let number = number([0xD7], UInt64(track + (video == nil ? 1 : 2)))
            tracks += master(
                [0xAE],
                number + Self.number([0x83], 2) + text([0x86], "A_OPUS") + [0x63, 0xA2, 0x80 | UInt8(head.count)] + head
            )
        }
        return master([0x1A, 0x45, 0xDF, 0xA3], text([0x42, 0x82], "webm"))
            + [0x18, 0x53, 0x80, 0x67, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
            + master([0x15, 0x49, 0xA9, 0x66], number([0x2A, 0xD7, 0xB1], 1_000_000))
            + master([0x16, 0x54, 0xAE, 0x6B], tracks)
    }

    static func cluster(_ time: UInt64, _ blocks: [UInt8]) -> [UInt8] {
        master([0x1F, 0x43, 0xB6, 0x75], number([0xE7], time) + blocks)
    }

    static func block(track: Int, flags: UInt8 = 0x80, _ payload: [UInt8]) -> [UInt8] {
        let content = [0x80 | UInt8(track), 0, 0, flags] + payload
        return content.count < 127 ? [0xA3, 0x80 | UInt8(content.count)] + content : master([0xA3], content)
    }
}
