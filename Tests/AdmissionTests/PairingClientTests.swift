import Testing

@testable import Admission
@testable import Identifiers

@Suite struct PairingClientTests {
    private let start = ContinuousClock.now
    private let grant = PairingGrant(token: "0123456789abcdef", lease: .seconds(10))

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    private func make() throws -> PairingClient {
        PairingClient(
            service: try #require(conference), fingerprint: fingerprint(2), application: budget, host: fingerprint(1),
            nonce: nonce(7), now: start)
    }

    private func offer(_ description: ServiceDescription) -> PairingOffer {
        PairingOffer(nonce: nonce(8), signature: [], service: description)
    }

    /// Returns a client whose user is asked.
    private func asking(
        _ fields: [SetupField] = []
    ) throws -> (client: PairingClient, prompt: PairingClient.Prompt) {
        var client = try make()
        let actions = client.handle(.offered(offer(try describe(fields)), signatureIsValid: true), now: start)
        guard case .ask(let prompt) = try #require(actions.first), actions.count == 1 else {
            throw PairingFailure.malformed
        }
        return (client, prompt)
    }

    private func confirming() throws -> PairingClient {
        var (client, prompt) = try asking()
        _ = client.handle(.userAccepted(prompt, setup: [:]), now: start)
        return client
    }

    @Test func theUserIsAskedThenTheHostSigns() throws {
        var (client, prompt) = try asking()
        #expect(prompt.transcript.hostNonce == nonce(7) && prompt.transcript.serviceNonce == nonce(8))
        let actions = client.handle(.userAccepted(prompt, setup: [:]), now: at(100))
        #expect(actions == [.confirm(setup: [:], bytesToSign: prompt.transcript.signedBytes(role: .host))])
        #expect(client.handle(.granted(grant), now: at(101)) == [.paired(grant)])
        #expect(client.isPaired && client.deadline == at(111))
        #expect(client.handle(.published, now: at(105)).isEmpty && client.isPaired && client.deadline == nil)
        #expect(client.handle(.failed(.gone), now: at(999)) == [.end(.gone)] && client.hasEnded)
    }

    @Test func anOfferOfAnotherServiceEndsThePairing() throws {
        var client = try make()
        #expect(
            client.handle(.offered(offer(try describe()), signatureIsValid: false), now: start)
                == [.withdraw, .end(.wrongSignature)])
        client = try make()
        let other = try ServiceDescription(id: #require(ServiceID("com.example.other")), name: "Conference")
        #expect(
            client.handle(.offered(offer(other), signatureIsValid: true), now: start) == [.withdraw, .end(.malformed)])
    }

    @Test func aGrantThatNobodyAskedForEndsThePairing() throws {
        var early = try make()
        #expect(early.handle(.granted(grant), now: start) == [.withdraw, .end(.malformed)])
        var (client, prompt) = try asking()
        #expect(client.handle(.granted(grant), now: start) == [.withdraw, .end(.malformed)])
        #expect(client.handle(.userAccepted(prompt, setup: [:]), now: start).isEmpty && !client.isPaired)
    }

    @Test func anAnswerToAnotherPromptIsIgnored() throws {
        var (client, prompt) = try asking()
        let other = PairingClient.Prompt(
            service: prompt.service,
            transcript: PairingTranscript(
                application: budget, service: prompt.service.id, serviceFingerprint: fingerprint(2),
                hostFingerprint: fingerprint(1), hostNonce: nonce(6), serviceNonce: nonce(8)))
        #expect(client.handle(.userAccepted(other, setup: [:]), now: start).isEmpty)
        #expect(client.handle(.offered(offer(prompt.service), signatureIsValid: true), now: start).isEmpty)
        #expect(!client.handle(.userAccepted(prompt, setup: [:]), now: start).isEmpty)
    }

    @Test func theUserIsAskedAgainForAMissingField() throws {
        var (client, prompt) = try asking([SetupField(name: "title", label: "Title")])
        #expect(client.handle(.userAccepted(prompt, setup: [:]), now: start) == [.ask(prompt)])
        let actions = client.handle(.userAccepted(prompt, setup: ["title": " All\nhands"]), now: start)
        guard case .confirm(let setup, _) = try #require(actions.first) else {
            Issue.record("\(actions)")
            return
        }
        #expect(setup == ["title": "All hands"])
    }

    @Test func theUserMayDeclineAtAnyTime() throws {
        for client in [try make(), try asking().client, try confirming()] {
            var client = client
            #expect(client.handle(.userDeclined, now: start) == [.withdraw, .end(.declined)])
            #expect(client.handle(.userDeclined, now: start).isEmpty)
        }
    }

    @Test func aRefusalIsCleaned() throws {
        var client = try confirming()
        #expect(client.handle(.refused("no\u{1B}[31m"), now: start) == [.end(.refused("no[31m"))])
        client = try confirming()
        #expect(client.handle(.refused("\u{200B}"), now: start) == [.end(.refused("no reason given"))])
    }

    @Test func everyStateEndsByItself() throws {
        var requesting = try make()
        #expect(requesting.deadline == at(10) && requesting.handle(.timeout, now: at(9)).isEmpty)
        #expect(requesting.handle(.timeout, now: at(10)) == [.withdraw, .end(.timedOut)])

        for (client, limit) in [(try asking().client, 170.0), (try confirming(), 65)] {
            var silent = client
            #expect(silent.deadline == at(25))
            #expect(silent.handle(.timeout, now: at(25)) == [.withdraw, .end(.timedOut)])
            var client = client
            for second in stride(from: 20.0, to: limit, by: 20) {
                #expect(client.handle(.waiting, now: at(second)).isEmpty)
                #expect(client.handle(.timeout, now: at(second)).isEmpty)
            }
            #expect(client.deadline == at(limit))
            #expect(client.handle(.timeout, now: at(limit)) == [.withdraw, .end(.timedOut)])
            #expect(client.deadline == nil)
        }
        var paired = try confirming()
        _ = paired.handle(.granted(grant), now: at(1))
        #expect(paired.handle(.timeout, now: at(11)) == [.withdraw, .end(.timedOut)] && !paired.isPaired)
    }

    /// The service still knows a pairing when the host's user has no more time.
    @Test func theHostsLimitsAreWithinTheServices() {
        let (client, table) = (PairingClient.Limits(), PairingTable.Limits())
        #expect(client.prompt + client.request <= table.approvals.signature && client.answer > table.approvals.answer)
    }
}
