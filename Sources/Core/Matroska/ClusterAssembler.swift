/// Collects blocks, and puts them into whole clusters, in the order of their time.
///
/// A cluster begins with each key frame of the video, and spans one second at most.
public struct ClusterAssembler {
    private let videoTrack: UInt8?
    private var blocks: [Block] = []
    private var payloads: [UInt8] = []
    /// The earliest time of a block that waits.
    private var earliest = Int64.max

    /// A block that waits; its payload is in `payloads`.
    struct Block {
        var track: UInt8
        var time: Int64
        /// Its place among the others: blocks are written in this order.
        var order: Int64
        var isKeyframe: Bool
        var isDiscardable: Bool
        var payload: Range<Int>
    }

    static let longestCluster: Int64 = 1_000

    /// - Parameter videoTrack: the number of the video track; nil without one.
    public init(videoTrack: UInt8?) { self.videoTrack = videoTrack }

    /// Bytes that wait.
    public var byteCount: Int { payloads.count }
    public var isEmpty: Bool { blocks.isEmpty }
    /// Blocks that wait.
    public var count: Int { blocks.count }

    /// Adds a block.
    /// - Parameters:
    ///   - track: the number of its track, 1...126.
    ///   - time: in milliseconds.
    ///   - order: in milliseconds, `time` or later; never decreases in a track. Frames that are decoded in another
    ///     order than shown have that of the latest one before them. Nil: `time`.
    ///   - isDiscardable: no other frame refers to it.
    public mutating func append(
        track: UInt8, time: Int64, order: Int64? = nil, isKeyframe: Bool, isDiscardable: Bool = false,
        _ payload: UnsafeRawBufferPointer
    ) {
        let start = payloads.count
        payloads.append(contentsOf: payload)
        let order = order ?? time
        earliest = min(earliest, order)
        blocks.append(
            Block(
                track: track, time: time, order: order, isKeyframe: isKeyframe, isDiscardable: isDiscardable,
                payload: start..<payloads.count))
    }

    /// Takes out the blocks up to `limit`, as clusters.
    /// - Parameters:
    ///   - limit: in milliseconds, inclusive; later blocks go on waiting.
    ///   - body: called for each cluster, in order. After an error the rest of the blocks up to `limit` is dropped.
    public mutating func takeClusters<Failure: Error>(
        upTo limit: Int64, _ body: (Cluster) throws(Failure) -> Void
    ) throws(Failure) {
        guard earliest <= limit else { return }
        var due: [Block] = []
        var waiting: [Block] = []
        for block in blocks {
            if block.order <= limit { due.append(block) } else { waiting.append(block) }
        }
        guard !due.isEmpty else { return }
        // Blocks of one time stay in the order in which they came.
        due.sort { ($0.order, $0.payload.lowerBound) < ($1.order, $1.payload.lowerBound) }
        var rest = due[...]
        var failure: Failure?
        while let first = rest.first {
            let end = rest.dropFirst().firstIndex { startsCluster($0, after: first) } ?? rest.endIndex
            do throws(Failure) {
                try body(Cluster(blocks: rest[..<end], payloads: payloads, videoTrack: videoTrack))
            } catch {
                failure = error
                break
            }
            rest = rest[end...]
        }
        keep(waiting)
        if let failure { throw failure }
    }

    private func startsCluster(_ block: Block, after first: Block) -> Bool {
        block.order - first.order >= Self.longestCluster || block.isKeyframe && block.track == videoTrack
    }

    private mutating func keep(_ waiting: [Block]) {
        var kept: [UInt8] = []
        blocks = waiting.map { block in
            var block = block
            let start = kept.count
            kept.append(contentsOf: payloads[block.payload])
            block.payload = start..<kept.count
            return block
        }
        payloads = kept
        earliest = waiting.lazy.map(\.order).min() ?? .max
    }
}

/// The blocks of a cluster, in the order of their time.
public struct Cluster {
    let blocks: ArraySlice<ClusterAssembler.Block>
    let payloads: [UInt8]
    let videoTrack: UInt8?

    /// The time of the first block, in milliseconds.
    public var time: Int64 { blocks.first?.time ?? 0 }
    /// The time of the last block.
    public var endTime: Int64 { blocks.last?.order ?? 0 }
    /// Playback can start with this cluster: it begins with a key frame, or there is no video.
    public var isEntry: Bool {
        guard let first = blocks.first else { return false }
        return videoTrack == nil || first.isKeyframe && first.track == videoTrack
    }
    /// It begins with a key frame of the video.
    public var beginsWithVideo: Bool { videoTrack != nil && isEntry }
    /// The numbers of the tracks that have a block here.
    public var tracks: Set<UInt8> { Set(blocks.map(\.track)) }
    /// The track of the first block.
    public var track: UInt8 { blocks.first?.track ?? 1 }

    /// Writes the cluster.
    /// - Parameters:
    ///   - origin: the time that is zero in the file.
    ///   - earliest: the timestamp of the cluster before it: they never decrease. Blocks that came late keep their own
    ///     times, which are before their cluster's.
    /// - Returns: the cluster's timestamp in the file, and where in its content the first block is.
    @discardableResult
    public func write(
        to writer: inout ElementWriter, origin: Int64 = 0, earliest: Int64 = 0
    ) -> (timestamp: Int64, firstBlock: Int) {
        let timestamp = max(earliest, time - origin, 0)
        var firstBlock = 0
        payloads.withUnsafeBytes { payloads in
            writer.master(.cluster) { cluster in
                let start = cluster.bytes.count
                cluster.unsigned(.timestamp, UInt64(timestamp))
                firstBlock = cluster.bytes.count - start
                for block in blocks {
                    cluster.simpleBlock(
                        track: block.track, time: Int16(clamping: max(block.time - origin, 0) - timestamp),
                        isKeyframe: block.isKeyframe, isDiscardable: block.isDiscardable,
                        UnsafeRawBufferPointer(rebasing: payloads[block.payload]))
                }
            }
        }
        return (timestamp, firstBlock)
    }
}
