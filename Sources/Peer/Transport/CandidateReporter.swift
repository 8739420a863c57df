package import EventLoop
import ICETransport
import LinuxRuntime
package import MediaCore
package import SessionDescription

/// Hands a transport's local candidates to signalling: first those that an answer waits for, then later ones (trickle
/// ICE, RFC 8838). Confined to the network loop.
package final class CandidateReporter {
    package typealias Handler = (_ candidates: [ICECandidate], _ isComplete: Bool) -> Void

    private let loop: EventLoop
    private let transport: SecureTransport
    private var wanted: ICECandidate.Kind?
    private var onGathered: Handler?
    private var patience: LoopTimer?
    /// How many candidates the answer has.
    private var answered = 0
    private var onLate: Handler?
    private var lateTimer: LoopTimer?

    /// Candidates that come within this time are reported together.
    private static let batchInterval = MediaDuration.milliseconds(20)

    package init(loop: EventLoop, transport: SecureTransport) {
        self.loop = loop
        self.transport = transport
    }

    /// Calls back once, with the candidates and whether they are all: at once if gathering is over, else when a
    /// candidate of the wanted kind has come or `patience` is over.
    package func whenGathered(patience: MediaDuration, wanted: ICECandidate.Kind?, _ body: @escaping Handler) {
        self.wanted = wanted
        onGathered = body
        if transport.hasGathered || hasWanted { return report() }
        let box = WeakBox(self)
        let timer = loop.makeTimer { box.value?.report() }
        timer.set(MonotonicClock.now + patience)
        self.patience = timer
    }

    /// After `whenGathered`: calls back with all candidates that came later, each time that there are more, and at the
    /// end.
    package func trickle(_ body: @escaping Handler) {
        onLate = body
        let box = WeakBox(self)
        lateTimer?.close()
        lateTimer = loop.makeTimer { box.value?.reportLate() }
        if transport.hasGathered || transport.localCandidates.count > answered { reportLate() }
    }

    /// Gives whoever waits the candidates that were found, and ends trickling: for a restart and at the end.
    package func reset() {
        report()
        onLate = nil
        lateTimer?.close()
        lateTimer = nil
    }

    package func foundCandidate() {
        if onGathered != nil, hasWanted { report() }
        if onLate != nil { lateTimer?.set(MonotonicClock.now + Self.batchInterval) }
    }

    package func finishedGathering() {
        report()
        reportLate()
    }

    private var hasWanted: Bool {
        wanted.map { kind in transport.localCandidates.contains { $0.kind == kind } } ?? false
    }

    private func report() {
        patience?.close()
        patience = nil
        guard let body = onGathered else { return }
        onGathered = nil
        answered = transport.localCandidates.count
        body(transport.localCandidates, transport.hasGathered)
    }

    private func reportLate() {
        guard let onLate else { return }
        let isComplete = transport.hasGathered
        onLate(Array(transport.localCandidates.dropFirst(answered)), isComplete)
        if isComplete { self.onLate = nil }
    }
}
