import MediaCore

/// Adds up packets of 10 ms from several streams, by their capture times.
///
/// With one stream, packets pass through at once. With several, a packet waits for those of the other streams, but at
/// most `maximumWait` packets; what comes later than that is part of a later packet.
struct AudioMixer {
    private struct Packet {
        var samples: [Int16]
        var captured: MediaInstant
    }

    private struct Input {
        var id: Int
        var packets: [Packet] = []
        /// The capture time of the latest packet; nil if none has come yet.
        var latest: MediaInstant?
    }

    private static let packetDuration = MediaDuration.milliseconds(10)
    /// The number of packets that wait for a stream that delivers none.
    private static let maximumWait = 4
    /// A stream that has delivered nothing for so long is not waited for.
    private static let patience = MediaDuration.milliseconds(100)

    private var inputs: [Input] = []
    private var sum = [Int32](repeating: 0, count: CaptureChunker.samplesPerPacket)
    private var mixed = [Int16](repeating: 0, count: CaptureChunker.samplesPerPacket)
    private var last: MediaInstant?

    var hasSeveralInputs: Bool { inputs.count > 1 }

    mutating func add(_ id: Int) {
        if !inputs.contains(where: { $0.id == id }) { inputs.append(Input(id: id)) }
    }

    /// Drops the samples of that stream that wait: 40 ms at most.
    mutating func remove(_ id: Int) {
        inputs.removeAll { $0.id == id }
        if inputs.isEmpty { last = nil }
    }

    /// - Parameters:
    ///   - packet: 960 samples; silent ones are needed, too, while there are several inputs.
    ///   - handler: called for each mixed packet that is not silent.
    mutating func take(
        _ packet: UnsafeBufferPointer<Int16>, _ captured: MediaInstant, from id: Int,
        _ handler: (UnsafeBufferPointer<Int16>, MediaInstant) -> Void
    ) {
        guard let index = inputs.firstIndex(where: { $0.id == id }) else { return }
        if inputs.count == 1, inputs[index].packets.isEmpty {
            last = captured
            return handler(packet, captured)
        }
        inputs[index].packets.append(Packet(samples: Array(packet), captured: captured))
        inputs[index].latest = captured
        while let earliest = inputs.compactMap({ $0.packets.first?.captured }).min(), isComplete(earliest) {
            mix(earliest, handler)
        }
    }

    /// Whether every stream that delivers has a packet, or one has waited long enough.
    private func isComplete(_ earliest: MediaInstant) -> Bool {
        if inputs.contains(where: { $0.packets.count > Self.maximumWait }) { return true }
        return inputs.allSatisfy { input in
            !input.packets.isEmpty || input.latest.map { earliest - $0 > Self.patience } ?? true
        }
    }

    private mutating func mix(_ earliest: MediaInstant, _ handler: (UnsafeBufferPointer<Int16>, MediaInstant) -> Void) {
        let end = earliest + Self.packetDuration
        for sample in sum.indices { sum[sample] = 0 }
        for index in inputs.indices {
            guard let packet = inputs[index].packets.first, packet.captured < end else { continue }
            inputs[index].packets.removeFirst()
            for sample in sum.indices { sum[sample] &+= Int32(packet.samples[sample]) }
        }
        var all = Int16(0)
        for sample in sum.indices {
            mixed[sample] = Int16(clamping: sum[sample])
            all |= mixed[sample]
        }
        // Times never go back: a stream that lags is mixed into later packets.
        var captured = earliest
        if let last, captured < last + Self.packetDuration { captured = last + Self.packetDuration }
        last = captured
        guard all != 0 else { return }
        mixed.withUnsafeBufferPointer { handler($0, captured) }
    }
}
