public import MediaCore

/// Decrypts the frames that a `FrameSealer` has made. Nothing that is not authenticated is returned.
///
/// A value without a clock; its owner calls it from one thread. A forged frame costs one attempt: each of the 255 steps
/// that lie ahead is derived once, whatever forged frames name.
public struct FrameOpener<Cipher: SFrameCipher>: Sendable {
    /// Why a frame cannot be opened.
    public enum Failure: Error, Equatable, Sendable {
        /// It has no header of SFrame, not the length of a sealed frame, or a track of another kind: as one in clear.
        case malformed
        /// Of a later epoch, whose keys are not known.
        case unknownKey
        /// Its key is older than those that are known. No key frame is missing.
        case tooOld
        /// Its tag is wrong.
        case forged
        /// It was opened before, or is older than the window of such counters.
        case replayed
    }

    /// The keys of one track and epoch.
    private struct Chain: Sendable {
        struct Step: Sendable {
            var ratchet: SFrameRatchet<Cipher>
            var key: SFrameKey<Cipher>
            var window = ReplayWindow()
        }

        let epoch: UInt32
        /// The newest is last.
        var steps: [Step] = []
        /// The base keys after the newest step, as far as they were derived.
        var ahead: [SFrameRatchet<Cipher>] = []

        mutating func add(_ step: Step, keeping count: Int) {
            steps.append(step)
            if steps.count > count { steps.removeFirst() }
            ahead.removeAll { $0.step <= step.ratchet.step }
        }

        /// The base key so many steps after the newest one.
        mutating func ratchet(ahead distance: Int) -> SFrameRatchet<Cipher>? {
            guard var last = ahead.last ?? steps.last?.ratchet else { return nil }
            while ahead.count < distance {
                last.advance()
                ahead.append(last)
            }
            return ahead[distance - 1]
        }

        mutating func forgetCounters() {
            for index in steps.indices { steps[index].window = ReplayWindow() }
        }

        mutating func note(_ counter: UInt64, of step: UInt32) {
            guard let index = steps.firstIndex(where: { $0.ratchet.step == step }) else { return }
            steps[index].window.note(counter)
        }
    }

    /// Of the host whose keys these are.
    public private(set) var run: [UInt8]
    /// The frame of video that was opened last.
    public private(set) var newestFrame: SealedFrameID?
    /// How often a newer key was needed.
    public private(set) var stepCount = 0
    private var chains: [UInt64: Chain] = [:]
    /// The newest epoch of which a frame was opened.
    public private(set) var openedEpoch: UInt32 = 0
    /// The newest epoch whose secret was handed over before it began.
    public private(set) var announcedEpoch: UInt32 = 0
    private var oldestEpoch: UInt32 = 0

    /// So many keys of a track are kept.
    private static var keptSteps: Int { 4 }
    /// A step further ahead is taken for one that lies back.
    private static var largestStep: UInt32 { FrameKeyID.steps / 2 }

    public init(_ keys: FrameKeys) {
        run = keys.run
        add(keys)
    }

    /// Takes in keys that are newer than those that it has. Keys of another run of the host replace them all.
    public mutating func add(_ keys: FrameKeys) {
        if keys.run != run {
            (run, openedEpoch, announcedEpoch, oldestEpoch) = (keys.run, 0, 0, 0)
            chains = [:]
        }
        for key in keys.keys.sorted(by: { ($0.epoch, $0.step) < ($1.epoch, $1.step) }) { add(key) }
    }

    /// Takes in the keys of an epoch that begins in a moment.
    /// - Parameter broadcast: its identifier as text.
    public mutating func add(_ secret: EpochSecret, of broadcast: String) {
        guard secret.run == run else { return }
        announcedEpoch = max(announcedEpoch, secret.epoch)
        for key in secret.keys(of: broadcast, Cipher.self) { add(key) }
    }

    private mutating func add(_ key: FrameKeys.Key) {
        guard key.epoch >= oldestEpoch else { return }
        let index = Self.chain(epoch: key.epoch, key.track)
        // Epochs only rise, so a later one takes the place of that with the same bits.
        let known = chains[index].flatMap { $0.epoch < key.epoch ? nil : $0 }
        let newest = known?.steps.last?.ratchet.step
        guard (known?.epoch ?? 0) <= key.epoch, newest.map({ $0 < key.step }) ?? true else { return }
        var chain = known ?? Chain(epoch: key.epoch)
        let ratchet = SFrameRatchet<Cipher>(step: key.step, baseKey: key.baseKey)
        let id = FrameKeyID(epoch: key.epoch, track: key.track, step: key.step)
        chain.add(Self.step(ratchet, id), keeping: Self.keptSteps)
        chains[index] = chain
    }

    /// Forgets all keys of epochs before this one, and takes none of them in again: who was removed may have them.
    public mutating func forgetEpochs(before epoch: UInt32) {
        oldestEpoch = max(oldestEpoch, epoch)
        chains = chains.filter { $0.value.epoch >= oldestEpoch }
    }

    /// The same keys, for another session, in which frames of the newest keys may come once more.
    public var withoutReplayWindows: Self {
        var copy = self
        for index in chains.keys { copy.chains[index]?.forgetCounters() }
        return copy
    }

    /// Decrypts a frame.
    /// - Parameters:
    ///   - kind: of the stream that has brought the frame; one of another kind is refused.
    ///   - isPeek: the frame will come again, so its counter is not noted.
    /// - Returns: the frame as it was before it was sealed.
    public mutating func open(
        _ frame: UnsafeRawBufferPointer, _ kind: SealedTrack.Kind, isPeek: Bool = false
    ) -> Result<[UInt8], Failure> {
        guard let prefix = ClearPrefix.length(of: frame, kind),
            let (header, length) = SFrameHeader.parse(UnsafeRawBufferPointer(rebasing: frame[prefix...])),
            frame.count >= prefix + length + SFrameSuite.tagLength, let id = FrameKeyID(header.keyID)
        else { return .failure(.malformed) }
        let index = Self.chain(epoch: id.epoch, id.track)
        guard id.track.kind == kind else { return .failure(.malformed) }
        guard chains[index] != nil else { return .failure(isOver(id.epoch) ? .tooOld : .unknownKey) }
        guard let (step, isNew) = step(id, of: index) else { return .failure(.tooOld) }
        guard step.window.allows(header.counter) else { return .failure(.replayed) }
        let clear = frame[..<prefix]
        var opened = Array(clear)
        let data = Array(frame[prefix..<(prefix + length)]) + clear
        let isValid = step.key.cipher.open(
            UnsafeRawBufferPointer(rebasing: frame[(prefix + length)...]), nonce: step.key.nonce(header.counter),
            authenticating: data, to: &opened)
        guard isValid else { return .failure(.forged) }
        openedEpoch = max(openedEpoch, chains[index]?.epoch ?? 0)
        if isNew {
            chains[index]?.add(step, keeping: Self.keptSteps)
            stepCount += 1
        }
        if kind == .video { newestFrame = SealedFrameID(keyID: UInt16(id.value), counter: header.counter) }
        if !isPeek { chains[index]?.note(header.counter, of: step.ratchet.step) }
        return .success(opened)
    }

    /// Whether the epoch of these four bits lies before the one of which a frame was opened.
    private func isOver(_ bits: UInt32) -> Bool {
        let behind = (openedEpoch % 16 + 16 - bits) % 16
        return 1..<8 ~= behind && behind <= openedEpoch
    }

    /// The step that an identifier names, derived if it lies ahead of those that are known; nil: it lies before them.
    private mutating func step(_ id: FrameKeyID, of index: UInt64) -> (Chain.Step, isNew: Bool)? {
        guard let newest = chains[index]?.steps.last else { return nil }
        let ahead = (id.step &- newest.ratchet.step) % FrameKeyID.steps
        guard ahead != 0 else { return (newest, false) }
        guard ahead < Self.largestStep else {
            let back = FrameKeyID.steps - ahead
            let known = chains[index]?.steps.first { newest.ratchet.step &- $0.ratchet.step == back }
            return known.map { ($0, false) }
        }
        return chains[index]?.ratchet(ahead: Int(ahead)).map { (Self.step($0, id), true) }
    }

    private static func step(_ ratchet: SFrameRatchet<Cipher>, _ id: FrameKeyID) -> Chain.Step {
        .init(ratchet: ratchet, key: SFrameKey(baseKey: ratchet.baseKey, keyID: id.value))
    }

    private static func chain(epoch: UInt32, _ track: SealedTrack) -> UInt64 {
        UInt64(epoch % 16) << 3 | UInt64(track.rawValue)
    }
}
