internal import LinuxRuntime
internal import MediaCore

/// The host's end of the connection to a program, with the memory of the samples. Threads share it in a Monitor.
struct ExtensionLink {
    struct Sent {
        var isTaken: Bool
        /// Something waits for the program to read, or the connection has failed.
        var needsThread: Bool
    }

    private var channel: ProcessMessageChannel<ExtensionMessage, HostMessage>?
    private var slots: [SampleKind: SampleSlots] = [:]
    private var memories = 0
    /// Audio that waits for a slot, in its order: PCM or Opus of up to 5 s.
    private var waitingAudio: [(format: SampleDescription.Format, time: MediaInstant, bytes: [UInt8])] = []
    /// Whether samples are sent.
    var isOpen = false
    var isFinishing = false
    private(set) var failure: ChannelFailure?
    /// Since when the program has read nothing, or has given back nothing of a kind that it has all slots of.
    private var blockedSince: MediaInstant?
    private var starvedSince: [SampleKind: MediaInstant] = [:]

    private static let audioSlots = 64
    private static let longestAudioWait = 500

    mutating func open(_ connection: LocalConnection) {
        channel = ProcessMessageChannel(connection, takesAttachments: false)
    }

    mutating func close() {
        isOpen = false
        channel = nil
        slots = [:]
        waitingAudio = []
    }

    var descriptor: Int32? { channel?.descriptor }
    var isBlocked: Bool { channel?.isBlocked ?? false }
    /// The shared memory of the samples, in bytes.
    var sharedBytes: Int { slots.values.reduce(0) { $0 + $1.memory.byteCount } }

    /// - Returns: whether everything was sent.
    mutating func send(_ message: HostMessage, attachment: SharedMemory? = nil) -> Bool {
        guard failure == nil else { return false }
        do throws(ChannelFailure) {
            try channel?.send(message, attachment: attachment)
        } catch {
            failure = error
        }
        return failure == nil && !isBlocked
    }

    mutating func flush() {
        do throws(ChannelFailure) { try channel?.flush() } catch { failure = failure ?? error }
    }

    /// Reads what the program has sent: 16 KiB at most.
    func receive() throws(ChannelFailure) -> [ExtensionMessage] {
        var messages: [ExtensionMessage] = []
        guard let channel, try channel.fill() else { return messages }
        while let message = try channel.next() { messages.append(message) }
        return messages
    }

    // MARK: Samples

    mutating func send(
        _ kind: SampleKind, _ byteCount: Int, _ format: SampleDescription.Format, _ time: MediaInstant,
        _ write: (UnsafeMutableRawBufferPointer) -> Void
    ) -> Sent {
        guard isOpen, !isFinishing, failure == nil else { return Sent(isTaken: false, needsThread: false) }
        guard prepare(kind, byteCount) else { return Sent(isTaken: false, needsThread: failure != nil) }
        if kind == .audio, !waitingAudio.isEmpty || slots[kind]?.lent == Self.audioSlots {
            guard waitingAudio.count < Self.longestAudioWait else { return Sent(isTaken: false, needsThread: true) }
            waitingAudio.append(
                (
                    format, time,
                    [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
                        write(UnsafeMutableRawBufferPointer(buffer))
                        count = byteCount
                    }
                ))
            return Sent(isTaken: true, needsThread: true)
        }
        guard let slot = slots[kind]?.take(), let description = slots[kind]?.description else {
            return Sent(isTaken: false, needsThread: true)
        }
        if let bytes = slots[kind]?.bytes(of: slot) {
            write(UnsafeMutableRawBufferPointer(rebasing: bytes[..<byteCount]))
        }
        let sample = SampleDescription(
            memory: description.id, slot: slot, format: format, time: time.nanoseconds)
        return Sent(isTaken: true, needsThread: !send(.sample(sample)))
    }

    /// Makes memory for samples of this size, if there is none.
    private mutating func prepare(_ kind: SampleKind, _ byteCount: Int) -> Bool {
        if let present = slots[kind], present.description.slotSize >= byteCount { return true }
        let page = 4_096
        let size = kind == .audio ? max(page, byteCount) : (byteCount + byteCount / 4 + page) / page * page
        memories += 1
        guard
            let new = try? SampleSlots(
                id: memories, kind: kind, slots: kind == .audio ? Self.audioSlots : 4, slotSize: size)
        else { return false }
        slots[kind] = new
        _ = send(.memory(new.description), attachment: new.memory)
        return failure == nil
    }

    /// - Returns: false if the program did not have that slot.
    mutating func release(memory: Int, slot: Int) -> Bool {
        // Memory that was replaced is not used again.
        guard let kind = slots.first(where: { $0.value.description.id == memory })?.key else {
            return memory >= 1 && memory <= memories
        }
        guard slots[kind]?.giveBack(slot) == true else { return false }
        starvedSince[kind] = nil
        while kind == .audio, let next = waitingAudio.first, slots[kind]?.lent ?? 0 < Self.audioSlots {
            waitingAudio.removeFirst()
            let waiting = waitingAudio
            waitingAudio = []
            _ = send(.audio, next.bytes.count, next.format, next.time) { $0.copyBytes(from: next.bytes) }
            waitingAudio = waiting
        }
        return true
    }

    /// How long the program has taken nothing although something is there for it.
    mutating func stall(now: MediaInstant) -> MediaDuration {
        blockedSince = isBlocked ? blockedSince ?? now : nil
        for (kind, slots) in slots where slots.lent == slots.description.slots {
            starvedSince[kind] = starvedSince[kind] ?? now
        }
        let instants = Array(starvedSince.values) + (blockedSince.map { [$0] } ?? [])
        return instants.min().map { now - $0 } ?? .zero
    }
}
