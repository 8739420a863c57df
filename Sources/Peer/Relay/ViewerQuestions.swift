import Admission
import Identifiers
import Service
import Signaling
import Synchronization

/// The questions to publishers about viewers who knock at the relay. Safe from any thread.
final class ViewerQuestions: Sendable {
    private struct Question {
        let session: SessionID
        let knock: Knock
        let answer: CheckedContinuation<KnockDecision, Never>
    }

    private let session: ServiceSession
    private let questions = Mutex<[KnockID: Question]>([:])

    /// The most viewers of one broadcast about which its publisher is asked at a time.
    private static let limit = 32

    init(_ session: ServiceSession) { self.session = session }

    /// Asks the publisher of a broadcast about a viewer. Ends when the task is cancelled.
    func ask(_ knock: Knock, of session: SessionID) async -> KnockDecision {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let refusal: KnockDecision? = questions.withLock { questions in
                    guard self.session.has(session), !Task.isCancelled else { return .unanswered }
                    guard questions.values.count(where: { $0.session == session }) < Self.limit else {
                        return .refused("too many people ask the host")
                    }
                    questions[knock.id] = Question(session: session, knock: knock, answer: continuation)
                    // Before anything can withdraw it.
                    self.session.send(.viewer(knock), to: session)
                    return nil
                }
                if let refusal { continuation.resume(returning: refusal) }
            }
        } onCancel: {
            guard let question = questions.withLock({ $0.removeValue(forKey: knock.id) }) else { return }
            question.answer.resume(returning: .unanswered)
            self.session.send(.viewerWithdrawn(knock.id), to: session)
        }
    }

    /// - Returns: false if none of the sessions was asked about that viewer.
    func decide(_ decision: KnockDecision, about knock: KnockID, by sessions: [SessionID]) -> Bool {
        let question = questions.withLock { questions in
            questions[knock].map { sessions.contains($0.session) } == true
                ? questions.removeValue(forKey: knock) : nil
        }
        question?.answer.resume(returning: decision)
        return question != nil
    }

    /// Asks a publisher again that has lost its event stream.
    func askAgain(_ sessions: [SessionID]) {
        let open = questions.withLock { $0.values.filter { sessions.contains($0.session) } }
        for question in open { session.send(.viewer(question.knock), to: question.session) }
    }

    /// Ends the questions about viewers of a broadcast that has ended.
    func end(of session: SessionID) {
        let ended = questions.withLock { questions in
            let ended = questions.filter { $0.value.session == session }
            for id in ended.keys { questions[id] = nil }
            return ended.values.map(\.answer)
        }
        for answer in ended { answer.resume(returning: .unanswered) }
    }
}
