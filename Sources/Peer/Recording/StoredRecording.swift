import Matroska
public import MediaCore
import WebMContainer

/// A file of a recording on the disk.
public struct StoredRecording: Equatable, Sendable {
    public struct Track: Equatable, Sendable {
        public var isVideo: Bool
        /// "V_VP8", "A_OPUS" ...
        public var codec: String
        /// Of the first frame; nil for audio.
        public var size: PixelSize?
        /// The colours according to the file; nil for audio, and if the file has none.
        public var colorSpace: ColorSpace?
        /// Nil for video.
        public var channels: Int?
    }

    public var path: String
    /// Cleaned; nil if the file has none.
    public var title: String?
    /// As the file says.
    public var duration: MediaDuration
    public var bytes: Int
    public var tracks: [Track]
    /// The reason why it cannot be cut and joined, as a phrase ("audio in A_AAC"); nil if it can.
    public var editingObstacle: String?
    /// The recording ended as it should. Otherwise it goes on, or was cut off; it can be played all the same.
    public var isComplete: Bool

    /// Reads the beginning of a file.
    /// - Throws: if it is no WebM or Matroska file, or cannot be opened.
    public init(reading path: String) throws(RecordingFailure) {
        do throws(RecordingFileFailure) {
            let source = try RecordedFileSource(path)
            let file = try Self.open(source)
            self.path = path
            title = file.header.title.flatMap { $0.isEmpty ? nil : $0 }
            duration = .milliseconds(Int(file.header.duration ?? 0))
            bytes = source.length
            tracks = file.header.tracks.map {
                Track(
                    isVideo: $0.isVideo, codec: UntrustedText.clean($0.codec, fallback: "unknown"), size: $0.size,
                    colorSpace: ColorSpace(appearance: $0.appearance), channels: $0.channels)
            }
            editingObstacle = EditableRecording.obstacle(file.header)
            isComplete = file.isComplete
        } catch {
            throw RecordingFailure(error)
        }
    }

    static func open(
        _ source: RecordedFileSource
    ) throws(RecordingFileFailure) -> MatroskaFile<RecordedFileSource> {
        do throws(MatroskaFile<RecordedFileSource>.Malformed) {
            return try MatroskaFile(source)
        } catch {
            throw RecordingFileFailure(.notReadable, "\(source.path) is no recording that can be read")
        }
    }

    /// The result of a repair.
    public struct Repair: Equatable, Sendable {
        /// There was nothing to repair.
        public var wasComplete: Bool
        public var duration: MediaDuration
        /// Bytes that were no whole cluster.
        public var lostBytes: Int
    }

    /// Completes a file whose recording was cut off.
    /// - Throws: while the file is recorded, and if this program did not write it; it is not changed then.
    public static func repair(_ path: String) throws(RecordingFailure) -> Repair {
        do throws(RecordingFileFailure) {
            let result = try RecordingRepair.repair(path)
            return Repair(
                wasComplete: result.wasComplete, duration: .milliseconds(Int(result.duration)),
                lostBytes: result.lostBytes)
        } catch {
            throw RecordingFailure(error)
        }
    }
}
