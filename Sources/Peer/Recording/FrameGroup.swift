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
        do throws(RecordingFileFailure) {
            var writer = try ExcerptWriter(to: .file(path), video: video, audio: [], title: nil)
            do throws(RecordingFileFailure) {
                let start = frames.first?.time ?? 0
                for frame in frames {
                    frame.bytes.withUnsafeBytes {
                        writer.addFrame($0, time: frame.time - start, isKeyframe: frame.isKeyframe, isHidden: false)
                    }
                    try writer.write(upTo: frame.time - start)
                }
                _ = try writer.finish(duration: (frames.last?.time ?? 0) - start)
            } catch {
                writer.discard()
                throw error
            }
        } catch {
            throw RecordingFailure(error)
        }
    }
}

/// Encodes pictures of a recording again, with the codec that it has.
public struct GroupEncoder: Sendable {
    /// Decodes a group, and encodes the pictures from the frame of a time on.
    ///
    /// The new group begins with a key frame and has its parameter sets in the frames. Its times begin with the first frame of
    /// the given group.
    let encode: @Sendable (_ group: FrameGroup, _ time: Int64) throws(RecordingFailure) -> FrameGroup

    public init(_ encode: @escaping @Sendable (FrameGroup, Int64) throws(RecordingFailure) -> FrameGroup) {
        self.encode = encode
    }
}
