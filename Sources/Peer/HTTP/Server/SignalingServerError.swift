import Glibc
import NIOCore

/// The reason why the server does not run, or does not take a broadcast or a service. `description` is a sentence.
public struct SignalingServerError: Error, CustomStringConvertible {
    public enum Code: Sendable {
        case portInUse, notPermitted, addressNotHere, unknownHost, tls, alreadyStarted, other
        /// The fixed token of the broadcast or service is unusable.
        case token
        case broadcastExists, tooManyBroadcasts, serviceExists, tooManyServices, stopped
    }
    public let code: Code
    public let description: String

    /// The server does not run any more.
    public static let stopped = SignalingServerError(.stopped, "the server has stopped")

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    package init(_ error: any Error, host: String, port: Int) {
        let place = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE:
            self.init(
                .portInUse, "port \(port) is in use on \(host): choose another with --listen, or 0 for any free one")
        case EACCES, EPERM:
            self.init(
                .notPermitted, "not permitted to listen on \(place): ports below 1024 need root; choose a higher one")
        case EADDRNOTAVAIL:
            self.init(.addressNotHere, "\(host) is not an address of this machine: see them with: ip address")
        default:
            if error is SocketAddressError.UnknownHost {
                self.init(.unknownHost, "\(host) is not known as an address or name to listen on")
            } else {
                self.init(.other, "cannot listen on \(place): \(error)")
            }
        }
    }
}
