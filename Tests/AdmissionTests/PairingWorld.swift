import MediaCore
import Testing

@testable import Admission
@testable import Identifiers
@testable import Identity

/// One host, one service and an attacker who is the network between them.
///
/// The attacker knows every message that was ever sent. It delivers each of them never, once or often, at any time, and
/// takes signatures from one message into another. It opens pairings in the host's name. It has a certificate of its
/// own, with which it answers as the service. Either side may crash: it is then replaced by a new one without memory.
///
/// Signatures are stand-ins: one is valid for those bytes that equal the signed ones, if the keys are equal. Opening
/// number `i` has ticket, question, service nonce, token and session number `i`.
///
/// The file is long, as the exploration needs every step of all parties and of the attacker in one copyable value.
struct PairingWorld {
    /// Each is a mistake that the exploration has to find.
    enum Flaw: CaseIterable {
        case serviceNonceNotSigned
        case hostNonceNotSigned
        case applicationNotSigned
        case roleNotSigned
        case certificateNotPinned
        case userNotAsked
        case userOfAnEarlierPrompt
        case hostSignatureNotChecked
        case serviceSignatureNotChecked
        case pollsForgotten
        case leaseForgotten
        case silenceForgotten
        case hostLeaseForgotten
        case hostSilenceForgotten
    }

    /// How many there are in all, one after the other.
    struct Bounds: Sendable {
        var openings = 1
        var hosts = 1
        var services = 1
        /// Whether the attacker opens pairings for another application, too.
        var isForging = false
    }

    enum Step: Hashable {
        // The host
        case offer(Int, isSigned: Bool)
        case userAccepts
        case userAcceptedBefore(host: Int, opening: Int)
        case userDeclines
        case grant(Int)
        case refusal(Int)
        case gone(Int)
        case published(Int)
        case impostorAnswers
        case hostCrashes
        // The service
        case open(host: Int, isForged: Bool)
        case sign(Int, isSigned: Bool)
        case poll(Int, isAnswered: Bool)
        case accept(Int)
        case refuse(Int)
        case withdraw(Int)
        case publish(Int)
        case serviceCrashes
        // Time
        case tick(withMedia: Bool)
    }

    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    /// What the attacker has seen of one opening.
    private struct Opening {
        let host: Int
        /// The attacker has opened it with another application's name.
        let isForged: Bool
        /// The numbers of hosts that have signed a transcript with this opening's nonce.
        var signedBy: Set<Int> = []
        /// The numbers of hosts whose user has accepted a prompt with this opening's nonce.
        var acceptedBy: Set<Int> = []
        var isGrantSeen = false
        var isRefusalSeen = false
        var isGoneSeen = false
        var isWithdrawalSeen = false
        var isPublicationSeen = false
        var isAnswerSeen = false
        /// For how many ticks the service has the grant, but the host is not paired with it.
        var aloneFor = 0
        /// For how many ticks the question is open without a poll.
        var unpolledFor = 0
    }

    static let lease = 2
    static let silence = 2
    private static let abandoned = 2
    private static let hostSilence = 3
    private static let impostorToken = "a token of the impostor"
    private static let hostPrint = fingerprint(1)
    private static let start = ContinuousClock.now

    private static func tableLimits(_ flaw: Flaw?) -> PairingTable.Limits {
        PairingTable.Limits(
            signature: .seconds(4), answer: .seconds(3), abandoned: .seconds(flaw == .pollsForgotten ? 100 : abandoned),
            lease: .seconds(flaw == .leaseForgotten ? 100 : lease),
            silence: .seconds(flaw == .silenceForgotten ? 100 : silence), kept: .seconds(3), refusal: .seconds(1),
            broadcasts: 1)
    }
    private static var clientLimits: PairingClient.Limits {
        PairingClient.Limits(
            request: .seconds(2), prompt: .seconds(3), answer: .seconds(4), silence: .seconds(hostSilence))
    }

    private let flaw: Flaw?
    private let bounds: Bounds
    /// Whether both sides have the same certificate: a host that pairs with a service on its own computer.
    private let isShared: Bool
    private let description: ServiceDescription
    private let signedBytes = SignedBytes()

    private var now = Self.start
    private var openings: [Opening] = []

    private var client: PairingClient
    private var host = 0
    /// The pairing whose resource the host polls.
    private var ticket: Int?
    private var prompt: PairingClient.Prompt?
    private var token: Int?
    /// Ticks without media; from then on the host's transport ends the session.
    private var unheardMedia = 0
    private var hostAloneFor = 0
    private var unheardFor = 0

    private var table: PairingTable
    private var service = 0
    /// What the table has asked and not withdrawn, and the sessions that it has not ended.
    private var questions: Set<KnockID> = []
    private var sessions: Set<SessionID> = []

    /// Both sides have the same session.
    var isBroadcasting: Bool {
        guard let token, client.state == .published else { return false }
        return lease(token)?.state == .open(session(token))
    }

    init(flaw: Flaw? = nil, isShared: Bool = false, bounds: Bounds = Bounds()) throws {
        self.flaw = flaw
        self.isShared = isShared
        self.bounds = bounds
        description = try describe()
        client = Self.client(0, isShared: isShared, service: description.id, now: Self.start)
        table = PairingTable(service: description, limits: Self.tableLimits(flaw))
    }

    private static func client(
        _ number: Int, isShared: Bool, service: ServiceID, now: ContinuousClock.Instant
    ) -> PairingClient {
        PairingClient(
            service: service, fingerprint: isShared ? hostPrint : fingerprint(2), application: budget,
            host: hostPrint, nonce: nonce(UInt8(number)), limits: clientLimits, now: now)
    }

    // MARK: Names

    private static let names = "tqs".map { kind in (0..<4).map { identifier(kind, $0) } }

    private func ticket(_ number: Int) -> KnockID { Self.names[0][number] }
    private func question(_ number: Int) -> KnockID { Self.names[1][number] }
    private func session(_ number: Int) -> SessionID { Self.names[2][number] }
    private func token(_ number: Int) -> String { "the token of pairing \(number)" }
    private func lease(_ number: Int) -> PairingLeases.Lease? { table.leases.lease(token(number)) }

    // MARK: Signatures

    /// The transcript as the host with this number, or the service for it, sees it.
    private func transcript(host: Int, opening: Int, isForged: Bool = false) -> PairingTranscript {
        PairingTranscript(
            application: isForged ? ApplicationInfo(id: "com.example.evil", name: "Evil") : budget,
            service: description.id, serviceFingerprint: isShared ? Self.hostPrint : fingerprint(2),
            hostFingerprint: Self.hostPrint, hostNonce: nonce(UInt8(host)),
            serviceNonce: nonce(UInt8(100 + opening)))
    }

    /// The bytes that a side signs, made once.
    private final class SignedBytes {
        var known: [Int: [UInt8]] = [:]
    }

    private func bytes(host: Int, opening: Int, isForged: Bool, _ role: PairingRole) -> [UInt8] {
        let number = host << 8 | opening << 4 | (isForged ? 2 : 0) | (role == .host ? 1 : 0)
        if let known = signedBytes.known[number] { return known }
        let bytes = bytes(transcript(host: host, opening: opening, isForged: isForged), role)
        signedBytes.known[number] = bytes
        return bytes
    }

    private func bytes(_ transcript: PairingTranscript, _ role: PairingRole) -> [UInt8] {
        let isServiceNonceLeftOut = flaw == .serviceNonceNotSigned
        let isHostNonceLeftOut = flaw == .hostNonceNotSigned
        let isApplicationLeftOut = flaw == .applicationNotSigned
        guard isServiceNonceLeftOut || isHostNonceLeftOut || isApplicationLeftOut || flaw == .roleNotSigned else {
            return transcript.signedBytes(role: role)
        }
        let changed = PairingTranscript(
            application: isApplicationLeftOut ? budget : transcript.application, service: transcript.service,
            serviceFingerprint: transcript.serviceFingerprint, hostFingerprint: transcript.hostFingerprint,
            hostNonce: isHostNonceLeftOut ? [] : transcript.hostNonce,
            serviceNonce: isServiceNonceLeftOut ? [] : transcript.serviceNonce)
        return changed.signedBytes(role: flaw == .roleNotSigned ? .host : role)
    }

    /// Returns whether the attacker has a signature of these bytes with the key of `role`.
    private func hasSignature(of wanted: [UInt8], by role: PairingRole) -> Bool {
        for (number, opening) in openings.enumerated() {
            if role == .service || isShared {
                let signed = bytes(host: opening.host, opening: number, isForged: opening.isForged, .service)
                if signed == wanted { return true }
            }
            if role == .host || isShared {
                for host in opening.signedBy
                where bytes(host: host, opening: number, isForged: false, .host) == wanted { return true }
            }
        }
        return false
    }

    // MARK: Steps

    /// Everything that may happen next.
    var steps: [Step] {
        var steps: [Step] = [.tick(withMedia: false)]
        if isBroadcasting { steps.append(.tick(withMedia: true)) }
        if host + 1 < bounds.hosts { steps.append(.hostCrashes) }
        if service + 1 < bounds.services { steps.append(.serviceCrashes) }
        if openings.count < bounds.openings {
            for number in 0...host {
                steps.append(.open(host: number, isForged: false))
                if bounds.isForging { steps.append(.open(host: number, isForged: true)) }
            }
        }
        if !client.hasEnded {
            steps += [.impostorAnswers, .userDeclines]
            if prompt != nil { steps.append(.userAccepts) }
        }
        for (number, opening) in openings.enumerated() {
            if !client.hasEnded {
                let expected = bytes(host: host, opening: number, isForged: false, .service)
                steps.append(.offer(number, isSigned: false))
                if hasSignature(of: expected, by: .service) { steps.append(.offer(number, isSigned: true)) }
                for other in opening.acceptedBy { steps.append(.userAcceptedBefore(host: other, opening: number)) }
                if ticket == number {
                    if opening.isGrantSeen { steps.append(.grant(number)) }
                    if opening.isRefusalSeen { steps.append(.refusal(number)) }
                    if opening.isGoneSeen { steps.append(.gone(number)) }
                }
                if opening.isAnswerSeen { steps.append(.published(number)) }
            }
            guard let entry = table.approvals.entries[ticket(number)] else {
                steps.append(.poll(number, isAnswered: true))
                continue
            }
            let expected = bytes(host: opening.host, opening: number, isForged: opening.isForged, .host)
            steps.append(.sign(number, isSigned: false))
            if hasSignature(of: expected, by: .host) { steps.append(.sign(number, isSigned: true)) }
            if entry.question != nil { steps += [.accept(number), .refuse(number)] }
            steps += [.poll(number, isAnswered: true), .poll(number, isAnswered: false)]
            if opening.isWithdrawalSeen { steps.append(.withdraw(number)) }
            if opening.isPublicationSeen { steps.append(.publish(number)) }
        }
        return steps
    }

    mutating func take(_ step: Step) throws(Violation) {
        switch step {
        case .offer(let number, let isSigned):
            if case .requesting = client.state { ticket = number }
            let offer = PairingOffer(
                nonce: nonce(UInt8(100 + number)), signature: [], service: description)
            try hostHandles(
                .offered(offer, signatureIsValid: isSigned || flaw == .serviceSignatureNotChecked))
        case .userAccepts: try userAccepts()
        case .userAcceptedBefore(let host, let opening):
            let transcript = transcript(host: host, opening: opening)
            var earlier = PairingClient.Prompt(service: description, transcript: transcript)
            if flaw == .userOfAnEarlierPrompt, let prompt { earlier = prompt }
            try hostHandles(.userAccepted(earlier, setup: [:]))
        case .userDeclines: try hostHandles(.userDeclined)
        case .grant(let number):
            try hostHandles(
                .granted(
                    PairingGrant(
                        token: token(number),
                        lease: .seconds(flaw == .hostLeaseForgotten ? 100 : Self.lease))))
        case .refusal: try hostHandles(.refused("no"))
        case .gone: try hostHandles(.failed(.gone))
        case .published(let number):
            if number == token {
                if client.state != .published {
                    unheardMedia = 0
                    hostAloneFor = 0
                }
                try hostHandles(.published)
            }
        case .impostorAnswers: try impostorAnswers()
        case .hostCrashes:
            host += 1
            client = Self.client(host, isShared: isShared, service: description.id, now: now)
            (ticket, prompt, token) = (nil, nil, nil)
            (unheardMedia, hostAloneFor, unheardFor) = (0, 0, 0)
        case .open(let host, let isForged): open(host, isForged: isForged)
        case .sign(let number, let isSigned):
            let (_, actions) = table.sign(
                ticket(number), signatureIsValid: isSigned || flaw == .hostSignatureNotChecked, setup: [:],
                question: question(number), now: now)
            perform(actions)
        case .poll(let number, let isAnswered): try poll(number, isAnswered: isAnswered)
        case .accept(let number): try accept(number)
        case .refuse(let number):
            questions.remove(question(number))
            perform(table.decide(question(number), .refused(nil), token: "", now: now))
        case .withdraw(let number): perform(table.withdraw(ticket(number), now: now))
        case .publish(let number): try publish(number)
        case .serviceCrashes:
            service += 1
            table = PairingTable(service: description, limits: Self.tableLimits(flaw))
            questions = []
            sessions = []
            for number in openings.indices { openings[number].aloneFor = 0 }
        case .tick(let withMedia): try tick(withMedia: withMedia)
        }
        try checkActions()
    }

    // MARK: The host

    private mutating func userAccepts() throws(Violation) {
        guard let prompt else { return }
        let number = Int(prompt.transcript.serviceNonce.first ?? 0) - 100
        if openings.indices.contains(number) { openings[number].acceptedBy.insert(host) }
        try hostHandles(.userAccepted(prompt, setup: [:]))
    }

    private mutating func impostorAnswers() throws(Violation) {
        guard flaw == .certificateNotPinned else { return try hostHandles(.failed(.certificateChanged)) }
        // The signature is that of the impostor's key.
        let offer = PairingOffer(nonce: nonce(99), signature: [], service: description)
        try hostHandles(.offered(offer, signatureIsValid: false))
        try hostHandles(.granted(PairingGrant(token: Self.impostorToken, lease: .seconds(Self.lease))))
    }

    private mutating func hostHandles(_ input: PairingClient.Input) throws(Violation) {
        switch input {
        case .timeout, .userAccepted, .userDeclined: break
        default: unheardFor = 0
        }
        for action in client.handle(input, now: now) {
            switch action {
            case .ask(let asked):
                prompt = asked
                let number = Int(asked.transcript.serviceNonce.first ?? 0) - 100
                guard openings.indices.contains(number), openings[number].host == host, !openings[number].isForged
                else { throw Violation(description: "the host's user is asked for what the service has not offered") }
                if flaw == .userNotAsked { try hostHandles(.userAccepted(asked, setup: [:])) }
            case .confirm(_, let bytesToSign):
                guard let prompt else { throw Violation(description: "the host signs without a prompt") }
                self.prompt = nil
                guard bytesToSign == prompt.transcript.signedBytes(role: .host) else {
                    throw Violation(description: "the host signs something else than the transcript")
                }
                if let ticket { openings[ticket].signedBy.insert(host) }
            case .withdraw: if let ticket { openings[ticket].isWithdrawalSeen = true }
            case .paired(let grant): try hostIsPaired(grant)
            case .end:
                prompt = nil
                token = nil
                hostAloneFor = 0
            }
        }
    }

    private mutating func hostIsPaired(_ grant: PairingGrant) throws(Violation) {
        guard let number = openings.indices.first(where: { token($0) == grant.token }) else {
            throw Violation(description: "the host is paired with a service whose certificate is not the pinned one")
        }
        guard openings[number].acceptedBy.contains(host) else {
            throw Violation(description: "the host is paired, but its user has not accepted this prompt")
        }
        guard openings[number].host == host, !openings[number].isForged else {
            throw Violation(description: "the host is paired, but the service has granted something else")
        }
        token = number
        openings[number].isPublicationSeen = true
        openings[number].aloneFor = 0
    }

    // MARK: The service

    private mutating func open(_ host: Int, isForged: Bool) {
        let number = openings.count
        openings.append(Opening(host: host, isForged: isForged))
        let request = PairingTable.Request(
            transcript: transcript(host: host, opening: number, isForged: isForged), certificate: [],
            address: PeerAddress("192.0.2.1"))
        perform(table.open(request, ticket: ticket(number), now: now).1)
    }

    private mutating func poll(_ number: Int, isAnswered: Bool) throws(Violation) {
        switch table.beginPoll(ticket(number), question: question(number), now: now).0 {
        case .waiting:
            table.endPoll(ticket(number), now: now)
            openings[number].unpolledFor = 0
            if isAnswered, ticket == number { try hostHandles(.waiting) }
        case .outcome(.granted): openings[number].isGrantSeen = true
        case .outcome(.refused): openings[number].isRefusalSeen = true
        case .outcome, .unknown: openings[number].isGoneSeen = true
        }
    }

    private mutating func accept(_ number: Int) throws(Violation) {
        questions.remove(question(number))
        perform(table.decide(question(number), .accepted, token: token(number), now: now))
        guard lease(number) != nil else { return }
        let opening = openings[number]
        guard opening.signedBy.contains(opening.host), !opening.isForged else {
            throw Violation(description: "the service has granted without the host's signature over its own nonce")
        }
        guard opening.acceptedBy.contains(opening.host) else {
            throw Violation(description: "the service has granted, but the host's user has not accepted")
        }
    }

    private mutating func publish(_ number: Int) throws(Violation) {
        if case .opening = table.beginSession(token: token(number), fingerprint: fingerprint(3), now: now) {
            throw Violation(description: "a session of another certificate has begun")
        }
        guard case .opening = table.beginSession(token: token(number), fingerprint: Self.hostPrint, now: now) else {
            return
        }
        guard table.sessionOpened(token: token(number), session(number), now: now) else {
            throw Violation(description: "a session that has begun cannot be opened")
        }
        openings[number].aloneFor = 0
        openings[number].isAnswerSeen = true
        sessions.insert(session(number))
    }

    private mutating func perform(_ actions: [PairingTable.Action]) {
        for action in actions {
            switch action {
            case .ask(let request): questions.insert(request.id)
            case .withdraw(let question, _): questions.remove(question)
            case .effect(.endSession(let session, _)): sessions.remove(session)
            case .endPolls, .count: break
            }
        }
    }

    /// The service's user and its sessions know of everything that the table has ended.
    private func checkActions() throws(Violation) {
        for number in openings.indices {
            guard (table.approvals.entries[ticket(number)]?.question != nil) == questions.contains(question(number))
            else {
                throw Violation(description: "the service's user is asked something else than the table waits for")
            }
            let isOpen = lease(number)?.state == .open(session(number))
            guard isOpen == sessions.contains(session(number)) else {
                throw Violation(description: "other sessions run than the table knows")
            }
        }
        guard table.broadcastCount <= 1 else { throw Violation(description: "there are too many broadcasts") }
    }

    // MARK: Time

    private mutating func tick(withMedia: Bool) throws(Violation) {
        if withMedia, let token { table.mediaReceived(session(token), now: now) }
        unheardMedia = withMedia ? 0 : min(unheardMedia + 1, Self.silence)
        now += .seconds(1)
        unheardFor += 1
        if client.state == .published, unheardMedia >= Self.silence, flaw != .hostSilenceForgotten {
            try hostHandles(.failed(.gone))
        }
        if let deadline = client.deadline, deadline <= now { try hostHandles(.timeout) }
        if let deadline = table.nextDeadline, deadline <= now {
            perform(table.advance(now: now))
        }
        guard table.nextDeadline.map({ $0 > now }) ?? true, client.deadline.map({ $0 > now }) ?? true else {
            throw Violation(description: "a deadline is over, but nothing has happened")
        }
        try checkTimes()
    }

    private mutating func checkTimes() throws(Violation) {
        if let token, client.isPaired, lease(token) == nil { hostAloneFor += 1 } else { hostAloneFor = 0 }
        guard hostAloneFor < (client.state == .published ? Self.silence : Self.lease) else {
            throw Violation(description: "the host stays paired alone")
        }
        switch client.state {
        case .requesting, .asking, .confirming:
            guard unheardFor < Self.hostSilence else {
                throw Violation(description: "the host waits for a service that says nothing")
            }
        case .paired, .published, .ended: unheardFor = 0
        }
        for number in openings.indices {
            if let lease = lease(number), !(client.isPaired && token == number) {
                openings[number].aloneFor += 1
                guard openings[number].aloneFor < (lease.state == .unused ? Self.lease : Self.silence) else {
                    throw Violation(description: "the service keeps a grant whose host is not paired")
                }
            } else {
                openings[number].aloneFor = 0
            }
            guard table.approvals.entries[ticket(number)]?.question != nil else {
                openings[number].unpolledFor = 0
                continue
            }
            openings[number].unpolledFor += 1
            guard openings[number].unpolledFor < Self.abandoned else {
                throw Violation(description: "the service's user is asked for a host that has gone")
            }
        }
    }
}

// MARK: The state as a key

extension PairingWorld {
    /// Equal for worlds in which the same can happen. Times are relative, so that the number of states is finite.
    var key: [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(64)
        func add(_ value: Int?) { key.append(UInt8(clamping: (value ?? -1) + 1)) }
        func add(_ instant: ContinuousClock.Instant) { add(Int((instant - now) / .seconds(1)) + 100) }
        func add(_ flags: Bool...) { key.append(flags.reduce(0) { $0 << 1 | ($1 ? 1 : 0) }) }
        add(host)
        add(service)
        add(ticket)
        add(token)
        add(unheardMedia)
        add(hostAloneFor)
        add(unheardFor)
        switch client.state {
        case .requesting(let until):
            add(1)
            add(until)
        case .asking(let prompt, let until), .confirming(let prompt, let until):
            add(client.isAsking ? 2 : 3)
            add(until)
            add(client.heardAt)
            add(prompt.transcript.serviceNonce.first.map(Int.init))
        case .paired(let until):
            add(4)
            add(until)
        case .published: add(5)
        case .ended: add(6)
        }
        for (number, opening) in openings.enumerated() {
            add(opening.host)
            add(
                opening.isForged, opening.isGrantSeen, opening.isRefusalSeen, opening.isGoneSeen,
                opening.isWithdrawalSeen, opening.isPublicationSeen, opening.isAnswerSeen)
            for host in 0..<bounds.hosts { add(opening.signedBy.contains(host), opening.acceptedBy.contains(host)) }
            add(opening.aloneFor)
            add(opening.unpolledFor)
            if let entry = table.approvals.entries[ticket(number)] {
                switch entry.state {
                case .unsigned: add(1)
                case .asked, .abandoned: add(2)
                case .finished(let outcome):
                    switch outcome {
                    case .granted: add(3)
                    case .refused: add(4)
                    default: add(5)
                    }
                }
                add(entry.deadline)
                if !entry.isOver { add(entry.unpolledSince) }
            } else {
                add(0)
            }
            if let lease = lease(number) {
                add(lease.state == .unused ? 1 : 2)
                add(lease.deadline)
            } else {
                add(0)
            }
        }
        if let refusal = table.approvals.refusals[Self.hostPrint], refusal.until > now {
            add(refusal.until)
        } else {
            add(0)
        }
        return key
    }
}

extension PairingClient {
    fileprivate var isAsking: Bool { if case .asking = state { true } else { false } }
}
