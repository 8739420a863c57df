#if RecordingsAndWHIP
internal import HTTP
package import Identity
internal import LinuxRuntime
internal import MediaCore
internal import RecordingPage
import Synchronization

/// A recording that other people get by a link: one of them once, or everybody for some time. The owner is asked about
/// each browser. It is served by this process, over HTTPS with the user's own certificate, until `close`.
public final class RecordingOffer: Sendable {
    /// A person who wants the recording.
    public struct Request: Sendable, Equatable {
        /// The IP address from which the browser asks, without port; "unknown" if the system does not tell.
        public let address: String
        /// "Firefox", for example; not verified.
        public let program: String
    }

    /// What happens to the offer.
    public enum Event: Sendable, Equatable {
        /// Somebody has got all of it.
        case sent(address: String)
        /// Somebody has left in between.
        case interrupted(address: String)
        /// Nothing follows: it was given away once, the time is over, or it was closed.
        case ended
    }

    /// The link, which browsers and programs for downloads open. It is secret: who has it may ask.
    public let url: String
    /// The events, in their order. One reader; the oldest are dropped beyond 64.
    public let events: AsyncStream<Event>
    private let feed: AsyncStream<Event>.Continuation
    private let file: OfferedFile
    private let timer = Mutex<Task<Void, Never>?>(nil)

    /// - Parameters:
    ///   - linkHost: the name or address in the link.
    ///   - accept: asks the owner; called once for each browser, for several at a time.
    package init(
        path: String, once: Bool, duration: Duration, host: String, port: Int, linkHost: String, identity: Identity,
        accept: @escaping @Sendable (Request) async -> Bool
    ) async throws(ShareKitError) {
        let (events, feed) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(64))
        (self.events, self.feed) = (events, feed)
        do {
            file = try await OfferedFile(
                .init(
                    path: path, host: host, port: port, certificate: identity.certificatePEM,
                    key: identity.privateKeyPEM, isOnce: once),
                accept: { request in
                    await accept(
                        Request(address: request.address, program: UntrustedText.kind(userAgent: request.userAgent)))
                },
                report: { event in
                    switch event {
                    case .sent(let address): feed.yield(.sent(address: address))
                    case .interrupted(let address): feed.yield(.interrupted(address: address))
                    case .over:
                        feed.yield(.ended)
                        feed.finish()
                    }
                })
        } catch {
            throw ShareKitError(
                .portUnavailable, "the recording cannot be offered: its file or the port cannot be opened")
        }
        url = "https://\(linkHost.contains(":") ? "[\(linkHost)]" : linkHost):\(file.port)\(file.path)"
        timer.withLock { timer in
            timer = Task { [weak self] in
                try? await Task.sleep(for: duration)
                if !Task.isCancelled { await self?.close() }
            }
        }
    }

    deinit {
        timer.withLock { $0 }?.cancel()
        let file = file
        Task { await file.stop() }
    }

    /// Ends the offer; who gets the recording now loses it. A second call does nothing.
    public func close() async {
        timer.withLock { $0 }?.cancel()
        await file.stop()
        feed.yield(.ended)
        feed.finish()
    }
}

extension Recording {
    /// Offers the recording to other people by a link.
    /// - Parameters:
    ///   - once: whether it is given away once; otherwise as often as it is wanted.
    ///   - duration: how long it is offered at most.
    ///   - port: TCP; 0 selects a free one.
    ///   - accept: asks the app's user, once for each browser.
    /// - Throws: `.portUnavailable`; `.failed` without an identity.
    public func offer(
        once: Bool = true, for duration: Duration = .seconds(600), port: Int = 0,
        accept: @escaping @Sendable (RecordingOffer.Request) async -> Bool
    ) async throws(ShareKitError) -> RecordingOffer {
        let place = LocalAddresses.place(of: "0.0.0.0")
        return try await RecordingOffer(
            path: path, once: once, duration: duration, host: place.host, port: port, linkHost: place.link,
            identity: .ofUser(), accept: accept)
    }
}
#endif
