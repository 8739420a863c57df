public import MediaCore

/// Who controls the host's screen, and which of its inputs are still meant. A value without a clock.
///
/// Each permission has a number, which its inputs carry. An input that comes late, twice, or after the picture has
/// changed since long is dropped.
public struct ControlState: Sendable {
    public typealias ViewerKey = ViewerMessageState.ViewerKey

    /// Why an input is dropped.
    public enum Drop: Sendable, Equatable {
        /// The viewer has no such permission any more.
        case notGranted
        /// It has come before, or a newer one has.
        case repeated
        /// It was on the way for over half a second.
        case late
        /// The frame that it was aimed at is not shown any more since a second.
        case outdated
        /// A question is open.
        case held
        case tooMany
    }

    public enum Verdict: Sendable, Equatable {
        case pass(ControlInput)
        /// The viewer is still there.
        case nothing
        case dropped(Drop)
    }

    /// What follows from a controller's silence.
    public enum Silence: Sendable, Equatable {
        /// Everything that it holds is to be released.
        case release
        case end(ViewerKey)
    }

    /// How a permission was used.
    public struct Use: Sendable, Equatable {
        public var passed = 0
        public var dropped = 0

        public init() {}
    }

    fileprivate struct Grant: Sendable {
        let viewer: ViewerKey
        let number: Int
        var lastCount = 0
        /// The least time by which the viewer's clock is behind this one, in milliseconds, with the travel.
        var offset: Double?
        var lastArrival: MediaInstant
        /// Whether what it holds was released in its silence.
        var isSilent = false
        var inputs: TokenBucket
        var use = Use()
    }

    /// An input is late after so many milliseconds more than the fastest one took.
    static let lateness = 500.0
    /// Two clocks run apart by this part at most.
    fileprivate static let drift = 0.0005
    /// After so long without any input, what a viewer holds is released.
    public static let releaseTime = MediaDuration.seconds(1)
    /// After so long without any input, a permission ends.
    public static let endTime = MediaDuration.milliseconds(2_500)

    private var grant: Grant?
    private var lastNumber = 0
    /// Whether all input is dropped.
    public var isHeld = false

    public init() {}

    public var controller: ViewerKey? { grant?.viewer }
    public var use: Use { grant?.use ?? Use() }

    public func number(of viewer: ViewerKey) -> Int? {
        grant.flatMap { $0.viewer == viewer ? $0.number : nil }
    }

    /// A viewer controls from now on, in place of the one before.
    public mutating func begin(_ viewer: ViewerKey, now: MediaInstant) {
        lastNumber += 1
        grant = Grant(
            viewer: viewer, number: lastNumber, lastArrival: now,
            inputs: TokenBucket(burst: 250, rate: 250, now: now))
    }

    public mutating func end() { grant = nil }

    /// - Parameter isOutdated: whether the frame that it was aimed at is not shown any more since a second.
    public mutating func take(
        _ input: AimedInput, from viewer: ViewerKey, isOutdated: Bool, now: MediaInstant
    ) -> Verdict {
        guard var grant, grant.viewer == viewer, grant.number == input.grant else { return .dropped(.notGranted) }
        let verdict = grant.judge(input, isOutdated: isOutdated, isHeld: isHeld, now: now)
        switch verdict {
        case .pass: grant.use.passed += 1
        case .nothing: break
        case .dropped: grant.use.dropped += 1
        }
        self.grant = grant
        return verdict
    }

    /// To be called several times a second while somebody controls.
    public mutating func silence(now: MediaInstant) -> Silence? {
        guard let grant else { return nil }
        if now - grant.lastArrival >= Self.endTime { return .end(grant.viewer) }
        guard !grant.isSilent, now - grant.lastArrival >= Self.releaseTime else { return nil }
        self.grant?.isSilent = true
        return .release
    }
}

extension ControlState.Grant {
    mutating func judge(
        _ input: AimedInput, isOutdated: Bool, isHeld: Bool, now: MediaInstant
    ) -> ControlState.Verdict {
        guard input.count > lastCount else { return .dropped(.repeated) }
        lastCount = input.count
        let age = age(of: input, now: now)
        lastArrival = now
        isSilent = false
        guard let meant = input.input else { return .nothing }
        inputs.refill(now)
        let isTooMany = !inputs.has()
        if !isTooMany { inputs.take() }
        if isTooMany && !meant.isRelease { return .dropped(.tooMany) }
        if isHeld { return .dropped(.held) }
        // What is pressed has to be released, however late.
        if meant.isRelease { return .pass(meant) }
        if age > ControlState.lateness { return .dropped(.late) }
        return isOutdated ? .dropped(.outdated) : .pass(meant)
    }

    /// For how much longer an input was on the way than the fastest one, in milliseconds.
    private mutating func age(of input: AimedInput, now: MediaInstant) -> Double {
        let behind = Double(now.nanoseconds) / 1e6 - Double(input.time)
        let drifted = offset.map { $0 + (now - lastArrival).inMilliseconds * ControlState.drift }
        offset = min(behind, drifted ?? behind)
        return behind - (offset ?? behind)
    }
}

extension ControlInput {
    fileprivate var isRelease: Bool {
        switch self {
        case .button(_, let isPressed), .key(_, let isPressed): !isPressed
        case .move, .wheel: false
        }
    }
}
