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
    public internal(set) var frames: [Frame] = []
    let video: RecordedVideo

    init(_ video: RecordedVideo) { self.video = video }

    /// Reads all frames of a small file. Blocks on the disk.
    /// - Throws: if it cannot be read, or has no video that can be copied.
    public init(reading path: String) throws(RecordingFailure) {
        let recording = try EditableRecording(path)
        guard let video = recording.video else { throw RecordingFailure("\(recording.name) has no video") }
        self.init(video)
        var frames: [Frame] = []
        recording.forEachFrame { block in
            frames.append(Frame(block))
            return true
        }
        self.frames = frames
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
