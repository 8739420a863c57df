import Foundation
import ShareKit

/// Conference's setup extension: tells the rules, and asks for a title, in the host's terminal.
@main final class ConferenceSetup: BroadcastSetup {
    override func setUp(for application: SampleHandler.Application) -> [String: String]? {
        ask("Everybody in the conference sees \(application.name). Title (empty: do not broadcast): ")
            .map { ["title": $0] }
    }

    private func ask(_ question: String) -> String? {
        FileHandle.standardError.write(Data("  \(question)".utf8))
        guard let answer = readLine(), !answer.isEmpty else { return nil }
        return answer
    }
}
