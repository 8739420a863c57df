import EventLoop
import ICETransport
import LinuxRuntime
import MediaCore
import PeerConnection
import PeerEngine
import SessionDescription

extension ViewerConnection {
    /// A viewer's media on the network loop: the stream that it receives, and its recovery from outages
    /// (`OutageRecovery`). The connection to the next server takes it over, unless the sink is handed over.
    final class Media {
        let stream: ReceiveStream
        /// The way to the sink; nil for a sink that forwards packets.
        let input: SinkInput?
        /// The connection that has opened it.
        private let number: Int
        /// The connection that has it now.
        private(set) var owner: Int
        private weak var session: ViewerSession?
        private var recovery = OutageRecovery()
        private let timer: LoopTimer
        /// This machine's addresses at the beginning of the last attempt to reconnect.
        private var addressesAtAttempt: [String] = []

        init(of session: ViewerSession, _ number: Int) {
            let (loop, box) = (session.loop, WeakBox<Media>())
            (self.number, owner, self.session) = (number, number, session)
            input = session.sinks?.makeInput(loop) { [weak session] in session?.handle(.firstFrame(number)) }
            stream = ReceiveStream(
                loop: loop, sink: input ?? session.sink,
                packetCapacity: session.resources?.isOneOfMany == true ? 256 : 4_096,
                report: { box.value?.handle($0) })
            timer = loop.makeTimer { box.value?.timeout() }
            box.value = self
        }

        /// Begins anew with another server, as if nothing had been lost.
        func moveOn(to owner: Int) {
            guard !stream.isClosed else { return }
            self.owner = owner
            stream.closeConnection()
            recovery = OutageRecovery()
            timer.set(nil)
        }

        /// Applies the server's answer.
        func begin(_ answer: Answer) {
            do throws(EndReason) { try stream.begin(answer) } catch { end(error) }
        }

        /// - Parameter done: called on the loop when all sockets and the sink are closed.
        func close(_ done: @escaping () -> Void) {
            timer.close()
            stream.close(done)
        }

        private func emit(_ event: ViewerSessionEvent) { session?.handle(event, ofMedia: number) }

        private func end(_ reason: EndReason) { session?.handle(.ended(owner, ViewerFailure(reason))) }

        // MARK: Events

        private func handle(_ event: ReceiveStream.Event) {
            switch event {
            case .connected(let path):
                if let outage = recovery.outage(MonotonicClock.now) {
                    resume(path, after: outage)
                } else {
                    emit(.connected(path: path))
                }
            case .interrupted(let lastHeard):
                guard !recovery.isInterrupted else { return }
                emit(.interrupted)
                recover(.interrupted(lastHeard: lastHeard))
            case .resumed(let path, let silence): resume(path, after: silence)
            case .keysNeeded: session?.askForKeys()
            case .notice(let notice): session?.handle(.report(owner, .notice(notice), ofAny: true))
            // Anybody may have spoiled the handshake. During an outage the next attempt follows.
            case .ended(let reason) where reason.code == .noRoute || reason.code == .failed:
                recover(.noPair) { _ in reason }
            case .ended(let reason): end(reason)
            }
        }

        private func resume(_ path: String, after silence: MediaDuration) {
            guard recovery.isInterrupted else { return }
            recover(.heard)
            emit(.resumed(path: path, after: silence))
        }

        // MARK: Recovery

        /// - Parameter reason: returns the reason for the session's end, used if the attempt was the last.
        func attemptEnded(
            _ result: OutageRecovery.AttemptResult, of connection: Int, reason: (OutageRecovery.End) -> EndReason
        ) {
            if connection == owner { recover(.attemptEnded(result), reason: reason) }
        }

        /// - Parameter reason: the reason for the session's end, used if recovery decides that the host is gone.
        func eventStreamRefused(_ reason: EndReason, of connection: Int) {
            guard connection == owner else { return }
            recover(.eventStreamRefused(silence: stream.connection?.silence ?? .seconds(2))) { _ in reason }
        }

        /// - Parameter reason: returns the reason for the session's end, used if recovery ends it.
        private func recover(
            _ input: OutageRecovery.Input, reason: (OutageRecovery.End) -> EndReason = { _ in .hostIsSilent }
        ) {
            guard !stream.isClosed else { return }
            let actions = recovery.handle(input, now: MonotonicClock.now)
            timer.set(recovery.deadline)
            for action in actions { perform(action, reason) }
        }

        private func timeout() {
            let addressesChanged =
                recovery.watchesAddresses && ICEAgent.localInterfaceAddresses() != addressesAtAttempt
            recover(.timeout(addressesChanged: addressesChanged))
        }

        private func perform(_ action: OutageRecovery.Action, _ reason: (OutageRecovery.End) -> EndReason) {
            switch action {
            case .report(let outage): emit(.waiting(outage))
            case .attempt(let attempt, let timeout):
                addressesAtAttempt = ICEAgent.localInterfaceAddresses()
                session?.handle(.recovery(source: number, .attempt(attempt, timeout: timeout)))
            case .cleanUp:
                stream.connection?.path.dropUnansweredRestart()
                session?.handle(.recovery(source: number, .closeConnections))
            case .end(let end): self.end(reason(end))
            }
        }
    }
}
