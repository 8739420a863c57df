/// A place where playback can start.
public struct Cue: Equatable, Sendable {
    /// In milliseconds from the start of the file.
    public var time: Int64
    /// The number of the track.
    public var track: UInt8
    /// Where the cluster begins, relative to the segment's start.
    public var cluster: Int
    /// Where the block begins, relative to the cluster's content.
    public var relative: Int

    public init(time: Int64, track: UInt8, cluster: Int, relative: Int) {
        self.time = time
        self.track = track
        self.cluster = cluster
        self.relative = relative
    }

    /// The Cues element (RFC 9559 section 5.1.5). Of more than `limit` cues an even selection is taken.
    public static func element(_ cues: [Cue], limit: Int = 65_536) -> [UInt8] {
        let step = (cues.count + limit - 1) / max(limit, 1)
        var writer = ElementWriter()
        writer.master(.cues) { list in
            for index in stride(from: 0, to: cues.count, by: max(step, 1)) { cues[index].write(to: &list) }
        }
        return writer.bytes
    }

    /// The content of a Cues element.
    static func points(_ cues: [Cue]) -> [UInt8] {
        var writer = ElementWriter()
        for cue in cues { cue.write(to: &writer) }
        return writer.bytes
    }

    private func write(to list: inout ElementWriter) {
        list.master(.cuePoint) { point in
            point.unsigned(.cueTime, UInt64(clamping: time))
            point.master(.cueTrackPositions) { positions in
                positions.unsigned(.cueTrack, UInt64(track))
                positions.unsigned(.cueClusterPosition, UInt64(clamping: cluster))
                positions.unsigned(.cueRelativePosition, UInt64(clamping: relative))
            }
        }
    }
}
