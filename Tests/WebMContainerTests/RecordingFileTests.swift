import Foundation
import Matroska
import MediaCore
import TestSupport
import Testing
import WebMContainer

@Suite struct RecordingFileTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private let header = MatroskaHeader(
        tracks: [.video(.vp8, size: PixelSize(width: 64, height: 48))], title: nil, created: nil, application: "test")

    private func cluster(_ time: Int64) -> [UInt8] {
        var assembler = ClusterAssembler(videoTrack: 1)
        [UInt8](repeating: 9, count: 100).withUnsafeBytes {
            assembler.append(track: 1, time: time, isKeyframe: true, $0)
        }
        var writer = ElementWriter()
        assembler.takeClusters(upTo: .max) { $0.write(to: &writer) }
        return writer.bytes
    }

    /// A file whose writer was killed after two clusters and a part of a third one.
    private func cutOff(_ name: String) throws -> String {
        let path = folder.file(name)
        let file = try RecordingFile(creating: path)
        try file.start(header)
        try file.append(cluster(0))
        try file.append(cluster(500))
        file.close()
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(cluster(1_000).dropLast(20)))
        try handle.close()
        return path
    }

    @Test func aFinishedFileIsComplete() throws {
        let path = folder.file("a.webm")
        let file = try RecordingFile(creating: path)
        try file.start(header)
        var index = CueIndex()
        try file.setCues(index.add(Cue(time: 0, track: 1, cluster: file.position, relative: 3)))
        try file.append(cluster(0))
        try file.setDuration(milliseconds: 40)
        try file.finish(nil)
        file.close()
        file.close()
        let read = try MatroskaFile(RecordedFileSource(path))
        #expect(read.isComplete)
        #expect(read.header.duration == 40)
        #expect(try RecordingRepair.repair(path).wasComplete)
    }

    @Test func anExistingFileOrLinkIsRefused() throws {
        let path = folder.file("a.webm")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: RecordingFileFailure.self) { try RecordingFile(creating: path) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
        try FileManager.default.createSymbolicLink(atPath: folder.file("b.webm"), withDestinationPath: folder.file("c"))
        #expect(throws: RecordingFileFailure.self) { try RecordingFile(creating: folder.file("b.webm")) }
    }

    @Test func onlyTheUserMayReadIt() throws {
        let path = folder.file("a.webm")
        let file = try RecordingFile(creating: path)
        try file.start(header)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func aCutOffFileIsRepaired() throws {
        let path = try cutOff("a.webm")
        let result = try RecordingRepair.repair(path)
        #expect(!result.wasComplete)
        #expect(result.duration == 500)
        #expect(result.lostBytes == cluster(1_000).count - 20)
        #expect(try MatroskaFile(RecordedFileSource(path)).isComplete)
        #expect(try RecordingRepair.repair(path).wasComplete)
    }

    @Test func aFileThatIsRecordedIsNotRepaired() throws {
        let path = folder.file("a.webm")
        let file = try RecordingFile(creating: path)
        try file.start(header)
        let failure = #expect(throws: RecordingFileFailure.self) { try RecordingRepair.repair(path) }
        #expect(failure?.code == .inUse)
    }

    @Test(arguments: ["", "hello", String(repeating: "\u{1A}E\u{DF}", count: 100)])
    func otherFilesAreNotRepaired(_ content: String) throws {
        let path = folder.file("a.webm")
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
        let failure = #expect(throws: RecordingFileFailure.self) { try RecordingRepair.repair(path) }
        #expect(failure?.code == .notReadable)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(content.utf8))
    }

    @Test func aFolderIsNotRead() throws {
        #expect(throws: RecordingFileFailure.self) { try RecordedFileSource(folder.path) }
        #expect(throws: RecordingFileFailure.self) { try RecordedFileSource("/dev/zero") }
    }
}
