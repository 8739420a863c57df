import Glibc
import MediaCore
import MediaEngine
import RTPWire

// Measures the cost of hostile RTCP for the sender that receives it, without SRTP and sockets: 1 Mbit/s of each kind
// for ten seconds of virtual time.

func nanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Builds transport-wide feedback about recently sent packets, or with arbitrary claims.
func feedback(base: Int, count: Int, chunks: [UInt16]) -> [UInt8] {
    var body: [UInt8] = [0, 0, 0, 9, 0, 0, 0x11, 0x11]
    for word in [UInt16(truncatingIfNeeded: base), UInt16(count), 0, 0] + chunks {
        body += [UInt8(word >> 8), UInt8(word & 0xFF)]
    }
    while body.count % 4 != 0 { body.append(0) }
    return [0x8F, 205, UInt8((body.count / 4) >> 8), UInt8(body.count / 4 & 0xFF)] + body
}

func datagram(_ packet: [UInt8]) -> [UInt8] { Array(repeating: packet, count: 1_200 / packet.count).flatMap { $0 } }

/// Makes the sender of a host that has been sending for a while.
func makeSender(_ start: MediaInstant) -> (MediaSender, MediaInstant) {
    let sender = MediaSender(
        SenderParameters(
            video: VideoStreamParameters(ssrc: 0x1111, payloadType: 96, rtxSSRC: 0x2222, rtxPayloadType: 97, mid: "0"),
            audio: [], extensions: [.transportSequence: 3, .mid: 1, .frameReferences: 5], cname: "h",
            startBitrate: .kilobits(20_000), maximumBitrate: .kilobits(20_000), usesTransportFeedback: true), seed: 1,
        ntpEpoch: NTPTimestamp(rawValue: 0), now: start)
    var now = start
    for _ in 0..<250 {
        send(sender, 8_000, now)
        drain(sender, now)
        now = now + .milliseconds(33)
    }
    return (sender, now)
}

func send(_ sender: MediaSender, _ bytes: Int, _ now: MediaInstant) {
    [UInt8](repeating: 0x11, count: bytes).withUnsafeBytes {
        sender.handleFrame($0, FrameInfo(of: $0, isKeyframe: false, captured: now), now: now)
    }
}

nonisolated(unsafe) let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_500, alignment: 16)

func drain(_ sender: MediaSender, _ now: MediaInstant) {
    while true { if case .wait = sender.poll(now: now, into: buffer) { return } }
}

let runs = Array(repeating: UInt16(8_191), count: 8) + [7]
let block: [UInt8] = [0, 0, 0x11, 0x11, 9] + [UInt8](repeating: 7, count: 19)
let blocks = Array(repeating: block, count: 31).flatMap { $0 }
let nacks = (0..<297).flatMap { (index: Int) -> [UInt8] in
    let number = index * 17
    return [UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF), 0xFF, 0xFF]
}
let attacks: [(name: String, bytes: [UInt8])] = [
    ("runs of lost, 33 messages a datagram", datagram(feedback(base: 1, count: 65_535, chunks: runs))),
    ("runs of lost, one message a datagram", feedback(base: 1, count: 65_535, chunks: runs)),
    ("8,191 lost of what was sent", feedback(base: 1, count: 8_191, chunks: [8_191])),
    ("lost in chunks of 14", feedback(base: 1, count: 8_120, chunks: Array(repeating: 0x8000, count: 580))),
    ("NACKs of 5,049 numbers", [0x81, 205, 1, 0x2B, 0, 0, 0, 9, 0, 0, 0x11, 0x11] + nacks),
    ("reports of 31 blocks", [0x9F, 201, 0, 187, 0, 0, 0, 9] + blocks),
    ("PLIs, 100 a datagram", datagram([0x81, 206, 0, 2, 0, 0, 0, 9, 0, 0, 0x11, 0x11])),
    ("PLIs, one a datagram", [0x81, 206, 0, 2, 0, 0, 0, 9, 0, 0, 0x11, 0x11]),
    ("empty packets, 300 a datagram", datagram([0x80, 204, 0, 0])),
]
print("| RTCP, 1 Mbit/s | datagrams a second | us a datagram | of one core |")
print("|---|--:|--:|--:|")
for (name, bytes) in attacks {
    let (sender, begin) = makeSender(MediaInstant(nanoseconds: 1_000_000_000_000))
    // With the bytes of UDP and SRTCP.
    let pause = Bitrate.kilobits(1_000).duration(ofBytes: bytes.count + 42)
    var now = begin
    var nextFrame = begin
    var count: Int64 = 0
    var spent: Int64 = 0
    while now < begin + .seconds(10) {
        if now >= nextFrame {
            send(sender, 8_000, now)
            drain(sender, now)
            nextFrame = nextFrame + .milliseconds(33)
        }
        let before = nanoseconds()
        bytes.withUnsafeBytes { sender.handleRTCP($0, now: now) }
        _ = sender.poll(now: now, into: buffer)
        spent += nanoseconds() - before
        now = now + pause
        count += 1
    }
    let each = Double(spent / count) / 1_000
    print("| \(name) | \(count / 10) | \(each) | \(Double(spent / 10_000 / 100) / 100) % |")
}
