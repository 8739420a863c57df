public import Admission
internal import Cryptography
import HTTP
import Identifiers
public import Identity
import LinuxRuntime
import MediaCore
import NIOHTTP1

extension ServiceClient {
    /// One pairing: its state machine, and what runs for it.
    struct Pairing {
        let number: Int
        let identity: Identity
        var machine: PairingClient
        var prompt: PairingClient.Prompt?
        /// The service's (DER), when it has signed.
        var certificate: [UInt8]?
        /// The path of the pairing's resource; nil before the service has answered.
        var place: String?
        var iceServers: [ICEServer] = []
        var poll: Task<Void, Never>?
        var alarm: Task<Void, Never>?
        let outcome = OneShot<Result<ServiceGrant, PairingFailure>>()

        func stop() {
            poll?.cancel()
            alarm?.cancel()
        }
    }

    /// Asks the service to pair, and checks that it has signed with the key of the certificate that the link names.
    /// Ends an earlier pairing of this client. From now on the service is polled.
    /// - Returns: what the host's user has to be asked, and what the service wants to know.
    public func pair(
        application: ApplicationInfo, identity: Identity
    ) async throws(PairingFailure) -> ServiceDescription {
        await withdraw()
        let number = (pairing?.number ?? 0) + 1
        let nonce = randomBytes(PairingTranscript.nonceLength)
        let pairing = Pairing(
            number: number, identity: identity,
            machine: PairingClient(
                service: link.id, fingerprint: link.fingerprint, application: application, host: identity.fingerprint,
                nonce: nonce, isOverRelay: link.relay != nil, now: .now))
        self.pairing = pairing
        setAlarm()
        let input = await request(PairingRequestDocument(application: application, identity: identity, nonce: nonce))
        let withdrawal = handle(input, of: number)
        guard self.pairing?.number == number, let prompt = self.pairing?.prompt else {
            // Its place is free for the next attempt, which may come at once.
            await withdrawal?.value
            // The state machine has ended, or another call has taken its place.
            guard case .failure(let failure) = await pairing.outcome.value else { throw .gone }
            throw failure
        }
        return prompt.service
    }

    /// Begins a pairing with an identity of its own, and withdraws it. Nobody is asked.
    func describeSigned() async throws(PairingFailure) -> ServiceDescription {
        let identity: Identity
        do throws(IdentityError) {
            identity = try .ephemeral()
        } catch {
            throw .unreachable(error.description)
        }
        let description = try await pair(
            application: ApplicationInfo(id: "io.sharekit.share", name: "share"), identity: identity)
        await withdraw()
        return description
    }

    /// Sends that the host's user has accepted, with what it has entered. Signs with the identity of `pair`.
    /// - Parameter setup: a value for each of the service's fields.
    /// - Returns: why the values cannot be sent, and the pairing still waits for others; nil if they were sent.
    public func accept(setup: [String: String]) async throws(PairingFailure) -> SetupError? {
        guard let pairing, let prompt = pairing.prompt else { throw .gone }
        do throws(SetupError) {
            _ = try prompt.service.setup(setup)
        } catch {
            return error
        }
        await handle(.userAccepted(prompt, setup: setup), of: pairing.number)?.value
        if self.pairing?.machine.hasEnded == true, case .failure(let failure) = await pairing.outcome.value {
            throw failure
        }
        return nil
    }

    /// Waits until the pairing is granted or over. May be called from `pair` on, also beside the question to the host's
    /// user. Withdraws the pairing when the task is cancelled.
    public func waitForGrant() async throws(PairingFailure) -> ServiceGrant {
        guard let pairing else { throw .gone }
        let result = await withTaskCancellationHandler {
            await pairing.outcome.value
        } onCancel: {
            Task { await self.withdraw() }
        }
        return try result.get()
    }

    /// Ends a pairing that has no session: the host's user does not want to broadcast, or not any more. Returns when
    /// the service knows, after 1 s at most. Errors are ignored, because the service may have gone.
    public func withdraw() async {
        guard let pairing, !pairing.machine.hasEnded, await http.session == nil else { return }
        await handle(.userDeclined, of: pairing.number)?.value
    }

    // MARK: The state machine

    /// Gives an input to the machine of a pairing, if that is the present one, and performs its actions.
    /// - Returns: the request that an action has begun.
    @discardableResult
    func handle(_ input: PairingClient.Input, of number: Int) -> Task<Void, Never>? {
        guard pairing?.number == number, let actions = pairing?.machine.handle(input, now: .now) else { return nil }
        var request: Task<Void, Never>?
        for action in actions {
            switch action {
            case .ask(let prompt):
                pairing?.prompt = prompt
                beginPolls(number)
            case .confirm(let setup, let bytes): request = confirm(setup, bytes, number)
            case .withdraw: request = sendWithdrawal()
            case .paired(let grant): paired(grant)
            case .end(let failure):
                pairing?.stop()
                pairing?.outcome.fulfil(.failure(failure))
            }
        }
        setAlarm()
        return request
    }

    private func paired(_ grant: PairingGrant) {
        pairing?.poll?.cancel()
        pairing?.outcome.fulfil(
            .success(
                ServiceGrant(
                    lease: grant.lease, broadcastURL: grant.broadcastURL, iceServers: pairing?.iceServers ?? [])))
    }

    /// Schedules the only timer for the machine's next deadline.
    private func setAlarm() {
        pairing?.alarm?.cancel()
        guard let number = pairing?.number, let deadline = pairing?.machine.deadline else { return }
        pairing?.alarm = Task { [weak self] in
            guard (try? await Task.sleep(until: deadline)) != nil else { return }
            await self?.handle(.timeout, of: number)
        }
    }

    // MARK: Requests

    /// Sends the request to pair, and checks the service's signature.
    private func request(_ document: PairingRequestDocument) async -> PairingClient.Input {
        let answer: HTTPAnswer
        do throws(SignalingError) {
            answer = try await send(document, .POST, path("/pair"))
        } catch {
            return .failed(PairingFailure(error))
        }
        guard answer.status == 202 else { return .failed(PairingFailure(answer)) }
        guard let place = answer.headers.first(name: "Location"), place.hasPrefix(path("/pair/")),
            let document = answer.document(PairingOfferDocument.self, limit: PairingOfferDocument.sizeLimit),
            let offer = document.offer, let machine = pairing?.machine
        else { return .failed(.malformed) }
        guard let certificate = certificate(document) else { return .failed(.certificateChanged) }
        pairing?.place = place
        pairing?.certificate = certificate
        let signatureIsValid = machine.transcript(of: offer).isSigned(
            offer.signature, by: .service, certificate: certificate)
        return .offered(offer, signatureIsValid: signatureIsValid)
    }

    /// Returns the service's certificate (DER), which has the link's hash.
    private func certificate(_ document: PairingOfferDocument) -> [UInt8]? {
        guard link.flags.contains(.webPKI) || link.relay != nil else { return http.connector.certificate }
        guard let bytes = document.certificate.flatMap({ Base64URL.decode($0) }),
            SHA256Hash(of: bytes).bytes == link.fingerprint
        else { return nil }
        return bytes
    }

    private func confirm(_ setup: [String: String], _ bytes: [UInt8], _ number: Int) -> Task<Void, Never>? {
        guard let place = pairing?.place, let document = acceptance(setup, bytes) else {
            handle(.failed(.malformed), of: number)
            return nil
        }
        return Task {
            do throws(SignalingError) {
                let answer: HTTPAnswer
                do throws(SignalingError) {
                    answer = try await send(document, .PUT, place)
                } catch  where error.code == .connectionLost {
                    // It may be sent again, as the response may have been lost.
                    answer = try await send(document, .PUT, place)
                }
                // The poll tells the reason if the service has ended the pairing meanwhile.
                guard answer.status != 204, answer.status != 404, answer.status != 410 else { return }
                handle(.failed(PairingFailure(answer)), of: number)
            } catch {
                handle(.failed(PairingFailure(error)), of: number)
            }
        }
    }

    /// Signs the acceptance. Over a relay the setup is sealed for the service, and the signature covers it.
    private func acceptance(_ setup: [String: String], _ bytes: [UInt8]) -> PairingAcceptanceDocument? {
        guard let identity = pairing?.identity else { return nil }
        let transcript = pairing?.prompt?.transcript
        let secret = link.secret.map { LinkSecretProof(secret: $0) }
        guard link.relay != nil else {
            let proof = transcript.flatMap { secret?.proof(of: $0) }
            return PairingAcceptanceDocument(setup: setup, signature: identity.signature(over: bytes), proof: proof)
        }
        guard let transcript, let certificate = pairing?.certificate,
            let sealed = SealedSetup.seal(setup, for: certificate, transcript)
        else { return nil }
        let signed = transcript.signedBytes(role: .host, sealedSetup: sealed)
        let proof = secret?.proof(of: transcript, sealedSetup: sealed)
        return PairingAcceptanceDocument(sealed: sealed, signature: identity.signature(over: signed), proof: proof)
    }

    private func sendWithdrawal() -> Task<Void, Never>? {
        guard let place = pairing?.place else { return nil }
        return Task { [http] in _ = try? await http.ask(.DELETE, place, timeout: .seconds(1)) }
    }

    /// Polls until the machine has what it waits for.
    private func beginPolls(_ number: Int) {
        guard pairing?.poll == nil, let place = pairing?.place else { return }
        pairing?.poll = Task { [weak self, http] in
            while !Task.isCancelled {
                let result: Result<HTTPAnswer, SignalingError>
                do throws(SignalingError) {
                    result = .success(try await http.ask(.GET, place, timeout: http.configuration.pollTimeout))
                } catch {
                    result = .failure(error)
                }
                guard !Task.isCancelled, let self else { return }
                if let input = await input(result, number) {
                    await handle(input, of: number)
                    guard case .waiting = input else { return }
                } else {
                    try? await Task.sleep(for: .milliseconds(250))
                }
            }
        }
    }

    /// The machine's input for the response to a poll; nil if the poll has to be repeated, because the service keeps
    /// the pairing for some seconds. The machine ends when nothing is heard for longer.
    private func input(_ result: Result<HTTPAnswer, SignalingError>, _ number: Int) async -> PairingClient.Input? {
        let answer: HTTPAnswer
        switch result {
        case .success(let found): answer = found
        case .failure(let error) where error.code == .connectionLost || error.code == .timedOut: return nil
        case .failure(let error): return .failed(PairingFailure(error))
        }
        switch answer.status {
        case 202: return .waiting
        case 200:
            guard let document = answer.document(PairingGrantDocument<ICEServer>.self), let grant = document.grant
            else {
                return .failed(.malformed)
            }
            guard pairing?.number == number else { return nil }
            pairing?.iceServers = Array(document.iceServers.prefix(16))
            await http.authorize(with: grant.token)
            return .granted(grant)
        case 403: return .refused(answer.problem?.detail ?? "")
        // The service has gone since it was asked to pair.
        case 404: return .failed(.gone)
        case 429: return nil
        // A service that is reached over a relay may be connecting to it again.
        case _ where answer.problem.flatMap({ Problem(rawValue: $0.type) }) == .unreachable: return nil
        default: return .failed(PairingFailure(answer))
        }
    }
}

extension PairingFailure {
    /// A request that was not answered.
    init(_ error: SignalingError) {
        switch error.code {
        case .certificateMismatch: self = .certificateChanged
        case .notAShareHost: self = .malformed
        default: self = .unreachable(error.description)
        }
    }

    /// A response that refuses.
    init(_ answer: HTTPAnswer) {
        guard let problem = answer.problem else {
            self = answer.status == 404 ? .unknownService : .malformed
            return
        }
        switch Problem(rawValue: problem.type) {
        case .notFound: self = answer.status == 404 ? .unknownService : .gone
        case .refused:
            self = .refused(UntrustedText.clean(problem.detail, limit: 256, fallback: "no reason given"))
        case .wrongProof: self = .wrongSecret
        case .unanswered: self = .unanswered
        case .busy, .limited, .queueFull:
            self = .busy(UntrustedText.clean(problem.detail, limit: 256, fallback: "try again later"))
        case .unreachable: self = .unreachable(UntrustedText.clean(problem.detail, limit: 256, fallback: "no reason"))
        case .ended, .replaced: self = .gone
        default: self = .malformed
        }
    }
}
