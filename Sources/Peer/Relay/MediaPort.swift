import EventLoop
import ICETransport
import PeerConnection
import SessionDescription
import Signaling

/// One UDP port for the media of all peers. It tells strangers their public address, as a STUN server does.
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

    /// The STUN server that it is, for peers elsewhere; nil if they cannot reach it.
    /// - Parameters:
    ///   - port: that was opened.
    ///   - host: the name or address in links.
    func server(port: UInt16, host: String) -> ICEServer? {
        let only = addresses?.count == 1 ? addresses?.first : nil
        let place = publicAddress ?? only ?? host
        guard !Self.isLoopback(place), place != "localhost" else { return nil }
        return ICEServer(urls: ["stun:" + (place.contains(":") ? "[\(place)]" : place) + ":\(port)"])
    }

    func open(on loop: EventLoop) async throws(EndReason) -> LoopBound<ICELiteSocket> {
        let opened = await withCheckedContinuation {
            (done: CheckedContinuation<Result<LoopBound<ICELiteSocket>, EndReason>, Never>) in
            let isRunning = loop.perform {
                do throws(ICEFailure) {
                    let socket = try ICELiteSocket(
                        loop: loop, addresses: addresses, port: port, publicAddress: publicAddress,
                        isSTUNServer: true)
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
