internal import MediaCore
internal import VideoBitstream

/// Plans copy frames: finds what has moved since the last base frame, and says which blocks that explains.
struct CopyFramePlan {
    private(set) var coded: CodedPicture
    private(set) var frame: VP8CopyFrame
    /// The blocks that nothing explains: with a vector they are closer to the canvas, and not as it is.
    private var remaining: BlockMap
    /// The blocks that get wrong content on purpose.
    private var seeds: [Int] = []
    private var scrolls = ScrollDetector()
    private var drags = DragDetector()
    /// Attempts in a row that found nothing, and until when there is none because of them.
    private var failures: Int64 = 0
    private var nextAttempt = MediaInstant(nanoseconds: 0)

    /// Less libvpx codes as fast as a copy frame takes.
    private static let leastBlocks = 96
    private static let leastSolved = 64
    /// So much of what is missing is explained, or the frame is not worth it.
    private static let leastShare = 8
    private static let mostAreas = 3
    /// What changes all the time without moving is looked at less and less often, and in the end after so many pauses.
    /// The first scroll of a page that was opened comes later than that.
    private static let mostFailures: Int64 = 25
    private static let pause = MediaDuration.milliseconds(20)
    /// Attempts further apart than this are not in a row.
    private static let memory = MediaDuration.seconds(1)
    /// libvpx has 16 bits for a vector in eighths of a pixel.
    private static let longest = 4_000
    /// Of the squared differences of a block's chroma: below it interpolation has left it as it should be, or soft.
    private static let exactChroma = 2 * 128
    private static let softChroma = 64 * 128

    init(_ size: PixelSize) {
        coded = CodedPicture(size)
        frame = VP8CopyFrame(size)
        remaining = BlockMap(size)
    }

    mutating func note(_ canvas: I420Frame, coded map: BlockMap?) { coded.note(canvas, map) }

    /// Sets the vectors of `frame`.
    /// - Parameters:
    ///   - missing: the blocks that the viewers lack.
    ///   - film: the blocks of a video, in which nothing is looked for; nil for none.
    /// - Returns: whether it is worth a frame.
    mutating func plan(_ canvas: I420Frame, missing: BlockMap, film: BlockMap?, at now: MediaInstant) -> Bool {
        remaining.clear()
        remaining.formUnion(missing)
        if let film { remaining.subtract(film) }
        let all = remaining.count
        guard all >= Self.leastBlocks, now >= nextAttempt else { return false }
        frame.clear()
        seeds.removeAll(keepingCapacity: true)
        var count = 0
        for _ in 0..<Self.mostAreas {
            var moved = 0
            if let vector = scrolls.vector(from: coded.picture.frame, to: canvas, in: remaining) {
                moved = move(by: vector, canvas)
            }
            if moved < Self.leastSolved,
                let vector = drags.vector(from: coded.picture.frame, to: canvas, in: remaining)
            {
                moved += move(by: vector, canvas)
            }
            count += moved
            if moved < Self.leastSolved || remaining.count < Self.leastBlocks { break }
        }
        if count >= Self.leastSolved { count -= frame.restrict() }
        guard count >= Self.leastSolved, count * Self.leastShare >= all else {
            failures = now - nextAttempt > Self.memory ? 1 : min(failures + 1, Self.mostFailures)
            nextAttempt = now + Self.pause * failures
            return false
        }
        failures = 0
        return true
    }

    /// Gives the vector to the blocks that it explains, and to those that only lie between them: vectors like the
    /// neighbours' cost next to nothing.
    /// - Returns: how many blocks it explains.
    private mutating func move(by vector: VP8MotionVector, _ canvas: I420Frame) -> Int {
        guard abs(Int(vector.x)) <= Self.longest, abs(Int(vector.y)) <= Self.longest else { return 0 }
        var count = 0
        let columns = frame.columns
        for row in 0..<frame.rows {
            for column in 0..<columns {
                let index = row * columns + column
                guard frame.vectors[index] == .zero else { continue }
                let isMissing = remaining.blocks[index] != 0
                let isBeside =
                    column > 0 && frame.vectors[index - 1] == vector
                    || row > 0 && frame.vectors[index - columns] == vector
                guard isMissing || isBeside else { continue }
                if coded.hasLuma(of: canvas, row: row, column: column, at: vector) {
                    frame.vectors[index] = vector
                    if isMissing { count += 1 }
                    remaining.blocks[index] = 0
                } else if isMissing, isBeside, coded.isCloser(canvas, row: row, column: column, vector) {
                    // What is left to code is less, and it still is `remaining`.
                    frame.vectors[index] = vector
                }
            }
        }
        // The neighbours of blocks in the first row and column come after them.
        for index in frame.vectors.indices.reversed()
        where frame.vectors[index] == .zero && remaining.blocks[index] != 0 {
            let (row, column) = (index / columns, index % columns)
            let isBeside =
                column < columns - 1 && frame.vectors[index + 1] == vector
                || row < frame.rows - 1 && frame.vectors[index + columns] == vector
            if isBeside, coded.isCloser(canvas, row: row, column: column, vector) { frame.vectors[index] = vector }
        }
        seeds += frame.seed(vector)
        return count
    }

    /// The viewers get `frame`.
    /// - Parameters:
    ///   - missing: the blocks that they lacked before, and what they lack now.
    ///   - quality: moves with the content.
    mutating func apply(_ canvas: I420Frame, missing: inout BlockMap, quality: inout BlockQualityMap?) {
        coded.apply(frame)
        quality?.noteMoved(frame.columns) { index in
            let vector = frame.vectors[index]
            return vector == .zero ? nil : (Int(vector.x), Int(vector.y))
        }
        for index in frame.vectors.indices where frame.vectors[index] != .zero {
            missing.blocks[index] = remaining.blocks[index]
            guard remaining.blocks[index] == 0 else { continue }
            let chroma = coded.chromaError(canvas, row: index / frame.columns, column: index % frame.columns)
            if chroma > Self.softChroma {
                missing.blocks[index] = 1
            } else if chroma > Self.exactChroma {
                quality?.noteSoft(index)
            }
        }
        // Their content is wrong, and may come from the padding, which only the viewers know.
        for index in seeds { missing.blocks[index] = 1 }
    }
}
