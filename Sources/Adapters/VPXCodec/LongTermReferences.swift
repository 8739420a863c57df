internal import MediaCore

/// The encoder's model of its decoders' long-term references: VP8's golden and altref buffers (RFC 6386 section 9.7).
/// For each buffer it holds the frame number, the blocks that have changed since, and the quantizer of each block.
struct LongTermReferences {
    private struct Reference {
        /// nil: no frame can be predicted from this buffer.
        var number: UInt32?
        var changed: BlockMap
        var quantizers: [UInt8] = []
    }

    /// How the next frame uses the reference buffers.
    struct Plan {
        var source: ReferenceSlot?
        var stored: ReferenceSlot?
        var refreshesEntropy = true
        fileprivate var sourceNumber: UInt32?
    }

    private var golden: Reference
    private var alternate: Reference
    /// The number of the next frame. It continues when the frame size changes.
    private(set) var nextNumber: UInt32

    init(_ size: PixelSize = PixelSize(width: 0, height: 0), next: UInt32 = 1) {
        golden = Reference(changed: BlockMap(size))
        alternate = Reference(changed: BlockMap(size))
        nextNumber = next
    }

    private subscript(slot: ReferenceSlot) -> Reference {
        get { slot == .golden ? golden : alternate }
        _modify { if slot == .golden { yield &golden } else { yield &alternate } }
    }

    func slot(holding number: UInt32) -> ReferenceSlot? {
        golden.number == number ? .golden : alternate.number == number ? .alternate : nil
    }

    /// Chooses the reference buffers of the next frame. A frame that is predicted from one buffer is stored in the
    /// other, as all decoders will hold it.
    func plan(_ request: VideoEncodeRequest) -> Plan {
        guard request.allowsRecoveryFrames else { return Plan() }
        if let number = request.recoveryReference, let slot = slot(holding: number) {
            return Plan(source: slot, stored: slot.other, refreshesEntropy: false, sourceNumber: number)
        }
        return Plan(stored: request.storesLongTermReference ? older : nil, refreshesEntropy: false)
    }

    /// The empty buffer, or the one with the older frame.
    private var older: ReferenceSlot {
        guard let first = golden.number else { return .golden }
        guard let second = alternate.number else { return .alternate }
        return Int32(bitPattern: first &- second) <= 0 ? .golden : .alternate
    }

    mutating func noteChange(_ changed: BlockMap) {
        golden.changed.formUnion(changed)
        alternate.changed.formUnion(changed)
    }

    /// The blocks that have changed since the one of them after which more has changed, and how many they are.
    var mostChanges: (map: BlockMap, count: Int) {
        let (first, second) = (golden.changed.count, alternate.changed.count)
        return first > second ? (golden.changed, first) : (alternate.changed, second)
    }

    func addChanges(since slot: ReferenceSlot, to map: inout BlockMap) { map.formUnion(self[slot].changed) }
    func quantizers(of slot: ReferenceSlot) -> [UInt8] { self[slot].quantizers }

    /// Records a key frame, which is stored in both buffers.
    mutating func noteKeyframe(_ blockQuality: BlockQualityMap?) -> FrameReferences {
        store(in: .golden, blockQuality)
        store(in: .alternate, blockQuality)
        defer { nextNumber &+= 1 }
        return FrameReferences(number: nextNumber)
    }

    /// Records an inter frame that was encoded according to `plan`.
    mutating func note(_ plan: Plan, _ blockQuality: BlockQualityMap?) -> FrameReferences {
        if plan.refreshesEntropy {
            // A decoder that lacks this frame has other probabilities from now on, so no recovery frame can be
            // predicted from the stored ones.
            golden.number = nil
            alternate.number = nil
        }
        if let slot = plan.stored { store(in: slot, blockQuality) }
        defer { nextNumber &+= 1 }
        let source = plan.source.flatMap { slot in
            plan.sourceNumber.map { FrameReferences.Recovery(slot: slot, number: $0) }
        }
        return FrameReferences(number: nextNumber, stored: plan.stored, source: source)
    }

    /// Records a frame that no other refers to and that changes no decoder state.
    mutating func noteDisposable() -> FrameReferences {
        defer { nextNumber &+= 1 }
        return FrameReferences(number: nextNumber)
    }

    /// Records a copy frame.
    /// - Parameters:
    ///   - slot: the buffer that it is stored in, too.
    ///   - missing: the blocks that the frame lacks.
    mutating func noteCopy(in slot: ReferenceSlot?, missing: BlockMap, _ blockQuality: BlockQualityMap?)
        -> FrameReferences
    {
        // A buffer without a number holds no reference, and may have anything.
        let stored = slot.flatMap { self[$0].number == nil ? nil : $0 }
        if let stored {
            store(in: stored, blockQuality)
            self[stored].changed.formUnion(missing)
        }
        defer { nextNumber &+= 1 }
        return FrameReferences(number: nextNumber, stored: stored)
    }

    private mutating func store(in slot: ReferenceSlot, _ blockQuality: BlockQualityMap?) {
        self[slot].number = nextNumber
        self[slot].changed.clear()
        // The array is overwritten in place, so that it is allocated only once.
        guard let quantizers = blockQuality?.quantizers else { return }
        if self[slot].quantizers.count != quantizers.count { self[slot].quantizers = quantizers }
        for i in quantizers.indices { self[slot].quantizers[i] = quantizers[i] }
    }
}
