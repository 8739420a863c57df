import EventLoop
import ICETransport
import SessionDescription
import Transport

/// One UDP port for the media of all peers.
public struct MediaPort: Sendable, Equatable {
    /// Numeric addresses of this machine; nil: all.
    public var addresses: [String]?
    /// 0: a free one.
    public var port: UInt16
    /// Another numeric address at which peers reach the port, such as that of a router that forwards it.
    public var publicAddress: String?

    public init(addresses: [String]? = nil, port: UInt16 = 0, publicAddress: String? = nil) {
        self.addresses = addresses
        self.port = port
        self.publicAddress = publicAddress
    }

    /// Whether a text is a numeric address that a peer can have; "0.0.0.0" and "::" are none.
    public static func isNumeric(_ address: String) -> Bool { IPAddress(address)?.isUnicast ?? false }

    public static func isLoopback(_ address: String) -> Bool { IPAddress(address)?.isLoopback ?? false }

    func open(on loop: EventLoop) async throws(EndReason) -> LoopBound<ICELiteSocket> {
        let opened = await withCheckedContinuation {
            (done: CheckedContinuation<Result<LoopBound<ICELiteSocket>, EndReason>, Never>) in
            let isRunning = loop.perform {
                do throws(ICEFailure) {
                    let socket = try ICELiteSocket(
                        loop: loop, addresses: addresses, port: port, publicAddress: publicAddress)
                    done.resume(returning: .success(LoopBound(loop, socket)))
                } catch {
                    done.resume(returning: .failure(EndReason(.portUnavailable, error.description)))
                }
            }
            if !isRunning { done.resume(returning: .failure(EndReason(.stopped, "the session is over"))) }
        }
        return try opened.get()
    }
}
