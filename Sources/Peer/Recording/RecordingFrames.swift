import Matroska
public import MediaCore

/// The frames that have to be decoded for pictures of a recording.
public enum RecordingFrames {
    /// Beyond so many frames from a key frame on, an earlier picture is taken.
    private static let longestGroup = 1_800

    /// Reads the frames for the picture at each of some instants, in one pass over the file. Blocks on the disk.
    /// - Parameters:
    ///   - instants: from the beginning of the recording, rising.
    ///   - body: called for each instant with the frames from a key frame on; the last one has the picture. Not called for
    ///     instants before the first frame.
    /// - Throws: if the file cannot be read, or has no VP8 video.
    public static func forEach(
        of path: String, at instants: [MediaDuration], _ body: (_ index: Int, _ frames: [[UInt8]]) -> Void
    ) throws(RecordingFailure) {
        let recording = try EditableRecording(path)
        guard recording.video?.codec == .vp8 else {
            throw RecordingFailure("\(recording.name) has no video that can be decoded here")
        }
        var group: [[UInt8]] = []
        var next = 0
        func pass(upTo time: Int64) {
            while next < instants.count, instants[next].wholeMilliseconds < time {
                if !group.isEmpty { body(next, group) }
                next += 1
            }
        }
        recording.forEachFrame { block in
            pass(upTo: block.time)
            if block.isKeyframe { group = [] }
            if block.isKeyframe || !group.isEmpty, group.count < longestGroup { group.append(Array(block.payload)) }
            return next < instants.count
        }
        pass(upTo: .max)
    }
}

extension EditableRecording {
    /// - Parameter body: returns false to end.
    func forEachFrame(_ body: (RecordedBlock) -> Bool) {
        forEachCluster { cluster in
            for block in cluster.blocks where block.track == videoNumber {
                guard body(block) else { return false }
            }
            return true
        }
    }
}
