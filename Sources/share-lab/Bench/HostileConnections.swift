import Glibc
import LinuxRuntime
import MediaCore

/// Keeps TCP connections to a port of this machine open that never finish a TLS handshake, from 250 addresses. One that
/// the other side closes is opened again.
final class HostileConnections: BenchAttack.Running {
    private let progress = Monitor(AttackProgress(["hostileConnections", "hostileConnectionsClosed"]))
    /// New ones in one round over all.
    private static let step = 500
    /// Bytes of the ClientHello's record.
    private static let hello: [UInt8] = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3] + [UInt8](repeating: 7, count: 501)

    /// - Parameter dripping: whether each sends a byte of a ClientHello every half second.
    init(to port: UInt16, dripping: Bool) {
        _ = NamedThread("hostile-tcp") { [progress] in Self.hold(port, dripping, progress) }
    }

    var figures: [(String, Int)] { progress.with { $0.counts } }
    func stop() { progress.change { $0.isOver = true } }

    private static func hold(_ port: UInt16, _ dripping: Bool, _ progress: Monitor<AttackProgress>) {
        var sockets = [Int32](repeating: -1, count: BenchAttack.connectionCount)
        var sent = [Int](repeating: 0, count: sockets.count)
        defer { for socket in sockets where socket >= 0 { close(socket) } }
        var byte: UInt8 = 0
        while !progress.with({ $0.isOver }) {
            var (opened, closed) = (0, 0)
            for index in sockets.indices {
                if sockets[index] >= 0 {
                    let count = recv(sockets[index], &byte, 1, Int32(MSG_DONTWAIT))
                    if count == 0 || count < 0 && errno != EAGAIN && errno != ENOTCONN {
                        close(sockets[index])
                        sockets[index] = -1
                        closed += 1
                    } else if dripping {
                        var next = hello[sent[index] % hello.count]
                        sent[index] += 1
                        _ = Glibc.send(sockets[index], &next, 1, Int32(MSG_NOSIGNAL))
                    }
                } else if opened < step {
                    opened += 1
                    sent[index] = 0
                    sockets[index] = LoopbackSocket.connected(
                        SOCK_STREAM, from: "127.1.2.\(index % 250 + 1)", to: port)
                }
            }
            let counts = (opened, closed)
            progress.change {
                $0.add(0, counts.0)
                $0.add(1, counts.1)
            }
            usleep(500_000)
        }
    }
}
