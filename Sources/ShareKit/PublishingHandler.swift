internal import Admission
internal import ExtensionChannel
internal import Extensions
internal import HTTP
internal import Host
internal import Identifiers
internal import Identity
internal import LinuxRuntime
internal import MediaCore
internal import PeerConnection
internal import Signaling

#if RecordingsAndWHIP
internal import WHIP
#endif

/// An upload program that publishes what its host has encoded, without encoding it again: to a service peer, or to any
/// WHIP endpoint (RFC 9725). The receiver's bandwidth sets the bitrate of the host.
///
///     @main final class Upload: PublishingHandler {
///         override func destination(setupInfo: [String: String]) -> Destination? {
///             .whip(url: "https://live.example.com/whip/room", token: setupInfo["token"])
///         }
///     }
open class PublishingHandler: SampleHandler, @unchecked Sendable {
    /// Where an upload program can publish to.
    public enum Destination: Sendable, Hashable {
        /// A service peer by its link. The program pairs with it; the user has agreed before. A relay is taken only
        /// with ``PublishingHandler/relayMayWatch``.
        /// - `setup`: a value for each field of the service.
        case service(link: String, setup: [String: String])
        /// A WHIP endpoint: `https` with a certificate that the system trusts, `http` without protection, or the link of a
        /// service peer whose fixed token it is. Of several audio tracks it gets the app's. Without the package's trait
        /// `RecordingsAndWHIP` only the link of a service peer is one.
        case whip(url: String, token: String?)
    }

    private struct State {
        var publication: ProgramPublication?
        var isOver = false
    }

    private let state = Monitor(State())

    /// Called by `main()`, before the host tells anything.
    public required init() {
        super.init()
        onStart = { [unowned self] in start($0) }
        onSample = { [state] sample in state.with { $0.publication }?.receive(sample) }
    }

    /// Always `.encoded`.
    public final override var sampleFormat: SampleFormat { .encoded }

    /// Where the broadcast goes. Called once, on the main thread.
    /// - Parameter setupInfo: as `broadcastStarted` gets it.
    /// - Returns: nil after `finishBroadcast(withError:nextStep:)`.
    open func destination(setupInfo: [String: String]) -> Destination? { nil }

    /// A relay may be the service: it gets the broadcast in clear, as the host has encoded it. False unless overridden.
    open var relayMayWatch: Bool { false }

    /// Ends the session at the receiver. Call it if you override it.
    open override func broadcastFinished() {
        let publication = state.with { state in
            state.isOver = true
            return state.publication
        }
        guard let publication else { return }
        let hasEnded = Monitor(false)
        Task.detached {
            await publication.stop(EndReason(.stopped, "the host ended the broadcast"))
            hasEnded.change { $0 = true }
        }
        // The host waits 3 s.
        _ = hasEnded.wait(until: MonotonicClock.now + .milliseconds(2_500)) { $0 ? true : nil }
    }

    private func start(_ start: ExtensionStart) {
        guard let destination = destination(setupInfo: start.setup) else { return }
        Task.detached { [self] in
            do throws(EndReason) {
                try await publish(to: destination, start)
            } catch {
                finishBroadcast(withError: error.sentence, nextStep: error.remedy.isEmpty ? nil : error.remedy)
            }
        }
    }

    private func publish(to destination: Destination, _ start: ExtensionStart) async throws(EndReason) {
        let identity: Identity
        do throws(IdentityError) {
            identity = try Identity.loadOrCreate()
        } catch {
            throw EndReason(.failed, error.description)
        }
        let endpoint: any PublishingEndpoint
        var tracks = start.audio ?? [.application]
        switch destination {
        case .service(let link, let setup):
            endpoint = try await pair(with: link, setup, start.application, identity)
        case .whip(let url, let token):
            endpoint = try Self.endpoint(url, token: token ?? "")
            // One track, as RFC 9725 section 4.2 has it.
            if tracks.contains(.application) { tracks = [.application] }
        }
        guard let connection else { return await endpoint.close() }
        let publication = ProgramPublication(
            connection, tracks: tracks, endpoint: endpoint, identity: identity, report: { [self] in pass($0) })
        let isOver = state.with { state in
            state.publication = publication
            return state.isOver
        }
        guard !isOver else { return await publication.stop(EndReason(.stopped, "ended")) }
        let reason = try await publication.run()
        guard reason.code == .stopped else { throw reason }
    }

    private static func endpoint(_ url: String, token: String) throws(EndReason) -> any PublishingEndpoint {
        do throws(SignalingError) {
            if let link = try? ServiceLink(parsing: url) { return try TokenEndpoint(link, token: token) }
            #if RecordingsAndWHIP
            return try WHIPEndpoint(url, token: token)
            #else
            throw SignalingError(
                .notAShareHost, "this program publishes to no WHIP endpoint",
                remedy: "It has to be built with the trait RecordingsAndWHIP of share's package.")
            #endif
        } catch {
            throw EndReason(.failed, error.description, remedy: error.remedy)
        }
    }

    private func pair(
        with text: String, _ setup: [String: String], _ application: BroadcastingApplication, _ identity: Identity
    ) async throws(EndReason) -> PairedService {
        let link: ServiceLink
        do throws(LinkError) {
            link = try ServiceLink(parsing: text)
        } catch {
            throw EndReason(.badLink, error.description)
        }
        let application = ApplicationInfo(
            id: application.id, name: application.name, icon: application.icon.flatMap { try? PNGIcon(Array($0)) })
        let relay = RefusedRelay(isRefused: !relayMayWatch)
        do throws(PairingFailure) {
            let paired = try await ServicePairing(link: link, application: application, identity: identity).run {
                relay.refuses($0.service) ? nil : setup
            }
            if let url = paired.broadcastURL { updateBroadcast(url: url) }
            return paired
        } catch {
            guard let refusal = relay.error else { throw EndReason(.failed, error.description) }
            throw EndReason(.failed, refusal.message, remedy: refusal.remedy)
        }
    }

    private func pass(_ event: ServiceEvent) {
        switch event {
        case .serviceInfo(let info): updateServiceInfo(BroadcastController.ServiceInfo(info))
        case .broadcastURL(let url): updateBroadcast(url: url)
        case .viewer, .viewerWithdrawn, .viewerJoined, .viewerLeft, .alternates, .slowestBitrate, .reconnect, .finished,
            .candidates:
            break
        }
    }
}
