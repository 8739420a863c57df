import Glibc
import MediaCore
import MediaEngine
import RTPWire

// Measures the cost of a packet in the engine on each side, without SRTP, sockets and threads: frames of 60 kB, 40 a
// second, from a `MediaSender` to a `MediaReceiver` in virtual time, and from there into the buffers of a decode queue.
// Two versions behave identically if their digests of all packets and frames are equal.

func nanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

struct Run {
    var packets = 0
    var payloadBytes = 0
    var sending: Int64 = 0
    var receiving: Int64 = 0
    /// FNV-1a over all packets and frames.
    var digest: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func note(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
}

/// A fixed path: packets arrive at once, and so do the receiver's reports.
final class Call {
    private static let slotBytes = 1_536
    private static let frameBytes = 60_000
    private static let start = MediaInstant(nanoseconds: 1_000_000_000_000)
    private let sender: MediaSender
    private let receiver: MediaReceiver
    /// As in `PacketBatch`, with as many decode buffers as `DecodePipeline`.
    private let batch = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 * slotBytes, alignment: 64)
    private let decodeBuffers = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * frameBytes, alignment: 64)
    private let reports = UnsafeMutableRawBufferPointer.allocate(byteCount: slotBytes, alignment: 64)
    private var lengths: [Int] = []
    private var now = Call.start
    private var senderWake = Call.start
    private var receiverWake = Call.start
    private var nextBuffer = 0
    private let digests: Bool
    private(set) var run = Run()

    init(digests: Bool) {
        self.digests = digests
        let stream = VideoStreamParameters(
            ssrc: 0x1111, payloadType: 96, rtxSSRC: 0x2222, rtxPayloadType: 97, mid: "0")
        let extensions: HeaderExtensionMap = [.transportSequence: 3, .mid: 1, .frameReferences: 5]
        sender = MediaSender(
            SenderParameters(
                video: stream, audio: [], extensions: extensions, cname: "h", startBitrate: .kilobits(20_000),
                maximumBitrate: .kilobits(20_000), usesTransportFeedback: true), seed: 1,
            ntpEpoch: NTPTimestamp(rawValue: 0), now: now)
        receiver = MediaReceiver(
            ReceiverParameters(
                video: stream, audio: [], extensions: extensions, cname: "v", localSSRC: 9,
                usesTransportFeedback: true), seed: 1, ntpEpoch: NTPTimestamp(rawValue: 0), now: now)
        lengths.reserveCapacity(32)
    }

    deinit {
        batch.deallocate()
        decodeBuffers.deallocate()
        reports.deallocate()
    }

    func play(frames: Int) {
        var frame = [UInt8](repeating: 0x11, count: Self.frameBytes)
        for number in 0..<frames {
            let end = Self.start + .milliseconds(25 * (number + 1))
            frame[0] = number == 0 ? 0x10 : 0x11
            frame.replaceSubrange(3..<10, with: [0x9D, 0x01, 0x2A, 0x80, 0x07, 0x38, 0x04])
            frame[20] = UInt8(truncatingIfNeeded: number)
            let begin = nanoseconds()
            frame.withUnsafeBytes {
                sender.handleFrame($0, FrameInfo(of: $0, isKeyframe: number == 0, captured: now), now: now)
            }
            run.sending += nanoseconds() - begin
            senderWake = now
            while true {
                let next = min(senderWake, receiverWake)
                guard next < end else { break }
                now = max(now, next)
                turn()
            }
            now = end
        }
    }

    /// Runs the due output of both sides.
    private func turn() {
        var isWaiting = false
        while !isWaiting {
            let begin = nanoseconds()
            isWaiting = fillBatch()
            let middle = nanoseconds()
            run.sending += middle - begin
            if digests {
                for (index, length) in lengths.enumerated() { run.note(UnsafeRawBufferPointer(packet(index, length))) }
            }
            let arrival = nanoseconds()
            for (index, length) in lengths.enumerated() {
                receiver.handleRTP(UnsafeRawBufferPointer(packet(index, length)), now: now)
                drainReceiver()
            }
            if lengths.isEmpty { drainReceiver() }
            run.receiving += nanoseconds() - arrival
            run.packets += lengths.count
            lengths.removeAll(keepingCapacity: true)
        }
    }

    private func packet(_ index: Int, _ length: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: batch[(index * Self.slotBytes)...].prefix(length))
    }

    /// - Returns: false if the batch is full.
    private func fillBatch() -> Bool {
        while lengths.count < 32 {
            switch sender.poll(now: now, into: packet(lengths.count, Self.slotBytes)) {
            case .rtp(let length), .protected(let length): lengths.append(length)
            case .rtcp(let length): receiver.handleRTCP(UnsafeRawBufferPointer(packet(lengths.count, length)), now: now)
            case .event: break
            case .wait(let until, _):
                senderWake = until
                return true
            }
        }
        return false
    }

    private func drainReceiver() {
        while true {
            switch receiver.poll(now: now, into: reports) {
            case .rtcp(let length):
                sender.handleRTCP(UnsafeRawBufferPointer(rebasing: reports[..<length]), now: now)
                senderWake = now
            case .frame(let frame, _):
                let buffer = UnsafeMutableRawBufferPointer(
                    rebasing: decodeBuffers[(nextBuffer * Self.frameBytes)...].prefix(frame.count))
                frame.copy(to: buffer)
                run.payloadBytes += frame.count
                nextBuffer = (nextBuffer + 1) % 64
                if digests { run.note(UnsafeRawBufferPointer(buffer)) }
            case .audio, .event: break
            case .wait(let until, _):
                receiverWake = until
                return
            }
        }
    }
}

func cell(_ nanoseconds: Int64, _ packets: Int) -> Int64 { nanoseconds / Int64(max(packets, 1)) }

let checked = Call(digests: true)
checked.play(frames: 200)
print("digest of \(checked.run.packets) packets: \(String(checked.run.digest, radix: 16))")
var best = (sending: Int64.max, receiving: Int64.max)
var packets = 0
for _ in 0..<20 {
    let call = Call(digests: false)
    call.play(frames: 200)
    packets = call.run.packets
    best.sending = min(best.sending, cell(call.run.sending, packets))
    best.receiving = min(best.receiving, cell(call.run.receiving, packets))
}
print("| packets | sender, ns a packet | receiver, ns a packet |")
print("|--:|--:|--:|")
print("| \(packets) | \(best.sending) | \(best.receiving) |")
