internal import CNice
internal import EventLoop
import SessionDescription

/// Connectivity checks that an agent makes in addition to libnice's, which do not report when and from where they are
/// answered.
///
/// A response proves that packets to a destination reach a holder of the session's ICE password. The transaction ID has
/// 96 random bits, so a forged source address is useless (RFC 7675 section 5.1). Confined to the loop.
final class ConsentChecks {
    private let checks: UnsafeMutablePointer<cnice_checks>
    private let username: String
    private let isControlling: Bool

    /// Nil if there is no memory.
    init?(local: ICECredentials, remote: ICECredentials, isControlling: Bool) {
        guard let checks = cnice_checks_new(remote.password, UInt64.random(in: .min ... .max)) else { return nil }
        self.checks = checks
        self.isControlling = isControlling
        // RFC 8445 section 7.2.2.
        username = "\(remote.usernameFragment):\(local.usernameFragment)"
    }

    deinit { free(checks) }

    /// The argument of `cnice_receive`; valid while self lives.
    var pending: UnsafePointer<cnice_checks> { UnsafePointer(checks) }

    /// Sends a check. Answers to the last sixteen checks count.
    /// - Parameters:
    ///   - number: identifies the destination in the answer; 0 or more.
    ///   - nominates: the peer is to use this pair (RFC 8445 section 8.1.1).
    func send(
        to address: UnsafePointer<sockaddr_storage>, through descriptor: Int32, number: Int32, nominates: Bool = false
    ) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1_024) { room in
            let length = cnice_check_write(
                checks, username, isControlling, nominates, number, room.baseAddress, room.count)
            guard length > 0, let base = room.baseAddress else { return }
            _ = cnice_send_datagram(descriptor, address, base, length)
        }
    }

    /// - Returns: the number of the destination that answered; nil if the datagram is not a valid answer.
    func responder(of datagram: UnsafeRawBufferPointer) -> Int32? {
        guard let base = datagram.baseAddress else { return nil }
        let number = cnice_check_answered(checks, base.assumingMemoryBound(to: UInt8.self), datagram.count)
        return number < 0 ? nil : number
    }
}
