public import MediaCore
import WebMContainer

/// Frames of a recording from a key frame on, in decoding order.
public struct FrameGroup: Sendable {
    public struct Frame: Sendable {
        /// From the beginning of the recording, in milliseconds.
        public var time: Int64
        public var isKeyframe: Bool
        /// As files have them.
        public var bytes: [UInt8]
    }

    public var codec: VideoCodec { video.codec }
    /// The colours according to the file; nil if it has none.
    public var colorSpace: ColorSpace? { video.colorSpace }
    public private(set) var frames: [Frame] = []
    private var byteCount = 0
    let video: RecordedVideo

    /// A group of a recording is not larger in memory: 256 MiB, and as many frames as of an hour at 60 a second.
    private static let byteLimit = 1 << 28
    private static let frameLimit = 216_000

    init(_ video: RecordedVideo) { self.video = video }

    /// Adds the next frame.
    /// - Returns: false if the group is too large, and stays as it is.
    mutating func append(_ frame: Frame) -> Bool {
        guard frames.count < Self.frameLimit, byteCount + frame.bytes.count <= Self.byteLimit else { return false }
        byteCount += frame.bytes.count
        frames.append(frame)
        return true
    }

    /// Moves all frames in time.
    mutating func shift(by milliseconds: Int64) {
        for index in frames.indices { frames[index].time += milliseconds }
    }

    /// Reads all frames of a small file. Blocks on the disk.
    /// - Throws: if it cannot be read, or has no video that can be copied.
    public init(reading path: String) throws(RecordingFailure) {
        let recording = try EditableRecording(path)
        guard let video = recording.video else { throw RecordingFailure("\(recording.name) has no video") }
        var group = FrameGroup(video)
        var isWhole = true
        recording.forEachFrame { block in
            isWhole = group.append(Frame(block))
            return isWhole
        }
        guard isWhole else { throw RecordingFailure("\(recording.name) is too large") }
        self = group
    }

    /// Writes a file of their own, which begins with the first of them. Blocks on the disk.
    public func write(to path: String) throws(RecordingFailure) {
        let start = frames.first?.time ?? 0
        _ = try RecordingEditor.write(.file(path), video, [], nil) { writer throws(RecordingFileFailure) in
            for frame in frames {
                writer.addFrame(frame, time: frame.time - start)
                // One by one: the writer sorts by time what it has, and decoding may need another order.
                try writer.write(upTo: frame.time - start)
            }
            return (frames.last?.time ?? 0) - start
        }
    }
}

/// Encodes pictures of a recording again, with the codec that it has.
public struct GroupEncoder: Sendable {
    /// Decodes a group, and encodes the pictures from the frame of a time on.
    ///
    /// The new group begins with a key frame and has its parameter sets in the frames. Its times begin with the first
    /// frame of the given group.
    let encode: @Sendable (_ group: FrameGroup, _ time: Int64) throws(RecordingFailure) -> FrameGroup

    public init(_ encode: @escaping @Sendable (FrameGroup, Int64) throws(RecordingFailure) -> FrameGroup) {
        self.encode = encode
    }
}
