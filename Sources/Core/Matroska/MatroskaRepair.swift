/// What makes a file complete whose recording was cut off: found without changing the file.
public struct MatroskaRepair: Equatable, Sendable {
    /// To be written first: damage becomes Void elements.
    public var damage: [MatroskaPatch]
    /// The length of the file up to the last whole element; what follows is cut off.
    public var end: Int
    /// To be appended there; empty if the cues have room before the clusters.
    public var cues: [UInt8]
    /// To be written last, when all else is on the disk.
    public var header: [MatroskaPatch]
    /// In milliseconds.
    public var duration: Int64
    /// Bytes that are lost: damage and the end that is cut off.
    public var lostBytes: Int
    /// Whole blocks that could not be kept.
    public var lostBlocks: Int
}

extension MatroskaFile {
    /// The file ended as it should, and its cues are where the header says.
    public var isComplete: Bool {
        guard segmentEnd == source.length, let place = header.cues, let cues = element(at: segmentStart &+ place) else {
            return false
        }
        return cues.id == .cues
    }

    /// - Returns: nil if the header has no place for what is missing (another program wrote the file), or if too much
    ///   of it is damaged.
    public func repair() -> MatroskaRepair? {
        guard let durationOffset = header.durationOffset, let seekHead = header.seekHead,
            seekHead.count == MatroskaHeader.seekHeadBytes, hasLongSize,
            // Elements that are no clusters are covered or cut off in the body, and Info and Tracks with them.
            hasWholeHeader
        else { return nil }
        var found = Findings(videoTrack: header.videoTrack, end: bodyStart)
        forEachPiece { piece in
            found.take(piece, self)
            return found.damage.count <= Findings.damageLimit
        }
        guard found.damage.count <= Findings.damageLimit else { return nil }
        let duration = max(found.lastTime, Int64(header.duration ?? 0))
        let index = header.places.cues.flatMap { place in
            CueIndex.content(found.cues).map {
                MatroskaPatch(offset: segmentStart + place + CueIndex.headerBytes, bytes: $0)
            }
        }
        let appended = index == nil ? Cue.element(found.cues) : []
        return MatroskaRepair(
            damage: found.damage, end: found.end, cues: appended,
            header: (index.map { [$0] } ?? [])
                + [.init(offset: durationOffset, bytes: MatroskaHeader.duration(milliseconds: duration))]
                + MatroskaHeader.completion(
                    segmentStart: segmentStart, header.places, cues: index == nil ? found.end : nil,
                    end: found.end + appended.count),
            duration: duration, lostBytes: found.lostBytes + source.length - found.end,
            lostBlocks: found.lostBlocks)
    }

    /// What a scan finds.
    private struct Findings {
        /// More places of damage are not covered.
        static var damageLimit: Int { 10_000 }
        /// More cues are thinned out.
        private static var cueLimit: Int { 100_000 }

        let videoTrack: UInt8?
        var damage: [MatroskaPatch] = []
        /// Damage that a cluster follows is covered; other damage is cut off.
        var pending: Range<Int>?
        var end: Int
        var cues: [Cue] = []
        var lastTime: Int64 = 0
        var lostBytes = 0
        var lostBlocks = 0

        init(videoTrack: UInt8?, end: Int) {
            self.videoTrack = videoTrack
            self.end = end
        }

        mutating func take(_ piece: Piece, _ file: MatroskaFile) {
            switch piece {
            case .damage(let range): pending = range
            case .other(let element):
                // Cues of before are written anew, behind everything.
                pending = (pending?.lowerBound ?? element.start)..<element.end
            case .cluster(let element):
                if let pending {
                    // No element has one byte: the cluster is lost with it.
                    guard pending.count > 1 else {
                        lostBlocks += file.cluster(element)?.blocks.count ?? 0
                        return self.pending = pending.lowerBound..<element.end
                    }
                    cover(pending)
                    self.pending = nil
                }
                end = element.end
                if let cluster = file.cluster(element) { note(cluster, at: element.start - file.segmentStart) }
            }
        }

        private mutating func cover(_ range: Range<Int>) {
            lostBytes += range.count
            var writer = ElementWriter()
            guard range.count >= 9 else {
                // Too short for a Void element with a size of 8 bytes.
                writer.void(total: range.count)
                damage.append(.init(offset: range.lowerBound, bytes: writer.bytes))
                return
            }
            let header = [0xEC] + ElementWriter.sizeField(UInt64(range.count - 9))
            damage.append(.init(offset: range.lowerBound, bytes: header))
        }

        private mutating func note(_ cluster: RecordedCluster, at position: Int) {
            lastTime = max(lastTime, cluster.blocks.map(\.time).max() ?? 0)
            let entry = cluster.blocks.first { videoTrack == nil || $0.track == videoTrack && $0.isKeyframe }
            guard let entry, videoTrack != nil || entry.time - (cues.last?.time ?? -5_000) >= 5_000 else { return }
            if cues.count >= Self.cueLimit { cues = cues.enumerated().filter { $0.offset % 2 == 0 }.map(\.element) }
            cues.append(Cue(time: max(entry.time, 0), track: entry.track, cluster: position, relative: entry.position))
        }
    }
}
