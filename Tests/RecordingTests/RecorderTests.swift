import LinuxRuntime
import Matroska
import MediaCore
import TestSupport
import Testing
import WebMContainer

@testable import Recording

@Suite struct RecorderTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A recorder, and what it says.
    private func makeRecorder(
        _ name: String = "a.webm", split: RecordingSplit? = nil
    ) throws -> (recorder: Recorder, events: Monitor<[RecordingEvent]>) {
        let events = Monitor<[RecordingEvent]>([])
        let recorder = try Recorder(
            to: .file(folder.file(name)), split: split, emit: { event in events.change { $0.append(event) } })
        return (recorder, events)
    }

    private func close(_ recorder: Recorder) async {
        await withCheckedContinuation { continuation in recorder.close { continuation.resume() } }
    }

    private func read(_ name: String = "a.webm") throws -> MatroskaFile<RecordedFileSource> {
        try MatroskaFile(RecordedFileSource(folder.file(name)))
    }

    @Test func framesAndPacketsAreInTheFileAsTheyCame() async throws {
        let (recorder, events) = try makeRecorder()
        recorder.setTitle("Anna")
        try recorder.start(.sample) { _ in }
        var feed = Feed(recorder)
        for index in 0..<60 {
            feed.frame(isKeyframe: index == 0 || index == 40, bytes: index * 37 % 3_000 + 1)
            feed.packet(track: 0)
            if index % 2 == 0 { feed.packet(track: 1) }
        }
        await close(recorder)
        let file = try read()
        #expect(file.isComplete)
        #expect(file.header.title == "Anna")
        #expect(file.payloads(1) == feed.frames)
        #expect(file.payloads(2) == feed.packets[0])
        #expect(file.payloads(3, withoutGaps: true) == feed.packets[1])
        #expect(events.with { $0.contains { if case .finished = $0 { true } else { false } } })
    }

    @Test func nothingComesBeforeTheFirstKeyFrame() async throws {
        let (recorder, _) = try makeRecorder()
        try recorder.start(.sample) { _ in }
        var feed = Feed(recorder)
        for index in 0..<10 {
            feed.packet(track: 0)
            feed.frame(isKeyframe: index == 5, bytes: 100)
        }
        await close(recorder)
        #expect(try read().payloads(1) == Array(feed.frames[5...]))
        #expect(try read().blocks.first?.isKeyframe == true)
    }

    @Test func aFileWithoutMediaIsRemoved() async throws {
        let (recorder, _) = try makeRecorder()
        try recorder.start(.sample) { _ in }
        await close(recorder)
        #expect(throws: RecordingFileFailure.self) { try RecordedFileSource(folder.file("a.webm")) }
        let unused = try makeRecorder().recorder
        await close(unused)
        #expect(throws: RecordingFileFailure.self) { try RecordedFileSource(folder.file("a.webm")) }
    }

    @Test func aFileIsNeverOverwritten() async throws {
        let first = try makeRecorder().recorder
        #expect(throws: RecordingFailure.self) { try makeRecorder() }
        await close(first)
    }

    @Test func aRecordingGoesOnInAnotherFileWithAKeyFrame() async throws {
        let (recorder, _) = try makeRecorder(split: .size(10_000))
        let requests = Monitor(0)
        try recorder.start(.sample) { request in
            if request == .wanted { requests.change { $0 += 1 } }
        }
        var feed = Feed(recorder)
        for index in 0..<40 { feed.frame(isKeyframe: index % 10 == 0, bytes: 1_500) }
        await close(recorder)
        #expect(
            try read("a.webm").payloads(1) + read("a-2.webm").payloads(1) + read("a-3.webm").payloads(1)
                + read("a-4.webm").payloads(1) == feed.frames)
        for name in ["a.webm", "a-2.webm", "a-3.webm", "a-4.webm"] {
            let file = try read(name)
            #expect(file.isComplete)
            #expect(file.blocks.first?.isKeyframe == true)
            #expect(file.blocks.first?.time == 0)
        }
    }

    @Test func anotherSessionContinuesTheFile() async throws {
        let (recorder, _) = try makeRecorder()
        try recorder.start(.sample) { _ in }
        var feed = Feed(recorder)
        for index in 0..<10 { feed.frame(isKeyframe: index == 0, bytes: 100) }
        try recorder.start(.sample) { _ in }
        feed.restart()
        for index in 0..<10 { feed.frame(isKeyframe: index == 0, bytes: 100) }
        await close(recorder)
        let file = try read()
        #expect(file.payloads(1) == feed.frames)
        let times = file.blocks.map(\.time)
        #expect(times == times.sorted())
        #expect(Set(times).count == times.count)
    }

    @Test func otherTracksNeedAnotherFile() async throws {
        let (recorder, _) = try makeRecorder()
        try recorder.start(.sample) { _ in }
        var feed = Feed(recorder)
        for index in 0..<10 { feed.frame(isKeyframe: index == 0, bytes: 100) }
        // A track at the end without a packet would not stay in the file.
        for track in 0..<2 { feed.packet(track: track) }
        try recorder.start(EncodedMediaFormat(video: .vp8, audio: [])) { _ in }
        feed.restart()
        for index in 0..<10 { feed.frame(isKeyframe: index == 0, bytes: 100) }
        await close(recorder)
        #expect(try read("a.webm").header.tracks.count == 3)
        #expect(try read("a-2.webm").header.tracks.count == 1)
        #expect(try read("a-2.webm").payloads(1) == Array(feed.frames[10...]))
    }

    @Test func soundAloneIsRecorded() async throws {
        let (recorder, _) = try makeRecorder()
        try recorder.start(EncodedMediaFormat(video: nil, audio: [.microphoneAudio])) { _ in }
        var feed = Feed(recorder)
        for _ in 0..<50 { feed.packet(track: 0) }
        await close(recorder)
        #expect(try read().isComplete)
        #expect(try read().payloads(1) == feed.packets[0])
    }

    /// A sender may have negotiated video and send none: after 10 s its audio is recorded alone. Video that comes later
    /// begins another file.
    @Test func soundIsRecordedWhereNoVideoComes() throws {
        let queue = RecordingQueue()
        var writer = RecordingWriter(
            destination: .file(folder.file("a.webm")), reserved: nil, split: nil, title: { nil }, emit: { _ in })
        let start = MediaInstant(nanoseconds: 1_000_000_000)
        queue.start(.sample, now: start)
        func write() { writer.take(queue.take(at: start, empty: .init()).batch) }
        for index in 0..<600 {
            let packet: [UInt8] = [0xFC, UInt8(truncatingIfNeeded: index)]
            packet.withUnsafeBytes { bytes in
                queue.push(
                    bytes,
                    EncodedAudioPacket(
                        track: 0, payload: .packet(bytes), samplesPerChannel: 960,
                        rtpTimestamp: UInt32(index * 960), captured: nil), now: start + .milliseconds(index * 20))
            }
            if index == 499 {
                write()
                #expect(writer.began == nil)
            }
        }
        write()
        #expect(writer.began == start + .seconds(10))
        let frame = [UInt8](repeating: 1, count: 100)
        frame.withUnsafeBytes { bytes in
            let frame = EncodedVideoFrame(
                bytes: EncodedFrameBytes(bytes), codec: .vp8, isKeyframe: true,
                size: PixelSize(width: 320, height: 200), rtpTimestamp: 1)
            _ = queue.push(frame, now: start + .seconds(12))
        }
        write()
        writer.finish(now: start + .seconds(13))
        #expect(try read("a.webm").header.tracks.count == 1)
        let packets = (500..<600).map { [0xFC, UInt8(truncatingIfNeeded: $0)] }
        #expect(try read("a.webm").payloads(1).prefix(100) == packets[...])
        #expect(try read("a-2.webm").payloads(1) == [frame])
    }

    @Test func silenceIsFilled() async throws {
        let (recorder, _) = try makeRecorder()
        try recorder.start(.sample) { _ in }
        var feed = Feed(recorder)
        feed.frame(isKeyframe: true, bytes: 100)
        feed.packet(track: 0)
        // A second without packets; the sender's timestamps go on.
        feed.skip(track: 0, packets: 50)
        feed.packet(track: 0)
        await close(recorder)
        let blocks = try read().blocks.filter { $0.track == 2 }
        #expect(blocks.map(\.time) == [0, 20, 140, 260, 380, 500, 620, 740, 860, 980, 1_020])
    }

    @Test func aFolderThatIsNotThereIsAnError() {
        let failure = #expect(throws: RecordingFailure.self) {
            try Recorder(to: .file(folder.file("none/a.webm")))
        }
        #expect(failure?.remedy == "Name a folder that exists.")
    }
}

extension EncodedMediaFormat {
    static let sample = EncodedMediaFormat(video: .vp8, audio: [.applicationAudio, .microphoneAudio])
}

/// Feeds a recorder like a network thread, with frames of 33 ms and packets of 20 ms.
struct Feed {
    private let recorder: Recorder
    private(set) var frames: [[UInt8]] = []
    private(set) var packets: [[[UInt8]]] = [[], []]
    private var timestamp: UInt32 = 4_294_960_000
    private var audioTimestamps: [UInt32] = [0, 1_000_000]

    init(_ recorder: Recorder) { self.recorder = recorder }

    mutating func restart() {
        timestamp = 12_345
        audioTimestamps = [777, 888]
    }

    mutating func frame(isKeyframe: Bool, bytes count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ frames.count) }
        frames.append(bytes)
        // In two pieces, as from two packets.
        bytes.withUnsafeBytes { all in
            let halves = [
                UnsafeRawBufferPointer(rebasing: all[..<(count / 2)]),
                UnsafeRawBufferPointer(rebasing: all[(count / 2)...]),
            ]
            halves.withUnsafeBufferPointer { segments in
                recorder.receive(
                    EncodedVideoFrame(
                        bytes: EncodedFrameBytes(segments: segments), codec: .vp8, isKeyframe: isKeyframe,
                        size: isKeyframe ? PixelSize(width: 320, height: 200) : nil, rtpTimestamp: timestamp))
            }
        }
        timestamp &+= 2_970
    }

    mutating func packet(track: Int) {
        // 20 ms, CELT, full band, stereo.
        let bytes = [0xFC] + (0..<30).map { UInt8(truncatingIfNeeded: $0 &+ packets[track].count) }
        packets[track].append(bytes)
        bytes.withUnsafeBytes {
            recorder.receive(
                EncodedAudioPacket(
                    track: track, payload: .packet($0), samplesPerChannel: 960, rtpTimestamp: audioTimestamps[track]))
        }
        audioTimestamps[track] &+= 960
    }

    mutating func skip(track: Int, packets: Int) { audioTimestamps[track] &+= UInt32(packets) * 960 }
}

extension MatroskaFile {
    var blocks: [RecordedBlock] {
        var blocks: [RecordedBlock] = []
        forEachPiece { piece in
            if case .cluster(let element) = piece { blocks += cluster(element)?.blocks ?? [] }
            return true
        }
        return blocks
    }

    /// - Parameter withoutGaps: leaves out the packets that fill gaps, of two bytes.
    func payloads(_ track: UInt8, withoutGaps: Bool = false) -> [[UInt8]] {
        blocks.filter { $0.track == track && (!withoutGaps || $0.payload.count > 2) }.map { Array($0.payload) }
    }
}
