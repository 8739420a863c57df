import Admission
import HTTP
import Identifiers
import Identity
import LinuxRuntime
import PeerConnection
import SessionDescription
import Signaling

extension ViewerSession {
    /// Knocks, and waits for the host's answer.
    func knock(
        _ client: SignalingClient
    ) async throws(EndReason) -> (token: String, servers: [ICEServer], pass: String?) {
        do throws(SignalingError) {
            let ticket = try await queue(client)
            // With a pass, nobody is asked, nor about a viewer that comes back.
            if admission.with({ $0?.pass }) == nil, !redirection.with({ $0.hasReturned }) {
                emit(.knocking(words: ticket.words.description))
            }
            self.ticket.with { $0 = ticket }
            let answer = try await client.waitForAnswer(ticket)
            self.ticket.with { $0 = nil }
            switch answer {
            case .accepted(let token, let servers): return (token, servers, await client.pass)
            case .refused(let reason): throw SignalingError(.refused, reason)
            case .unanswered: throw SignalingError(.unanswered, "nobody answered within 60 s")
            }
        } catch {
            throw EndReason(error)
        }
    }

    /// Knocks. If the host's queue is full, or many knock at once, tries again for as long as a knock would wait for its
    /// answer.
    private func queue(_ client: SignalingClient) async throws(SignalingError) -> KnockTicket {
        let deadline = ContinuousClock.now + .seconds(60)
        var hasWaited = false
        while true {
            let wait: Int
            let notice: Notice
            do throws(SignalingError) {
                return try await client.knock(
                    name: name, identity: identity, records: records, pass: admission.with { $0 }?.pass,
                    codecs: capabilities.videoCodecs)
            } catch {
                guard ContinuousClock.now < deadline, !hasLeft.with({ $0 }) else { throw error }
                switch (error.code, error.retryAfter) {
                case (.queueFull, _):
                    (wait, notice) = (3, .viewing(.knockQueueFull))
                case (.tooMany, let seconds?) where seconds <= Self.longestWait:
                    (wait, notice) = (seconds, .viewing(.serverBusy(server: link.authority, error, seconds: seconds)))
                default: throw error
                }
                if !hasWaited { emit(.notice(notice)) }
                hasWaited = true
                // Those who were refused together do not come back together.
                let pause = Duration.milliseconds(wait * 1_000 + Int.random(in: 0..<500))
                guard (try? await Task.sleep(for: pause)) != nil else { throw error }
            }
        }
    }
}

extension EndReason {
    init(_ error: SignalingError) {
        let code: Code =
            switch error.code {
            case .connectionRefused, .unreachable, .timedOut, .unknownHost, .oldLink: .unreachable
            case .certificateMismatch, .certificateUntrusted, .hostNotProven, .notAShareHost: .untrusted
            case .wrongSecret: .wrongSecret
            case .refused: .refused
            case .unanswered: .unanswered
            case .gone: .hostEnded
            case .connectionLost: .connectionLost
            case .tooMany, .queueFull, .busy: .serviceBusy
            case .unsupportedCodec: .unsupportedCodec
            case .offerRefused, .identifierInUse: .failed
            }
        self.init(code, error.description, remedy: error.remedy)
        videoCodec = error.videoCodec
    }
}
