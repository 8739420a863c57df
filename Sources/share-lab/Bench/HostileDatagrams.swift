import Glibc
import LinuxRuntime
import MediaCore

/// Sends datagrams of strangers to a UDP port of this machine, from many addresses and ports.
final class HostileDatagrams: BenchAttack.Running {
    enum Kind: CaseIterable {
        case stun, dtls, rtp
    }

    private static let sources = 240
    private let progress = Monitor(AttackProgress(["hostileDatagrams"]))

    init(_ kinds: [Kind], to port: UInt16) {
        for kind in kinds {
            _ = NamedThread("hostile-\(kind)") { [progress] in Self.send(kind, to: port, progress) }
        }
    }

    var figures: [(String, Int)] { progress.with { $0.counts } }
    func stop() { progress.change { $0.isOver = true } }

    private static func send(_ kind: Kind, to port: UInt16, _ progress: Monitor<AttackProgress>) {
        let sockets = (0..<sources).map {
            LoopbackSocket.connected(SOCK_DGRAM, from: "127.1.1.\($0 + 1)", to: port)
        }.filter { $0 >= 0 }
        defer { for socket in sockets { close(socket) } }
        guard !sockets.isEmpty else { return }
        var generator = SystemRandomNumberGenerator()
        let datagrams = (0..<64).map { _ in datagram(kind, using: &generator) }
        let began = MonotonicClock.now
        var sent = 0
        while !progress.with({ $0.isOver }) {
            let due = Int((MonotonicClock.now - began).inSeconds * Double(BenchAttack.datagramsPerSecond))
            let begin = sent
            while sent < min(due, begin + 256) {
                let datagram = datagrams[sent % datagrams.count]
                // What the kernel refuses counts as sent: the rate must not rise afterwards.
                _ = datagram.withUnsafeBytes {
                    Glibc.send(
                        sockets[sent % sockets.count], $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
                }
                sent += 1
            }
            let count = sent - begin
            progress.change { $0.add(0, count) }
            if sent >= due { usleep(500) }
        }
    }

    private static func datagram(_ kind: Kind, using generator: inout some RandomNumberGenerator) -> [UInt8] {
        func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) } }
        switch kind {
        case .stun:
            // A Binding request (RFC 8489 section 5) with USERNAME and MESSAGE-INTEGRITY of nobody.
            let name = Array("abcdefgh:ijklmnop".utf8) + [0, 0, 0]
            let attributes: [UInt8] = [0, 6, 0, 17] + name + [0, 8, 0, 20] + random(20)
            let unsealed: [UInt8] =
                [0, 1, 0, UInt8(attributes.count + 8), 0x21, 0x12, 0xA4, 0x42] + random(12) + attributes
            let sum = crc32(unsealed) ^ 0x5354_554E
            return unsealed + [0x80, 0x28, 0, 4] + (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * $0)) }
        case .dtls:
            // A record with a ClientHello of DTLS 1.2 (RFC 6347 section 4.2.1), without extensions.
            let hello: [UInt8] =
                [0xFE, 0xFD] + random(32) + [0, 0, 0, 4, 0xC0, 0x2B, 0xC0, 0x2F, 1, 0]
            let length = UInt8(hello.count)
            let message: [UInt8] = [1, 0, 0, length, 0, 0, 0, 0, 0, 0, 0, length] + hello
            return [0x16, 0xFE, 0xFF] + [UInt8](repeating: 0, count: 9) + [UInt8(message.count)] + message
        case .rtp:
            return [0x80, 96] + random(10) + random(1_188)
        }
    }

    /// CRC-32 of STUN's FINGERPRINT (ISO 3309).
    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(UInt32.max) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
    }
}
