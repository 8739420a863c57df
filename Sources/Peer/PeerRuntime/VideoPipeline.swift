public import MediaCore

/// What the network side wants of the video thread.
struct VideoWishes: Sendable {
    var hasViewers = false
    var isKeyframeWanted = false
    /// A new viewer has no picture yet: its key frame comes sooner than one that repairs.
    var isPictureAwaited = false
    var bitrate: Bitrate
    /// Frames wait in some viewer's pacer: make no new one yet.
    var isCongested = false
    var isStopped = false
    /// Counts the changes, so that none is slept through.
    fileprivate var generation = 0

    init(bitrate: Bitrate) { self.bitrate = bitrate }
}

struct FrameInfo: Sendable {
    var isKeyframe: Bool
    var layer: UInt8
    var captured: MediaInstant
}

/// Counted by the video thread, read by anyone.
public struct VideoPipelineStatistics: Sendable {
    public var frames = 0
    public var refinements = 0
    public var keyframes = 0
    public var bytes = 0
    public var encodeNanoseconds: Int64 = 0
    public var readNanoseconds: Int64 = 0
    public var skipped = 0
    public var size = PixelSize(width: 0, height: 0)
}

/// The video thread of a host: waits for damage, reads, encodes, hands over. Damage starts a frame, never a timer; while the
/// encoder works, damage gathers and makes the next frame; a frame never waits behind another.
// SAFETY: source, encoder and canvas are used by the video thread alone (handed over in `start`); everything that others
// touch is in a Monitor. `source.wake` may be called from any thread.
final class VideoPipeline: @unchecked Sendable {
    struct Limits: Sendable {
        var framesPerSecond: Int
        /// nil: chosen by what the screen does.
        var mood: VideoMood?
    }

    private let source: any ScreenSource
    private let encoder: any VideoEncoder
    private let limits: Limits
    private let clock: @Sendable () -> MediaInstant
    private let frames: FrameQueue<FrameInfo>
    private let ring: @Sendable () -> Void
    private let failed: @Sendable (SourceFailure) -> Void
    private let wishes: Monitor<VideoWishes>
    private let counters = Monitor(VideoPipelineStatistics())
    private let thread = Monitor<NamedThread?>(nil)

    // The rest belongs to the video thread.
    private var canvas: I420Canvas
    private var changed: BlockMap
    /// `changed` is not empty.
    private var hasChanges = true
    private var needsRead = true
    private var captured = MediaInstant(nanoseconds: 0)
    private var lastFrame = MediaInstant(nanoseconds: 0)
    private var lastChange = MediaInstant(nanoseconds: 0)
    private var lastKeyframe: MediaInstant?
    private var activity = ActivityMeter()

    init(
        source: any ScreenSource, encoder: any VideoEncoder, limits: Limits, bitrate: Bitrate,
        frames: FrameQueue<FrameInfo>, clock: @escaping @Sendable () -> MediaInstant,
        ring: @escaping @Sendable () -> Void,
        failed: @escaping @Sendable (SourceFailure) -> Void
    ) {
        self.source = source
        self.encoder = encoder
        self.limits = limits
        self.frames = frames
        self.clock = clock
        self.ring = ring
        self.failed = failed
        wishes = Monitor(VideoWishes(bitrate: bitrate))
        canvas = I420Canvas(source.size)
        changed = BlockMap(source.size, filled: true)
    }

    func start() { thread.with { $0 = NamedThread("video") { self.run() } } }

    func stop() {
        change { $0.isStopped = true }
        thread.with { thread in
            defer { thread = nil }
            return thread
        }?.join()
    }

    /// Says what is wanted and wakes the thread if that is news to it. From any thread.
    func change(_ body: (inout VideoWishes) -> Void) {
        wishes.change {
            body(&$0)
            $0.generation &+= 1
        }
        source.wake()
    }

    var statistics: VideoPipelineStatistics { counters.with { $0 } }

    private func run() {
        do throws(SourceFailure) {
            var isSuspended = false
            while true {
                let wish = wishes.with { $0 }
                if wish.isStopped { break }
                if !wish.hasViewers {
                    if !isSuspended { source.suspend() }
                    isSuspended = true
                    wishes.wait { $0.isStopped || $0.hasViewers ? () : nil }
                    continue
                }
                if isSuspended {
                    source.resume()
                    isSuspended = false
                    needsRead = true
                }
                try step(wish)
            }
        } catch {
            failed(error)
        }
        source.close()
    }

    private func step(_ wish: VideoWishes) throws(SourceFailure) {
        var now = clock()
        guard let due = nextWork(wish, now) else { return try sleep(until: .distantFuture, wish) }
        if due > now { return try sleep(until: due, wish) }

        if source.size != canvas.size { adoptSize() }
        if needsRead {
            captured = try source.read(into: canvas, changed: &changed)
            needsRead = false
            if source.size != canvas.size { return adoptSize() }
            if !changed.isEmpty {
                hasChanges = true
                lastChange = captured
            }
            let after = clock()
            let spent = after - now
            counters.with { $0.readNanoseconds += spent.nanoseconds }
            now = after
        }
        let isKeyframe = keyframeIsDue(wish, now)
        if hasChanges || isKeyframe {
            encode(wish, isKeyframe: isKeyframe, isRefinement: false, now)
        } else if refinementIsDue(now) {
            captured = now
            encode(wish, isKeyframe: false, isRefinement: true, now)
        }
    }

    /// When there is something to do; nil if nothing but news from outside can bring any.
    private func nextWork(_ wish: VideoWishes, _ now: MediaInstant) -> MediaInstant? {
        if wish.isCongested { return nil }
        let interval = MediaDuration.microseconds(1_000_000 / max(limits.framesPerSecond, 1))
        if needsRead || hasChanges { return lastFrame + interval }
        if wish.isKeyframeWanted {
            return max(lastFrame + interval, lastKeyframe.map { $0 + keyframeInterval(wish) } ?? lastFrame)
        }
        if encoder.unrefined != nil { return max(lastFrame + interval, lastChange + restBeforeRefinement) }
        return nil
    }

    private func refinementIsDue(_ now: MediaInstant) -> Bool {
        encoder.unrefined != nil && now >= lastChange + restBeforeRefinement
    }

    private var restBeforeRefinement: MediaDuration { .milliseconds(120) }

    private func keyframeIsDue(_ wish: VideoWishes, _ now: MediaInstant) -> Bool {
        guard let lastKeyframe else { return true }
        return wish.isKeyframeWanted && now - lastKeyframe >= keyframeInterval(wish)
    }

    private func keyframeInterval(_ wish: VideoWishes) -> MediaDuration {
        wish.isPictureAwaited ? .milliseconds(250) : .seconds(1)
    }

    private func sleep(until deadline: MediaInstant, _ wish: VideoWishes) throws(SourceFailure) {
        if needsRead {
            // Damage is known and may not be read yet: more of it is no news.
            _ = wishes.wait(until: deadline) { $0.generation != wish.generation ? () : nil }
            return
        }
        switch try source.wait(until: deadline == .distantFuture ? nil : deadline) {
        case .damaged: needsRead = true
        case .resized: adoptSize()
        case .woken: break
        }
    }

    private func adoptSize() {
        canvas = I420Canvas(source.size)
        changed = BlockMap(source.size, filled: true)
        source.damageEverything()
        needsRead = true
        hasChanges = true
    }

    private func encode(_ wish: VideoWishes, isKeyframe: Bool, isRefinement: Bool, _ now: MediaInstant) {
        if !isRefinement { activity.note(blocks: changed.count, of: changed.blocks.count, at: now) }
        encoder.mood = limits.mood ?? activity.mood
        // A new scene may take a quarter of a second of the line; what is missing is refined afterwards.
        let budget = max(wish.bitrate.bitsPerSecond / 8 / 4, 6_000)
        let request = VideoEncodeRequest(
            bitrate: wish.bitrate, isKeyframeRequested: isKeyframe, isRefinement: isRefinement, byteBudget: budget)
        lastFrame = now
        let frame: EncodedFrame?
        do throws(CodecFailure) {
            frame = try encoder.encode(canvas, changed: changed, at: now, request)
        } catch {
            counters.with { $0.skipped += 1 }
            failed(SourceFailure(.unsupported, "the encoder gave up: \(error.message)"))
            wishes.with { $0.isStopped = true }
            return
        }
        let spent = clock() - now
        guard let frame else {
            counters.with { $0.skipped += 1 }
            return
        }
        hasChanges = false
        changed.clear()
        if frame.isKeyframe {
            lastKeyframe = now
            wishes.with {
                $0.isKeyframeWanted = false
                $0.isPictureAwaited = false
            }
        }
        let size = canvas.size
        counters.with {
            $0.frames += 1
            $0.refinements += isRefinement ? 1 : 0
            $0.keyframes += frame.isKeyframe ? 1 : 0
            $0.bytes += frame.bytes.count
            $0.encodeNanoseconds += spent.nanoseconds
            $0.size = size
        }
        let info = FrameInfo(isKeyframe: frame.isKeyframe, layer: frame.layer, captured: captured)
        if frames.push(frame.bytes, info) {
            ring()
        } else {
            // The next frame would refer to one that nobody got.
            counters.with { $0.skipped += 1 }
            wishes.with { $0.isKeyframeWanted = true }
        }
    }
}

/// Tells text from motion: motion is a large part of the picture that changes many times a second, for seconds.
struct ActivityMeter {
    private var level = 0.0
    private var last: MediaInstant?
    private(set) var mood = VideoMood.text

    /// - Parameters: how many blocks of how many changed with this frame.
    mutating func note(blocks: Int, of total: Int, at now: MediaInstant) {
        let share = Double(blocks) / Double(max(total, 1))
        let elapsed = last.map { min((now - $0).inSeconds, 2) } ?? 2
        last = now
        // Blocks a second, in pictures a second, with a memory of about two seconds.
        let keep = max(0, 1 - elapsed / 2)
        level = level * keep + share / 2
        if level > 4 { mood = .motion } else if level < 2 { mood = .text }
    }
}
