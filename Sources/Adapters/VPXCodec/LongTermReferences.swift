internal import MediaCore

/// What an encoder knows of the two frames that its decoders keep beside the last one: which they are, what has changed since, and how
/// sharp each block was.
struct LongTermReferences {
    private struct Kept {
        /// nil: nothing that a frame could be made from.
        var number: UInt32?
        var changed: BlockMap
        var quantizers: [UInt8] = []
    }

    /// What the next frame is to do.
    struct Plan {
        var source: ReferenceSlot?
        var stored: ReferenceSlot?
        var teachesProbabilities = true
        fileprivate var sourceNumber: UInt32?
    }

    private var golden: Kept
    private var alternate: Kept
    /// Of the next frame; goes on over changes of size.
    private(set) var nextNumber: UInt32

    init(_ size: PixelSize = PixelSize(width: 0, height: 0), next: UInt32 = 1) {
        golden = Kept(changed: BlockMap(size))
        alternate = Kept(changed: BlockMap(size))
        nextNumber = next
    }

    private subscript(slot: ReferenceSlot) -> Kept {
        get { slot == .golden ? golden : alternate }
        _modify { if slot == .golden { yield &golden } else { yield &alternate } }
    }

    func slot(holding number: UInt32) -> ReferenceSlot? {
        golden.number == number ? .golden : alternate.number == number ? .alternate : nil
    }

    /// A frame that is made from a kept one is kept in the other place: it is what everybody will have next.
    func plan(_ request: VideoEncodeRequest) -> Plan {
        guard request.isRecoverable else { return Plan() }
        if let number = request.recoversFrom, let slot = slot(holding: number) {
            return Plan(source: slot, stored: slot.other, teachesProbabilities: false, sourceNumber: number)
        }
        return Plan(stored: request.isStored ? older : nil, teachesProbabilities: false)
    }

    /// Where the frame lies that is needed least.
    private var older: ReferenceSlot {
        guard let first = golden.number else { return .golden }
        guard let second = alternate.number else { return .alternate }
        return Int32(bitPattern: first &- second) <= 0 ? .golden : .alternate
    }

    mutating func noteChange(_ changed: BlockMap) {
        golden.changed.formUnion(changed)
        alternate.changed.formUnion(changed)
    }

    func addChanges(since slot: ReferenceSlot, to map: inout BlockMap) { map.formUnion(self[slot].changed) }
    func quantizers(of slot: ReferenceSlot) -> [UInt8] { self[slot].quantizers }

    /// A key frame was made, and is kept in both places.
    mutating func noteKeyframe(_ sharpness: BlockQualityMap?) -> FrameReferences {
        keep(in: .golden, sharpness)
        keep(in: .alternate, sharpness)
        defer { nextNumber &+= 1 }
        return FrameReferences(number: nextNumber)
    }

    /// A frame was made as planned.
    mutating func note(_ plan: Plan, _ sharpness: BlockQualityMap?) -> FrameReferences {
        if plan.teachesProbabilities {
            // Who lacks this frame codes with other probabilities from now on: no frame can skip it.
            golden.number = nil
            alternate.number = nil
        }
        if let slot = plan.stored { keep(in: slot, sharpness) }
        defer { nextNumber &+= 1 }
        let recovered = plan.source.flatMap { slot in
            plan.sourceNumber.map { FrameReferences.Recovery(slot: slot, number: $0) }
        }
        return FrameReferences(number: nextNumber, stored: plan.stored, recovered: recovered)
    }

    /// A frame was made that nothing will refer to, and that leaves the decoder as it was.
    mutating func noteDisposable() -> FrameReferences {
        defer { nextNumber &+= 1 }
        return FrameReferences(number: nextNumber)
    }

    private mutating func keep(in slot: ReferenceSlot, _ sharpness: BlockQualityMap?) {
        self[slot].number = nextNumber
        self[slot].changed.clear()
        // Overwritten in place, so that nothing is allocated after the first time.
        guard let quantizers = sharpness?.quantizers else { return }
        if self[slot].quantizers.count != quantizers.count { self[slot].quantizers = quantizers }
        for i in quantizers.indices { self[slot].quantizers[i] = quantizers[i] }
    }
}
