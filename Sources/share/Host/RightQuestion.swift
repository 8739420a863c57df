import CommandSupport
import Glibc
import Host
import Identifiers
import Identity
import MediaCore

/// Asks the host's user whether a viewer may do more than watch.
struct RightQuestion: Sendable {
    let prompt: Prompt
    /// Asks where there is no terminal; nil: nobody can be asked.
    let askElsewhere: AskElsewhere?
    /// How the control is taken back; nil: nothing can be controlled.
    let takingBack: String?
    /// Asks in the tray, too, where there is one.
    let tray: TrayQuestions

    private enum Outcome {
        case answered(Bool)
        /// Nobody can be asked there, or the question is withdrawn.
        case nobody
        case timeOver

        init(_ answer: Bool?) { self = answer.map { .answered($0) } ?? .nobody }
    }

    private static let answerTime = Duration.seconds(60)

    /// How a right ends that is granted.
    private func end(of request: RightRequest) -> String {
        let verb = "share revoke \(UntrustedText.quote(request.viewer.name)) \(request.right.rawValue)"
        return request.right == .control
            ? (takingBack.map { "\($0), or " } ?? "") + "\(verb) takes it back"
            : "It ends with their session, or with: \(verb)"
    }

    /// - Returns: nil if nobody has answered.
    func ask(_ request: RightRequest) async -> Bool? {
        let viewer = request.viewer
        let question = Prompt.Question(
            kind: .right, id: .random(),
            who: "\(UntrustedText.quote(viewer.name)) (\(viewer.kind), \(viewer.address))",
            request: "wants \(request.right.purpose)",
            details: [end(of: request)],
            invitation: "Allow it?", deadline: .now + Self.answerTime)
        let hasTerminal = isatty(STDIN_FILENO) == 1
        let text = "\(UntrustedText.quote(viewer.name)) wants \(request.right.purpose)"
        return await withTaskGroup { group in
            group.addTask {
                let answer = hasTerminal ? await prompt.answer(to: question) : await askElsewhere?(question)
                return Outcome(answer.map { $0 != .no })
            }
            group.addTask { Outcome(await tray.answer(to: text)) }
            group.addTask {
                try? await Task.sleep(for: Self.answerTime)
                return .timeOver
            }
            defer { group.cancelAll() }
            var asked = 2
            for await outcome in group {
                switch outcome {
                case .answered(let isGranted): return isGranted
                case .timeOver: return nil
                case .nobody: asked -= 1
                }
                if asked == 0 { return nil }
            }
            return nil
        }
    }
}
