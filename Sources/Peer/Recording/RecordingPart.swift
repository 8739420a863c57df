import Matroska
import MediaCore
import WebMContainer

/// One file of a recording.
///
/// - Isolation: disk thread.
struct RecordingPart {
    let file: RecordingFile
    /// The recording's time that is zero in the file, in milliseconds.
    let origin: Int64
    /// All cues, while they are not too many.
    private var cues: [Cue] = []
    private var index = CueIndex()
    private var lastTimestamp: Int64 = 0
    private var lastCue: Int64?
    private var end: Int64 = 0
    private let trackCount: Int
    /// The numbers of the tracks that have blocks.
    private var usedTracks: Set<UInt8> = []
    private var writer = ElementWriter()

    /// Without video, a cue each so many milliseconds.
    private static let audioCueInterval: Int64 = 5_000
    /// More cues are thinned out.
    private static let cueLimit = 20_000

    /// Creates the file and writes its header.
    init(
        _ file: RecordingFile, tracks: [MatroskaTrack], title: String?, origin: Int64
    ) throws(RecordingFileFailure) {
        self.file = file
        self.origin = origin
        trackCount = tracks.count
        // Players choose by the name.
        if !tracks.allSatisfy(\.isWebM) { file.changeExtension(from: ".webm", to: ".mkv") }
        try file.start(
            MatroskaHeader(tracks: tracks, title: title, created: RecordingFile.timeOfDay, application: "share"))
    }

    var path: String { file.path }
    var byteCount: Int { file.length }
    /// In milliseconds.
    var duration: Int64 { end }

    mutating func append(_ cluster: Cluster) throws(RecordingFileFailure) {
        writer.removeAll()
        let position = file.position
        let written = cluster.write(to: &writer, origin: origin, earliest: lastTimestamp)
        try file.append(writer.bytes)
        lastTimestamp = written.timestamp
        usedTracks.formUnion(cluster.tracks)
        end = max(end, cluster.endTime - origin)
        let time = max(cluster.time - origin, 0)
        guard cluster.isEntry, cluster.beginsWithVideo || lastCue.map({ time - $0 >= Self.audioCueInterval }) ?? true
        else { return }
        lastCue = time
        if cues.count >= Self.cueLimit { cues = cues.enumerated().filter { $0.offset % 2 == 0 }.map(\.element) }
        let cue = Cue(time: time, track: cluster.track, cluster: position, relative: written.firstBlock)
        cues.append(cue)
        try file.setCues(index.add(cue))
    }

    /// Notes that the recording goes on, and has what was written put on the disk, without waiting for that.
    /// - Parameter now: in the recording's time.
    mutating func sync(now: Int64) throws(RecordingFileFailure) {
        end = max(end, now - origin)
        try file.setDuration(milliseconds: end)
        try file.requestSync()
    }

    /// Removes the last tracks if they have no block, such as that of a microphone that was never switched on. Tracks
    /// before them stay, as readers count them.
    private func removeEmptyTracks() throws(RecordingFileFailure) {
        guard let last = usedTracks.max(), Int(last) < trackCount else { return }
        for number in Int(last) + 1...trackCount { try file.remove(track: number) }
    }

    /// Completes and closes the file.
    /// - Throws: the file is closed also then, and can be played.
    mutating func finish() throws(RecordingFileFailure) {
        defer { file.close() }
        var failure: RecordingFileFailure?
        do throws(RecordingFileFailure) { try file.setDuration(milliseconds: end) } catch { failure = error }
        try removeEmptyTracks()
        try file.finish(index.isThinned ? cues : nil)
        if let failure { throw failure }
    }
}
