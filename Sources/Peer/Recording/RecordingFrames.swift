import Matroska
public import MediaCore

/// The frames that have to be decoded for pictures of a recording.
public enum RecordingFrames {
    /// Beyond so many frames from a key frame on, an earlier picture is taken.
    private static let longestGroup = 1_800

    /// Reads the frames for the picture at each of some instants, in one pass over the file. Blocks on the disk.
    /// - Parameters:
    ///   - instants: from the beginning of the recording, rising.
    ///   - body: called for each instant with the frames from a key frame on; the last one has the picture. Not called
    ///     for instants before the first frame.
    /// - Throws: if the file cannot be read, or has no video.
    public static func forEach(
        of path: String, at instants: [MediaDuration],
        _ body: (_ index: Int, _ group: FrameGroup) throws(RecordingFailure) -> Void
    ) throws(RecordingFailure) {
        let recording = try EditableRecording(path)
        guard let video = recording.video else { throw RecordingFailure("\(recording.name) has no video") }
        var group = FrameGroup(video)
        var next = 0
        var failure: RecordingFailure?
        func pass(upTo time: Int64) {
            while failure == nil, next < instants.count, instants[next].wholeMilliseconds < time {
                do throws(RecordingFailure) {
                    if !group.frames.isEmpty { try body(next, group) }
                } catch {
                    failure = error
                }
                next += 1
            }
        }
        recording.forEachFrame { block in
            pass(upTo: block.time)
            if block.isKeyframe { group = FrameGroup(video) }
            if block.isKeyframe || !group.frames.isEmpty, group.frames.count < longestGroup {
                _ = group.append(FrameGroup.Frame(block))
            }
            return failure == nil && next < instants.count
        }
        pass(upTo: .max)
        if let failure { throw failure }
    }
}

extension FrameGroup.Frame {
    init(_ block: RecordedBlock) {
        self.init(time: block.time, isKeyframe: block.isKeyframe, bytes: Array(block.payload))
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
