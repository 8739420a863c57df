import CommandSupport
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import ShareKit
import Viewer

/// Viewers that count. They share a loop, and come from several addresses, as a relay limits each address.
final class BenchAudience: Sendable {
    struct Counters {
        var packets = 0
        var lost = 0
        var watching = 0
    }

    private struct State {
        var viewers: [PeerViewer] = []
        var sinks: [FrameGapSink] = []
        var milliseconds: [Int] = []
        var ended: [String] = []
    }

    private let link: Link
    private let loop = ViewerSession.SharedLoop()
    private let state = Monitor(State())
    /// A relay takes 20 knocks of one address at once, and 2 at a time.
    private static let viewersOfAddress = 16
    private static let leastAddresses = 8
    /// Viewers that join at a time. With more, join times would be those of a relay that is overloaded by them.
    private static let simultaneous = 8
    /// How long to wait until one of those has joined.
    private static let joinLimit = MediaDuration.seconds(60)

    init(_ link: Link) { self.link = link }

    /// Returns when all have their first frame.
    func join(_ count: Int) throws {
        let addresses = max((count + Self.viewersOfAddress - 1) / Self.viewersOfAddress, Self.leastAddresses)
        for number in 0..<count {
            try wait(until: number - Self.simultaneous + 1, of: count)
            // The next viewer comes from the next address: 127.0.1.1 to 127.0.1.250, 127.0.2.1 and so on.
            let place = number % addresses
            try add(number, at: "127.0.\(place / 250 + 1).\(place % 250 + 1)")
        }
        try wait(until: count, of: count)
    }

    /// Returns when each of so many more has its first frame or has failed, after 30 s at most.
    /// - Returns: the times of those with a frame in milliseconds, sorted.
    func joinMore(_ count: Int) throws -> [Int] {
        let (first, before, ended) = state.with { ($0.viewers.count, $0.milliseconds.count, $0.ended.count) }
        for number in first..<first + count {
            // None of the addresses of those who watch.
            try add(number, at: "127.0.250.\(number - first + 1)")
        }
        _ = state.wait(until: MonotonicClock.now + .seconds(30)) { state in
            state.milliseconds.count - before + state.ended.count - ended >= count ? () : nil
        }
        return state.with { $0.milliseconds[before...].sorted() }
    }

    private func add(_ number: Int, at address: String) throws {
        let identity = try Identity.ephemeral()
        let began = MonotonicClock.now
        let sink = FrameGapSink { [state] in
            let time = (MonotonicClock.now - began).inMilliseconds
            state.change { $0.milliseconds.append(Int(time)) }
        }
        let viewer = PeerViewer(
            link, identity: identity, name: "viewer \(number)", resources: loop.resources(at: address)
        ) { _ in sink }
        state.with { state in
            state.viewers.append(viewer)
            state.sinks.append(sink)
        }
        Task { [state] in
            let reason = await viewer.watch()
            state.change { $0.ended.append("viewer \(number + 1): \(reason.sentence)") }
        }
    }

    /// Waits until so many have joined.
    private func wait(until joined: Int, of count: Int) throws {
        let failure = state.wait(until: MonotonicClock.now + Self.joinLimit) { state -> String? in
            if let first = state.ended.first { return first }
            return state.milliseconds.count >= joined ? "" : nil
        }
        if let failure, failure.isEmpty { return }
        let watching = state.with { $0.milliseconds.count }
        throw CommandError(
            sentence: "\(watching) of \(count) viewers could watch; "
                + (failure ?? "none of the next \(Self.simultaneous) had a frame within 60 s"),
            status: .lost)
    }

    /// Sorted.
    var joinTimes: [Int] { state.with { $0.milliseconds.sorted() } }

    /// Why the first viewer that has ended did so.
    var firstEnd: String? { state.with { $0.ended.first } }

    func counters() -> Counters {
        let viewers = state.with { $0.viewers }
        return blocking {
            var counters = Counters()
            for viewer in viewers {
                guard let statistics = await viewer.statistics() else { continue }
                counters.packets += statistics.packetsReceived
                counters.lost += statistics.packetsLost
                counters.watching += 1
            }
            return counters
        }
    }

    func forgetGaps() { for sink in state.with({ $0.sinks }) { sink.forgetGaps() } }

    /// The longest time without a frame of each viewer since ``forgetGaps()``, in milliseconds, sorted.
    /// - Parameter first: of so many that came first; nil: of all.
    func longestGaps(first count: Int? = nil) -> [Int] {
        let now = MonotonicClock.now
        return state.with { $0.sinks }.prefix(count ?? .max).map { Int($0.longestGap(now: now).inMilliseconds) }
            .sorted()
    }

    /// How many watch no more.
    var endCount: Int { state.with { $0.ended.count } }

    /// Those who came last leave at once.
    func leave(last count: Int) { for viewer in state.with({ $0.viewers }).suffix(count) { viewer.leave() } }

    func leave() { for viewer in state.with({ $0.viewers }) { viewer.leave() } }
}

/// Reports the first frame, and keeps the longest time without one.
private final class FrameGapSink: EncodedMediaSink {
    private struct State {
        var first: (@Sendable () -> Void)?
        var last: MediaInstant?
        var longest = MediaDuration.zero
    }

    private let state: Monitor<State>

    init(_ first: @escaping @Sendable () -> Void) { state = Monitor(State(first: first)) }

    func start(_ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void) {}

    func receive(_ frame: EncodedVideoFrame) {
        let now = MonotonicClock.now
        state.with { state in
            if let last = state.last { state.longest = max(state.longest, now - last) }
            state.last = now
            defer { state.first = nil }
            return state.first
        }?()
    }

    func receive(_ packet: EncodedAudioPacket) {}
    func close(_ done: @escaping @Sendable () -> Void) { done() }

    func forgetGaps() { state.with { ($0.last, $0.longest) = (MonotonicClock.now, .zero) } }

    /// The longest time without a frame, that since the last one included.
    func longestGap(now: MediaInstant) -> MediaDuration {
        state.with { state in state.last.map { max(state.longest, now - $0) } ?? .zero }
    }
}
